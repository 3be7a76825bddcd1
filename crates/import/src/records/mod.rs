//! Records: the locations of fields in a block's text.
//!
//! Owned here: fields with their quotes and escapes, and the errors of records with file, line, column and value
//! ([`error`]). Not owned: finding records (`csv`, `json`), and the values of fields (`values`).

pub(crate) mod error;
pub(crate) mod json_string;

use crate::records::json_string::unescape;
use atsdb_core::escapes::unescaped;

const HIGH: u32 = 1 << 31;
const LOW: u32 = 1 << 30;

/// The location of a field in a text of less than 2^30 bytes, and how it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field {
    /// Bit 31: quoted. Bit 30: a JSON string.
    start: u32,
    /// Bit 31: a doubled quote means a quote. Bit 30: there are JSON or backslash escapes. Both: a doubled single quote
    /// means a quote.
    end: u32,
}

impl Field {
    /// No field: NULL.
    pub(crate) const ABSENT: Self = Self { start: 0, end: 0 };

    pub(crate) fn plain(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }

    pub(crate) fn quoted(start: usize, end: usize, is_doubled: bool) -> Self {
        Self { start: start as u32 | HIGH, end: end as u32 | if is_doubled { HIGH } else { 0 } }
    }

    /// The same in single quotes.
    pub(crate) fn single_quoted(start: usize, end: usize, is_doubled: bool) -> Self {
        Self { start: start as u32 | HIGH, end: end as u32 | if is_doubled { HIGH | LOW } else { 0 } }
    }

    pub(crate) fn json_string(start: usize, end: usize, is_escaped: bool) -> Self {
        Self { start: start as u32 | HIGH | LOW, end: end as u32 | if is_escaped { LOW } else { 0 } }
    }

    /// The field without its last byte.
    pub(crate) fn without_last_byte(self) -> Self {
        Self { end: self.end - 1, ..self }
    }

    /// The field as if its text were no string of JSON.
    pub(crate) fn without_string(self) -> Self {
        if self.is_json_string() { Self::plain(self.start(), self.end()) } else { self }
    }

    pub(crate) fn start(self) -> usize {
        (self.start & (LOW - 1)) as usize
    }

    pub(crate) fn end(self) -> usize {
        (self.end & (LOW - 1)) as usize
    }

    #[inline]
    pub(crate) fn bytes(self, text: &[u8]) -> &[u8] {
        &text[self.start()..self.end()]
    }

    pub(crate) fn is_quoted(self) -> bool {
        self.start & HIGH != 0
    }

    /// Returns whether it is text because its writer marked it so, even if it looks like a number.
    pub(crate) fn is_json_string(self) -> bool {
        self.start & LOW != 0
    }

    pub(crate) fn is_escaped(self) -> bool {
        self.end & (HIGH | LOW) != 0
    }

    /// A text without quotes. `is_escaped` if it has backslash escapes.
    pub(crate) fn literal(start: usize, end: usize, is_escaped: bool) -> Self {
        Self { start: start as u32 | HIGH, end: end as u32 | if is_escaped { LOW } else { 0 } }
    }

    /// The text with escapes decoded.
    pub(crate) fn unescaped(self, text: &str) -> String {
        let raw = &text[self.start()..self.end()];
        if self.end & (HIGH | LOW) == HIGH | LOW {
            raw.replace("''", "'")
        } else if self.end & LOW != 0 && self.is_json_string() {
            unescape(raw)
        } else if self.end & LOW != 0 {
            unescaped(raw)
        } else if self.end & HIGH != 0 {
            raw.replace("\"\"", "\"")
        } else {
            raw.to_owned()
        }
    }
}

/// The records of a block, all of one width.
#[derive(Debug, Default)]
pub(crate) struct Records {
    /// Fields, record by record.
    pub(crate) fields: Vec<Field>,
    /// The start of each record.
    pub(crate) starts: Vec<u32>,
    /// Fields of a record.
    pub(crate) width: usize,
    /// Lines that are comments, which are left out.
    pub(crate) comment_count: u64,
    /// Records that repeat the header, which are left out.
    pub(crate) header_count: u64,
}

impl Records {
    pub(crate) fn count(&self) -> usize {
        self.starts.len()
    }

    /// Removes the first records.
    pub(crate) fn remove_first(&mut self, count: usize) {
        let count = count.min(self.count());
        self.starts.drain(..count);
        self.fields.drain(..count * self.width);
    }

    /// Adds the first records of another part of the same text.
    pub(crate) fn extend_from_first(&mut self, other: &Self, count: usize) {
        let count = count.min(other.count());
        self.starts.extend_from_slice(&other.starts[..count]);
        self.fields.extend_from_slice(&other.fields[..count * other.width]);
    }

    /// Keeps the records, given by their fields and their starts, for which the function says so.
    pub(crate) fn retain(&mut self, mut is_kept: impl FnMut(&[Field], u32) -> bool) {
        let width = self.width.max(1);
        let mut kept = 0;
        for row in 0..self.starts.len() {
            let fields = row * width..(row + 1) * width;
            if is_kept(&self.fields[fields.clone()], self.starts[row]) {
                if kept < row {
                    self.fields.copy_within(fields, kept * width);
                    self.starts[kept] = self.starts[row];
                }
                kept += 1;
            }
        }
        self.starts.truncate(kept);
        self.fields.truncate(kept * width);
    }

    /// One field of every record.
    pub(crate) fn column(&self, position: usize) -> impl ExactSizeIterator<Item = Field> + '_ {
        let skip = position.min(self.fields.len());
        self.fields[skip..].iter().step_by(self.width.max(1)).copied()
    }
}

/// A malformed record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BadRecord {
    /// The start of the record.
    pub(crate) start: usize,
    /// The problem.
    pub(crate) reason: String,
    /// The field at fault, not shortened.
    pub(crate) value: String,
}

/// A position at which a text can be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    /// The position after the last complete record; 0 if there is none.
    pub(crate) end: usize,
    /// A quote, string or object that opens and is not closed.
    pub(crate) open: Option<usize>,
}
