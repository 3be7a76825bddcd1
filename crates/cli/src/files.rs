//! Files that SQL statements name: read by the importer for whoever runs the program.

use arrow::record_batch::RecordBatch;
use atsdb::sql::{FileReader, FileRequest};
use atsdb_core::{Error, ErrorKind, Result, TableDefinition};
use atsdb_import::{Format, Input, Options, SingleColumn, Sink};
use std::path::{Path, PathBuf};

/// Opens whatever file the operating system lets it.
#[derive(Debug)]
pub(crate) struct Files;

impl FileReader for Files {
    fn read(&self, request: &FileRequest<'_>, rows: &mut dyn FnMut(RecordBatch) -> Result<()>) -> Result<()> {
        let definition = request.definition;
        if let Some(batches) = single_column(request)? {
            return batches.into_iter().try_for_each(rows);
        }
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
        let mut sink = Rows { rows, begun: false };
        atsdb_import::import(&definition.name, inputs, &options, Some(definition), &mut sink, &|_| ())
            .map(drop)
            .map_err(without_flags)
    }
}

/// The rows of a plain file of one column, on their way into memory.
fn single_column(request: &FileRequest<'_>) -> Result<Option<Vec<RecordBatch>>> {
    let (Some(memory), [column], false) =
        (request.definition.memory, request.definition.columns.as_slice(), request.has_header)
    else {
        return Ok(None);
    };
    let bytes_max = memory.bytes_max.unwrap_or(u64::MAX);
    SingleColumn { column, delimiter: request.delimiter, null: &request.null, bytes_max }.read(Path::new(request.path))
}

struct Rows<'a> {
    rows: &'a mut dyn FnMut(RecordBatch) -> Result<()>,
    begun: bool,
}

impl Sink for Rows<'_> {
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

/// A hint that names a flag of `atsdb import` says so.
fn without_flags(error: Error) -> Error {
    match error.hint().filter(|hint| hint.contains("--")).map(str::to_owned) {
        Some(hint) => error.with_hint(format!("correct the file, or use `atsdb import`: {hint}")),
        None => error,
    }
}
