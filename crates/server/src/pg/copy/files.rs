//! Files in the formats of COPY, for programs that read and write files on behalf of statements.

use super::reader::CopyReader;
use super::writer;
use crate::pg::error::{Failure, PgError};
use crate::pg::rows::RowSource;
use crate::shared::holds::HeldBytes;
use arrow::array::RecordBatch;
use atsdb::sql::{AnswerRows, CopyHeader, CopyOptions};
use atsdb::{Error, ErrorKind, Result, TableDefinition};
use std::io::{self, Read, Write};

const PIECE_BYTES: usize = 64 << 10;

/// Reads rows as PostgreSQL's `COPY ... FROM` does, and passes them on as batches. The definition has the columns of
/// the rows, in their order. An error names the file, the line, and as far as possible the column and the value.
pub fn read_copied(
    file: &str,
    mut content: impl Read,
    definition: &TableDefinition,
    options: &CopyOptions,
    rows: &mut dyn FnMut(RecordBatch) -> Result<()>,
) -> Result<()> {
    let mut reader = CopyReader::new(&definition.name, &definition.columns, options);
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let length = match content.read(&mut piece) {
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Error::new(ErrorKind::Unavailable, format!("cannot read {file}: {error}"))),
        };
        if length == 0 {
            break;
        }
        reader.push(&piece[..length]);
        while let Some(batch) = reader.next_batch().map_err(|error| in_file(file, &error))? {
            rows(batch)?;
        }
    }
    match reader.finish().map_err(|error| in_file(file, &error))? {
        Some(batch) => rows(batch),
        None => Ok(()),
    }
}

/// Writes rows as PostgreSQL's `COPY ... TO` does, and returns their number.
pub fn write_copied(file: &str, rows: AnswerRows, options: &CopyOptions, out: &mut dyn Write) -> Result<u64> {
    let mut rows = RowSource::store(rows);
    let columns = rows.columns().to_vec();
    let mut data = writer::begin(options).to_vec();
    if options.header != CopyHeader::None {
        writer::header(&mut data, options, &columns);
    }
    // The only error of this kind below.
    let mut failed = None;
    let visited = rows.visit(usize::MAX, &HeldBytes::default(), |row| {
        writer::row(&mut data, options, &columns, row)?;
        if data.len() >= PIECE_BYTES {
            out.write_all(&data).map_err(|error| {
                failed = Some(error);
                Failure::Gone
            })?;
            data.clear();
        }
        Ok(())
    });
    let count = match visited {
        Ok((count, _)) => count,
        Err(Failure::Error(error)) => return Err(in_file(file, &error)),
        Err(Failure::Gone) => return Err(cannot_write(file, failed)),
    };
    data.extend(writer::end(options));
    out.write_all(&data).map_err(|error| cannot_write(file, Some(error)))?;
    Ok(count as u64)
}

fn cannot_write(file: &str, error: Option<io::Error>) -> Error {
    let why = error.map_or_else(String::new, |error| format!(": {error}"));
    Error::new(ErrorKind::Unavailable, format!("cannot write {file}{why}"))
}

/// The error with the file's name.
fn in_file(file: &str, error: &PgError) -> Error {
    let kind = if error.code.starts_with("22") { ErrorKind::InvalidValue } else { ErrorKind::Sql };
    let position = error.context.as_ref().map_or_else(String::new, |context| format!(" ({context})"));
    let converted = Error::new(kind, format!("{file}: {}{position}", error.message));
    match &error.hint {
        Some(hint) => converted.with_hint(hint.as_ref()),
        None => converted,
    }
}
