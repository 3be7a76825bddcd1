//! Reading rows as text and as CSV.

use super::column::{ColumnBuilder, ROW_BYTES_MAX, placed};
use crate::pg::error::PgError;
use crate::pg::statement::copy::{CopyFormat, CopyOptions};
use atsdb::escapes::unescape;

/// Reads rows of text, each terminated by a line end.
pub(super) struct TextReader {
    is_csv: bool,
    delimiter: u8,
    null: Vec<u8>,
    quote: u8,
    escape: u8,
    skips_header: bool,
    /// Received bytes that do not form a complete row yet.
    rest: Vec<u8>,
    line: u64,
    /// After `\.` nothing is read.
    is_ended: bool,
    field: Vec<u8>,
}

impl TextReader {
    pub(super) fn new(options: &CopyOptions) -> Self {
        Self {
            is_csv: options.format == CopyFormat::Csv,
            delimiter: options.delimiter,
            null: options.null.clone().into_bytes(),
            quote: options.quote,
            escape: options.escape,
            skips_header: options.has_header,
            rest: Vec::new(),
            line: 0,
            is_ended: false,
            field: Vec::new(),
        }
    }

    /// Reads all complete rows, and returns their number.
    pub(super) fn push(&mut self, piece: &[u8], columns: &mut [ColumnBuilder]) -> Result<usize, PgError> {
        let mut bytes = std::mem::take(&mut self.rest);
        bytes.extend(piece);
        let (mut start, mut row_count) = (0, 0);
        while let Some(length) = self.row_length(&bytes[start..]) {
            row_count += usize::from(self.row(&bytes[start..start + length], columns)?);
            start += length + 1;
        }
        bytes.drain(..start);
        if bytes.len() > ROW_BYTES_MAX {
            return Err(PgError::error("54000", "a row is too long").with_hint("is the format right?"));
        }
        self.rest = bytes;
        Ok(row_count)
    }

    /// The bytes of a row that is not complete.
    pub(super) fn rest_bytes(&self) -> usize {
        self.rest.len()
    }

    pub(super) fn finish(&mut self, columns: &mut [ColumnBuilder]) -> Result<usize, PgError> {
        let rest = std::mem::take(&mut self.rest);
        Ok(if rest.is_empty() { 0 } else { usize::from(self.row(&rest, columns)?) })
    }

    /// The length of the first row in bytes, without its line end.
    fn row_length(&self, bytes: &[u8]) -> Option<usize> {
        if !self.is_csv {
            let mut from = 0;
            loop {
                let end = from + bytes[from..].iter().position(|byte| *byte == b'\n')?;
                // A line end after a backslash belongs to the value.
                if bytes[..end].iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 0 {
                    return Some(end);
                }
                from = end + 1;
            }
        }
        let mut is_quoted = false;
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if is_quoted && byte == self.escape && self.escape != self.quote {
                at += 1;
            } else if byte == self.quote {
                is_quoted = !is_quoted;
            } else if byte == b'\n' && !is_quoted {
                return Some(at);
            }
            at += 1;
        }
        None
    }

    /// Reads one row. Returns `false` for the header and the end marker, which are not rows.
    fn row(&mut self, row: &[u8], columns: &mut [ColumnBuilder]) -> Result<bool, PgError> {
        self.line += 1;
        let row = row.strip_suffix(b"\r").unwrap_or(row);
        self.is_ended |= row == b"\\.";
        if self.is_ended || std::mem::take(&mut self.skips_header) {
            return Ok(false);
        }
        let mut rest = Some(row);
        for column in columns.iter_mut() {
            let Some(bytes) = rest else {
                return Err(self.wrong(format!("missing data for column \"{}\"", column.name)));
            };
            rest = match self.is_csv {
                true => self.csv_field(bytes, column)?,
                false => self.text_field(bytes, column)?,
            };
        }
        match rest {
            None => Ok(true),
            Some(rest) if rest.is_empty() && columns.is_empty() => Ok(true),
            Some(_) => Err(self.wrong("extra data after last expected column".to_owned())),
        }
    }

    fn wrong(&self, message: String) -> PgError {
        PgError { detail: Some(format!("line {}", self.line)), ..PgError::error("22P04", message) }
    }

    /// Reads a field, and returns the rest after its delimiter, or nothing if it was the last field.
    fn text_field<'a>(&mut self, bytes: &'a [u8], column: &mut ColumnBuilder) -> Result<Option<&'a [u8]>, PgError> {
        let (mut end, mut has_escape) = (0, false);
        while let Some(&byte) = bytes.get(end) {
            if byte == self.delimiter {
                break;
            }
            has_escape |= byte == b'\\';
            end += if byte == b'\\' { 2 } else { 1 };
        }
        let end = end.min(bytes.len());
        let field = &bytes[..end];
        let line = self.line;
        let at = |error: PgError, column: &ColumnBuilder| placed(error, line, &column.name);
        if field == self.null {
            column.push_null();
        } else if has_escape {
            self.field.clear();
            unescape(field, &mut self.field);
            column.push_text(&self.field).map_err(|error| at(error, column))?;
        } else {
            column.push_text(field).map_err(|error| at(error, column))?;
        }
        Ok(bytes.get(end + 1..).filter(|_| end < bytes.len()))
    }

    fn csv_field<'a>(&mut self, bytes: &'a [u8], column: &mut ColumnBuilder) -> Result<Option<&'a [u8]>, PgError> {
        self.field.clear();
        let (mut at, mut is_quoted, mut was_quoted) = (0, false, false);
        while let Some(&byte) = bytes.get(at) {
            let next = bytes.get(at + 1).copied();
            if is_quoted && byte == self.escape && next.is_some_and(|next| next == self.quote || next == self.escape) {
                self.field.extend(next);
                at += 1;
            } else if byte == self.quote {
                is_quoted = !is_quoted;
                was_quoted = true;
            } else if byte == self.delimiter && !is_quoted {
                break;
            } else {
                self.field.push(byte);
            }
            at += 1;
        }
        if is_quoted {
            return Err(self.wrong("unterminated CSV quoted field".to_owned()));
        }
        if !was_quoted && self.field == self.null {
            column.push_null();
        } else {
            let line = self.line;
            column.push_text(&self.field).map_err(|error| placed(error, line, &column.name))?;
        }
        Ok(bytes.get(at + 1..).filter(|_| at < bytes.len()))
    }
}
