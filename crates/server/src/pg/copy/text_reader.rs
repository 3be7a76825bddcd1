//! Reading rows as text and as CSV.

use super::column::{ColumnBuilder, ROW_BYTES_MAX};
use super::fields::Fields;
use super::lines::{FoundLine, Lines};
use super::shown::CopyPosition;
use crate::pg::error::{INVALID_BYTES, PgError};
use atsdb::name::same_name;
use atsdb::sql::{CopyHeader, CopyOptions};

/// The NULL rules of one column.
struct ColumnRules {
    /// A field is never NULL.
    is_not_null: bool,
    /// A field in quotes may be NULL, too.
    is_null_in_quotes: bool,
}

/// Reads rows of text, each terminated by a line end.
pub(super) struct TextReader {
    relation: String,
    lines: Lines,
    fields: Fields,
    rules: Vec<ColumnRules>,
    /// The header that has not come yet.
    header: CopyHeader,
    /// Received bytes whose rows are not read yet, because they are not complete or their batch was full.
    rest: Vec<u8>,
    /// Whether a `\.` was read, after which nothing is read.
    is_ended: bool,
}

impl TextReader {
    pub(super) fn new(relation: &str, names: &[&str], options: &CopyOptions) -> Self {
        let has = |names: &[String], column: &str| names.iter().any(|name| same_name(name, column));
        let rules = |column: &&str| ColumnRules {
            is_not_null: has(&options.force_not_null, column),
            is_null_in_quotes: has(&options.force_null, column),
        };
        Self {
            relation: relation.to_owned(),
            lines: Lines::new(options),
            fields: Fields::new(options),
            rules: names.iter().map(rules).collect(),
            header: options.header,
            rest: Vec::new(),
            is_ended: false,
        }
    }

    /// Takes a piece.
    pub(super) fn push(&mut self, piece: &[u8]) {
        if !self.is_ended {
            self.rest.extend(piece);
        }
    }

    /// Reads complete rows, at most this many, and returns their number.
    pub(super) fn read(&mut self, columns: &mut [ColumnBuilder], rows_max: usize) -> Result<usize, PgError> {
        self.read_lines(columns, rows_max, false)
    }

    /// The bytes of rows that are not read yet.
    pub(super) fn rest_bytes(&self) -> usize {
        self.rest.len()
    }

    pub(super) fn finish(&mut self, columns: &mut [ColumnBuilder]) -> Result<usize, PgError> {
        let row_count = self.read_lines(columns, usize::MAX, true)?;
        // Data without any row have no header.
        if matches!(self.header, CopyHeader::Match) {
            self.row(&[], columns)?;
        }
        Ok(row_count)
    }

    fn read_lines(&mut self, columns: &mut [ColumnBuilder], rows_max: usize, is_last: bool) -> Result<usize, PgError> {
        let bytes = std::mem::take(&mut self.rest);
        let (mut start, mut row_count) = (0, 0);
        while !self.is_ended && row_count < rows_max {
            let (length, taken) = match self.lines.next(&bytes[start..], is_last, &self.relation)? {
                FoundLine::Partial if bytes.len() - start > ROW_BYTES_MAX => {
                    return Err(PgError::error("54000", "a row is too long")
                        .with_hint("check that the data have the FORMAT that COPY names"));
                }
                FoundLine::Partial => break,
                FoundLine::Row { length, taken } => (length, taken),
                FoundLine::LastRow { length } => {
                    self.is_ended = true;
                    (length, bytes.len() - start)
                }
            };
            // A row before the end marker in the same line counts.
            if !self.is_ended || length > 0 {
                row_count += usize::from(self.row(&bytes[start..start + length], columns)?);
            }
            self.lines.line += 1;
            start += taken;
        }
        self.rest = bytes;
        self.rest.drain(..if self.is_ended { self.rest.len() } else { start });
        Ok(row_count)
    }

    /// Reads one row. Returns `false` for the header.
    fn row(&mut self, row: &[u8], columns: &mut [ColumnBuilder]) -> Result<bool, PgError> {
        let position = |line| CopyPosition { relation: &self.relation, line, column: None, bytes: Some(row) };
        let position = position(self.lines.line);
        match std::mem::replace(&mut self.header, CopyHeader::None) {
            CopyHeader::Names => return Ok(false),
            CopyHeader::Match => {
                self.fields.read(row).and_then(|()| check_header(&self.fields, columns)).map_err(|e| position.of(e))?;
                return Ok(false);
            }
            CopyHeader::None => {}
        }
        if columns.is_empty() {
            return match row.is_empty() {
                true => Ok(true),
                false => Err(position.of(extra_data())),
            };
        }
        self.fields.read(row).map_err(|error| position.of(error))?;
        if self.fields.count() > columns.len() {
            return Err(position.of(extra_data()));
        }
        for (at, (column, rules)) in columns.iter_mut().zip(&self.rules).enumerate() {
            let Some(mut field) = self.fields.get(at) else {
                let message = format!("missing data for column \"{}\"", column.name);
                return Err(position.of(PgError::error("22P04", message)));
            };
            match field {
                None if rules.is_not_null => field = Some(self.fields.null()),
                Some(text) if rules.is_null_in_quotes && text == self.fields.null() => field = None,
                _ => {}
            }
            let Some(text) = field else {
                column.push_null();
                continue;
            };
            if let Err(error) = column.push_text(text) {
                let position = match error.code {
                    // PostgreSQL checks the encoding before a row has columns.
                    INVALID_BYTES => {
                        CopyPosition { bytes: Some(row).filter(|row| str::from_utf8(row).is_ok()), ..position }
                    }
                    _ => CopyPosition { column: Some(&column.name), bytes: Some(text), ..position },
                };
                return Err(position.of(error));
            }
        }
        Ok(true)
    }
}

fn extra_data() -> PgError {
    PgError::error("22P04", "extra data after last expected column")
}

/// Compares the names in the header with those of the columns.
fn check_header(fields: &Fields, columns: &[ColumnBuilder]) -> Result<(), PgError> {
    let wrong = |message: String| Err(PgError::error("22P04", message));
    if fields.count() != columns.len() {
        let (found, expected) = (fields.count(), columns.len());
        return wrong(format!("wrong number of fields in header line: got {found}, expected {expected}"));
    }
    for (at, column) in columns.iter().enumerate() {
        let (number, name) = (at + 1, &column.name);
        match fields.get(at).flatten() {
            None => {
                let null = String::from_utf8_lossy(fields.null());
                return wrong(format!(
                    "column name mismatch in header line field {number}: got null value (\"{null}\"), expected \
                     \"{name}\""
                ));
            }
            Some(found) => {
                let found = String::from_utf8_lossy(found);
                if !same_name(&found, name) {
                    return wrong(format!(
                        "column name mismatch in header line field {number}: got \"{found}\", expected \"{name}\""
                    ));
                }
            }
        }
    }
    Ok(())
}
