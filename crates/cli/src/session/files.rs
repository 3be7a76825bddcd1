//! HostFiles that SQL statements name: read by the importer, and written as exports are, with the rights of the user.

use crate::output::destination::Destination;
use crate::output::{format_of, write_result};
use arrow::record_batch::RecordBatch;
use atsdb::sql::{FileReader, FileRequest, FileWriter, Rows};
use atsdb::{Error, ErrorKind, Result, TableDefinition};
use atsdb_import::{Format, Input, Options, Sink};
use std::path::{Path, PathBuf};

/// Opens every file that the operating system permits.
#[derive(Debug)]
pub(crate) struct HostFiles {
    /// Whether statements may write files, too.
    pub(crate) may_write: bool,
}

impl FileReader for HostFiles {
    fn read(&self, request: &FileRequest<'_>, rows: &mut dyn FnMut(RecordBatch) -> Result<()>) -> Result<()> {
        let definition = request.definition;
        let options = Options {
            format: Some(Format::Csv),
            delimiter: Some(request.delimiter),
            header: Some(request.has_header),
            names: Some(definition.columns.iter().map(|column| column.name.clone()).collect()),
            begin_once: true,
            null: request.null.clone(),
            ..Options::default()
        };
        let inputs = vec![Input::Path(PathBuf::from(request.path))];
        let mut sink = BatchesToCaller { rows, begun: false };
        atsdb_import::import(&definition.name, inputs, &options, Some(definition), &mut sink, &|_| ())
            .map(drop)
            .map_err(without_flags)
    }
}

impl FileWriter for HostFiles {
    fn write(&self, path: &str, may_replace: bool, rows: Rows) -> Result<u64> {
        if !self.may_write {
            return Err(Error::new(
                ErrorKind::Sql,
                "COPY ... TO writes a file, and nothing is written with --read-only",
            )
            .with_hint("use `atsdb export`, or leave --read-only out"));
        }
        let path = Path::new(path);
        let (format, compression) = format_of(Some(path), None).map_err(|error| {
            Error::new(ErrorKind::Sql, error.message()).with_hint("end it with .csv, .tsv, .json, .jsonl or .parquet")
        })?;
        let schema = rows.schema();
        let mut out = match may_replace {
            true => Destination::file(path, compression)?,
            false => Destination::new_file(path, compression)?,
        };
        let row_count = write_result(format, &schema, rows, &mut out)?;
        out.complete()?;
        Ok(row_count)
    }
}

struct BatchesToCaller<'a> {
    rows: &'a mut dyn FnMut(RecordBatch) -> Result<()>,
    begun: bool,
}

impl Sink for BatchesToCaller<'_> {
    fn begin(&mut self, _: &TableDefinition) -> Result<()> {
        match std::mem::replace(&mut self.begun, true) {
            false => Ok(()),
            true => Err(Error::new(ErrorKind::Internal, "the importer began twice")),
        }
    }

    fn rows(&mut self, batch: RecordBatch) -> Result<()> {
        (self.rows)(batch)
    }
}

/// Makes clear that a flag in a hint is one of `atsdb import`.
fn without_flags(error: Error) -> Error {
    match error.hint().filter(|hint| hint.contains("--")).map(str::to_owned) {
        Some(hint) => error.with_hint(format!("correct the file, or use `atsdb import`: {hint}")),
        None => error,
    }
}
