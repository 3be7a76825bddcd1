//! The rows of a text or CSV: where each one ends. The first line end decides which one the others must be.

use super::shown::CopyPosition;
use crate::pg::error::PgError;
use atsdb::sql::{CopyFormat, CopyOptions};

/// A line end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEnd {
    Newline,
    Return,
    ReturnNewline,
}

/// The first row of some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FoundLine {
    /// The end of the row has not arrived yet.
    Partial,
    /// The row has this length, and with its line end it takes `taken` bytes.
    Row { length: usize, taken: usize },
    /// `\.` follows after this length, and ends the data.
    LastRow { length: usize },
}

/// Finds rows. The bytes of a row that is not complete are not searched twice.
pub(super) struct Lines {
    is_csv: bool,
    quote: u8,
    /// The escape in quotes, unless it is the quote itself.
    escape: Option<u8>,
    line_end: Option<LineEnd>,
    is_quoted: bool,
    is_escaped: bool,
    /// The number of bytes of the present row that were searched.
    searched: usize,
    /// The line in which the present row ends so far, from 1.
    pub(super) line: u64,
}

impl Lines {
    pub(super) fn new(options: &CopyOptions) -> Self {
        Self {
            is_csv: options.format == CopyFormat::Csv,
            quote: options.quote,
            escape: Some(options.escape).filter(|escape| *escape != options.quote),
            line_end: None,
            is_quoted: false,
            is_escaped: false,
            searched: 0,
            line: 1,
        }
    }

    /// Finds the end of the row with which the bytes begin. With `is_last`, nothing comes after them.
    pub(super) fn next(&mut self, bytes: &[u8], is_last: bool, relation: &str) -> Result<FoundLine, PgError> {
        let wrong = |lines: &Self, (message, hint): (&'static str, Option<&str>)| {
            let position = CopyPosition { relation, line: lines.line, column: None, bytes: None };
            let error = PgError::error("22P04", message);
            Err(position.of(match hint {
                Some(hint) => error.with_hint(hint),
                None => error,
            }))
        };
        let mut at = self.searched;
        loop {
            at += self.plain_length(bytes.get(at..).unwrap_or_default(), at == 0);
            let Some(&byte) = bytes.get(at) else { break };
            let next = bytes.get(at + 1).copied();
            let is_return = byte == b'\r' && !self.is_quoted;
            let is_backslash = byte == b'\\' && (!self.is_csv || at == 0);
            if next.is_none() && !is_last && (is_return || is_backslash) {
                self.searched = at;
                return Ok(FoundLine::Partial);
            }
            if is_backslash && next == Some(b'.') {
                match self.end_marker(&bytes[at + 2..], is_last) {
                    EndMarker::Unknown => {
                        self.searched = at;
                        return Ok(FoundLine::Partial);
                    }
                    EndMarker::End => return Ok(FoundLine::LastRow { length: at }),
                    EndMarker::Wrong(message) => return wrong(self, (message, None)),
                    EndMarker::None => {}
                }
            }
            if self.is_csv {
                self.follow_quotes(byte);
            }
            if is_return {
                match (next, self.line_end) {
                    (Some(b'\n'), None | Some(LineEnd::ReturnNewline)) => {
                        self.line_end = Some(LineEnd::ReturnNewline);
                        return Ok(self.row(at, at + 2));
                    }
                    (_, None | Some(LineEnd::Return)) => {
                        self.line_end = Some(LineEnd::Return);
                        return Ok(self.row(at, at + 1));
                    }
                    _ => return wrong(self, self.lone_return()),
                }
            }
            if byte == b'\n' && !self.is_quoted {
                if matches!(self.line_end, Some(LineEnd::Return | LineEnd::ReturnNewline)) {
                    return wrong(self, self.lone_newline());
                }
                self.line_end = Some(LineEnd::Newline);
                return Ok(self.row(at, at + 1));
            }
            // After a backslash, any byte is a value's.
            at += if is_backslash && !self.is_csv { 2 } else { 1 };
        }
        self.searched = at.min(bytes.len());
        Ok(match is_last && !bytes.is_empty() {
            true => self.row(bytes.len(), bytes.len()),
            false => FoundLine::Partial,
        })
    }

    /// The number of bytes before the next one that matters.
    fn plain_length(&self, bytes: &[u8], is_start: bool) -> usize {
        if !self.is_csv {
            return memchr::memchr3(b'\n', b'\r', b'\\', bytes).unwrap_or(bytes.len());
        }
        if self.is_escaped || (is_start && bytes.first() == Some(&b'\\')) {
            return 0;
        }
        match self.escape {
            Some(escape) if self.is_quoted => {
                let matters = |byte: &u8| *byte == escape || *byte == self.quote || matches!(byte, b'\n' | b'\r');
                bytes.iter().position(matters).unwrap_or(bytes.len())
            }
            _ => memchr::memchr3(b'\n', b'\r', self.quote, bytes).unwrap_or(bytes.len()),
        }
    }

    /// A row ends: the next one begins in the next line.
    fn row(&mut self, length: usize, taken: usize) -> FoundLine {
        (self.searched, self.is_quoted, self.is_escaped) = (0, false, false);
        FoundLine::Row { length, taken }
    }

    fn follow_quotes(&mut self, byte: u8) {
        if self.is_quoted && self.escape == Some(byte) {
            self.is_escaped = !self.is_escaped;
        }
        if byte == self.quote && !self.is_escaped {
            self.is_quoted = !self.is_quoted;
        }
        if self.escape != Some(byte) {
            self.is_escaped = false;
        }
        let counted = if self.line_end == Some(LineEnd::Newline) { b'\n' } else { b'\r' };
        self.line += u64::from(self.is_quoted && byte == counted);
    }

    /// Returns the meaning of a `\.` in the data. `after` are the bytes after it.
    fn end_marker(&self, after: &[u8], is_last: bool) -> EndMarker {
        let none_or = |message| if self.is_csv { EndMarker::None } else { EndMarker::Wrong(message) };
        const CORRUPT: &str = "end-of-copy marker corrupt";
        const ANOTHER: &str = "end-of-copy marker does not match previous newline style";
        let mut rest = after;
        if self.line_end == Some(LineEnd::ReturnNewline) {
            match rest.split_first() {
                None if !is_last => return EndMarker::Unknown,
                Some((b'\r', more)) => rest = more,
                Some((b'\n', _)) => return none_or(ANOTHER),
                _ => return none_or(CORRUPT),
            }
        }
        match (rest.first(), self.line_end) {
            (None, _) if !is_last => EndMarker::Unknown,
            (Some(b'\n'), Some(LineEnd::Return)) => EndMarker::Wrong(ANOTHER),
            (Some(b'\r'), Some(LineEnd::Newline | LineEnd::ReturnNewline)) => EndMarker::Wrong(ANOTHER),
            (Some(b'\n' | b'\r'), _) => EndMarker::End,
            _ => none_or(CORRUPT),
        }
    }

    fn lone_return(&self) -> (&'static str, Option<&'static str>) {
        match self.is_csv {
            false => ("literal carriage return found in data", Some("Use \"\\r\" to represent carriage return.")),
            true => {
                ("unquoted carriage return found in data", Some("Use quoted CSV field to represent carriage return."))
            }
        }
    }

    fn lone_newline(&self) -> (&'static str, Option<&'static str>) {
        match self.is_csv {
            false => ("literal newline found in data", Some("Use \"\\n\" to represent newline.")),
            true => ("unquoted newline found in data", Some("Use quoted CSV field to represent newline.")),
        }
    }
}

/// The meaning of a `\.` in the data of a COPY.
enum EndMarker {
    /// Unknown until the bytes after it have arrived.
    Unknown,
    /// The end of the data.
    End,
    /// A value of CSV.
    None,
    Wrong(&'static str),
}
