//! Reading rows in binary.

use super::column::{ColumnBuilder, ROW_BYTES_MAX};
use super::shown::CopyPosition;
use crate::pg::error::PgError;

const SIGNATURE_BYTES: usize = 11;

const SIGNATURE: &[u8; SIGNATURE_BYTES] = b"PGCOPY\n\xff\r\n\0";

/// The number of bytes before the header's extension: the signature, flags, and the length of the extension.
const HEADER_BYTES: usize = SIGNATURE_BYTES + 8;

/// The number of bytes after the last row.
const TRAILER_BYTES: usize = 2;

/// Reads rows, each preceded by the number of its fields.
pub(super) struct BinaryReader {
    relation: String,
    rest: Vec<u8>,
    has_header: bool,
    is_ended: bool,
    line: u64,
}

impl BinaryReader {
    pub(super) fn new(relation: &str) -> Self {
        Self { relation: relation.to_owned(), rest: Vec::new(), has_header: false, is_ended: false, line: 0 }
    }

    /// Takes a piece.
    pub(super) fn push(&mut self, piece: &[u8]) {
        self.rest.extend(piece);
    }

    /// Reads complete rows, at most this many, and returns their number.
    pub(super) fn read(&mut self, columns: &mut [ColumnBuilder], rows_max: usize) -> Result<usize, PgError> {
        let mut bytes = std::mem::take(&mut self.rest);
        let (mut start, mut row_count) = (0, 0);
        if !self.has_header {
            match header_length(&bytes)? {
                Some(length) => (start, self.has_header) = (length, true),
                None => {
                    self.rest = bytes;
                    return Ok(0);
                }
            }
        }
        while !self.is_ended
            && row_count < rows_max
            && let Some(length) = self.row_length(&bytes[start..], columns)?
        {
            self.line += 1;
            self.row(&bytes[start + 2..start + length], columns)?;
            row_count += 1;
            start += length;
        }
        bytes.drain(..start);
        if self.is_ended && bytes.len() > TRAILER_BYTES {
            return Err(self.placed(None, PgError::error("22P04", "received copy data after EOF marker")));
        }
        self.rest = bytes;
        Ok(row_count)
    }

    /// The bytes of rows that are not read yet.
    pub(super) fn rest_bytes(&self) -> usize {
        self.rest.len()
    }

    pub(super) fn finish(&self, columns: &[ColumnBuilder]) -> Result<usize, PgError> {
        let message = match self.rest.len() {
            length if !self.has_header => match length {
                0..SIGNATURE_BYTES => "COPY file signature not recognized",
                SIGNATURE_BYTES..15 => "invalid COPY file header (missing flags)",
                15..HEADER_BYTES => "invalid COPY file header (missing length)",
                _ => "invalid COPY file header (wrong length)",
            },
            // Without the trailer, the rows are complete, too.
            0 | 1 => return Ok(0),
            _ if self.is_ended => return Ok(0),
            _ => {
                let column = self.partial_column(columns).map(|column| column.name.as_str());
                return Err(self.placed(column, PgError::error("22P04", "unexpected EOF in COPY data")));
            }
        };
        Err(PgError::error("22P04", message))
    }

    /// The column in which the last row ends too early.
    fn partial_column<'a>(&self, columns: &'a [ColumnBuilder]) -> Option<&'a ColumnBuilder> {
        let mut at = 2_usize;
        columns.iter().find(|_| {
            let length = self.rest.get(at..).and_then(<[u8]>::first_chunk).map(|length| i32::from_be_bytes(*length));
            at = at.saturating_add(4).saturating_add(length.map_or(0, |length| usize::try_from(length).unwrap_or(0)));
            length.is_none() || at > self.rest.len()
        })
    }

    /// Adds the present row, and perhaps a column, to an error.
    fn placed(&self, column: Option<&str>, error: PgError) -> PgError {
        CopyPosition { relation: &self.relation, line: self.line + 1, column, bytes: None }.of(error)
    }

    /// The length of the first row in bytes, if it is complete.
    fn row_length(&mut self, bytes: &[u8], columns: &[ColumnBuilder]) -> Result<Option<usize>, PgError> {
        let Some(count) = bytes.first_chunk().map(|count| i16::from_be_bytes(*count)) else { return Ok(None) };
        if count == -1 {
            self.is_ended = true;
            return Ok(None);
        }
        if usize::try_from(count) != Ok(columns.len()) {
            let message = format!("row field count is {count}, expected {}", columns.len());
            return Err(self.placed(None, PgError::error("22P04", message)));
        }
        let mut at = 2;
        for column in columns {
            let Some(length) = bytes.get(at..).and_then(<[u8]>::first_chunk) else { return Ok(None) };
            at += 4;
            match i32::from_be_bytes(*length) {
                -1 => {}
                length => {
                    at += usize::try_from(length)
                        .map_err(|_| self.placed(Some(&column.name), PgError::error("22P04", "invalid field size")))?;
                }
            }
            if at > ROW_BYTES_MAX {
                return Err(PgError::error("54000", "a row is too long")
                    .with_hint("check that the data have the FORMAT that COPY names"));
            }
        }
        Ok((at <= bytes.len()).then_some(at))
    }

    /// Reads the fields of a complete row.
    fn row(&self, mut fields: &[u8], columns: &mut [ColumnBuilder]) -> Result<(), PgError> {
        for column in columns {
            let (length, rest) = fields.split_at(4);
            let length = usize::try_from(i32::from_be_bytes([length[0], length[1], length[2], length[3]]));
            let Ok(length) = length else {
                column.push_null();
                fields = rest;
                continue;
            };
            let (value, rest) = rest.split_at(length);
            if let Err(error) = column.push_binary(value) {
                let (relation, line, column) = (self.relation.as_str(), self.line, Some(column.name.as_str()));
                return Err(CopyPosition { relation, line, column, bytes: None }.of(error));
            }
            fields = rest;
        }
        Ok(())
    }
}

/// The length of the header with its extension in bytes, if it has arrived.
fn header_length(bytes: &[u8]) -> Result<Option<usize>, PgError> {
    let signature = &bytes[..bytes.len().min(SIGNATURE.len())];
    if *signature != SIGNATURE[..signature.len()] {
        return Err(PgError::error("22P04", "COPY file signature not recognized"));
    }
    let Some(header) = bytes.get(SIGNATURE.len()..HEADER_BYTES) else { return Ok(None) };
    let word = |at: usize| i32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    if word(0) & (1 << 16) != 0 {
        return Err(PgError::error("22P04", "invalid COPY file header (WITH OIDS)"));
    }
    // The lower half is for flags that a reader may ignore.
    if word(0) & !0xffff != 0 {
        return Err(PgError::error("22P04", "unrecognized critical flags in COPY file header"));
    }
    match usize::try_from(word(4)) {
        Ok(extension) if extension <= ROW_BYTES_MAX => {
            let length = HEADER_BYTES + extension;
            Ok((bytes.len() >= length).then_some(length))
        }
        _ => Err(PgError::error("22P04", "invalid COPY file header (wrong length)")),
    }
}
