//! The fields of one row of a text or CSV.

use crate::pg::error::PgError;
use atsdb::escapes::unescape;
use atsdb::sql::{CopyFormat, CopyOptions};
use std::ops::Range;

/// Splits rows into fields. The fields of the last row are kept.
pub(super) struct Fields {
    is_csv: bool,
    delimiter: u8,
    null: Vec<u8>,
    quote: u8,
    escape: u8,
    values: Vec<u8>,
    /// The value of each field; `None` is NULL.
    ranges: Vec<Option<Range<usize>>>,
}

impl Fields {
    pub(super) fn new(options: &CopyOptions) -> Self {
        Self {
            is_csv: options.format == CopyFormat::Csv,
            delimiter: options.delimiter,
            null: options.null.clone().into_bytes(),
            quote: options.quote,
            escape: options.escape,
            values: Vec::new(),
            ranges: Vec::new(),
        }
    }

    /// Reads a row.
    pub(super) fn read(&mut self, row: &[u8]) -> Result<(), PgError> {
        self.values.clear();
        self.ranges.clear();
        let mut rest = Some(row);
        while let Some(bytes) = rest {
            let start = self.values.len();
            let (length, is_null) = if self.is_csv { self.csv_field(bytes)? } else { self.text_field(bytes) };
            self.ranges.push((!is_null).then_some(start..self.values.len()));
            // Behind the delimiter there is a field, even if it is empty.
            rest = (length < bytes.len()).then(|| &bytes[length + 1..]);
        }
        Ok(())
    }

    /// The number of fields of the row.
    pub(super) fn count(&self) -> usize {
        self.ranges.len()
    }

    /// A field: nothing if the row has too few, otherwise its value or NULL.
    pub(super) fn get(&self, position: usize) -> Option<Option<&[u8]>> {
        self.ranges.get(position).map(|range| range.clone().map(|range| &self.values[range]))
    }

    /// The field that means NULL.
    pub(super) fn null(&self) -> &[u8] {
        &self.null
    }

    /// Appends the value of the first field. Returns the length of the field in the row, and whether it is NULL.
    fn text_field(&mut self, bytes: &[u8]) -> (usize, bool) {
        let (mut end, mut has_escape) = (0, false);
        while let Some(found) = bytes.get(end..).and_then(|rest| memchr::memchr2(self.delimiter, b'\\', rest)) {
            end += found;
            if bytes[end] == self.delimiter {
                break;
            }
            has_escape = true;
            end += 2;
        }
        let is_found = bytes.get(end) == Some(&self.delimiter);
        let end = if is_found { end } else { bytes.len() };
        let mut field = &bytes[..end];
        if !has_escape {
            self.values.extend_from_slice(field);
        } else {
            // A backslash at the end of the row stands for nothing.
            let backslashes = field.iter().rev().take_while(|byte| **byte == b'\\').count();
            if backslashes % 2 == 1 {
                field = &field[..end - 1];
            }
            if field != self.null {
                unescape(field, &mut self.values);
            }
        }
        (end, field == self.null)
    }

    fn csv_field(&mut self, bytes: &[u8]) -> Result<(usize, bool), PgError> {
        let start = self.values.len();
        let (mut at, mut is_quoted, mut was_quoted) = (0, false, false);
        loop {
            // Everything up to the next byte that matters.
            let rest = &bytes[at..];
            let found = match is_quoted {
                true => memchr::memchr2(self.quote, self.escape, rest),
                false => memchr::memchr2(self.quote, self.delimiter, rest),
            };
            let plain = found.unwrap_or(rest.len());
            self.values.extend_from_slice(&rest[..plain]);
            at += plain;
            let Some(&byte) = bytes.get(at) else { break };
            let next = bytes.get(at + 1).copied();
            if !is_quoted && byte == self.delimiter {
                break;
            }
            at += 1;
            if is_quoted && byte == self.escape && next.is_some_and(|next| next == self.quote || next == self.escape) {
                self.values.extend(next);
                at += 1;
            } else if byte == self.quote {
                is_quoted = !is_quoted;
                was_quoted = true;
            } else {
                self.values.push(byte);
            }
        }
        if is_quoted {
            return Err(PgError::error("22P04", "unterminated CSV quoted field"));
        }
        Ok((at, !was_quoted && self.values[start..] == self.null))
    }
}
