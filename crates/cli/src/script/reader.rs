//! Reads a script in pieces that end with a statement, so that one of any length runs in bounded memory.

use atsdb_core::limits::SQL_BYTES_MAX;
use atsdb_core::{Error, ErrorKind, Result};
use std::io::BufRead;

/// Whole statements of a script, and the line they begin in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The text.
    pub(crate) text: String,
    /// The line of its first character, from 1.
    pub(crate) first_line: usize,
}

/// The pieces of a script.
pub(crate) struct PieceReader<R> {
    input: R,
    name: String,
    next_line: usize,
}

impl<R: BufRead> PieceReader<R> {
    /// Reads from the beginning; the name is for messages.
    pub(crate) fn new(input: R, name: &str) -> Self {
        Self { input, name: name.to_owned(), next_line: 1 }
    }

    /// The next line, as long as no statement has begun; for commands that are no SQL.
    pub(crate) fn next_piece(&mut self) -> Result<Option<Piece>> {
        let first_line = self.next_line;
        let mut bytes = Vec::new();
        loop {
            let start = bytes.len();
            let count = self.input.read_until(b'\n', &mut bytes).map_err(|error| {
                Error::new(ErrorKind::Unavailable, format!("cannot read {}: {error}", self.name)).with_source(error)
            })?;
            if count == 0 {
                break;
            }
            self.next_line += 1;
            let line = bytes[start..].trim_ascii();
            let is_command = start == 0 && line.starts_with(b".");
            let is_blank = line.is_empty() && bytes.trim_ascii().is_empty();
            if is_blank || is_command {
                break;
            }
            if line.ends_with(b";") && std::str::from_utf8(&bytes).is_ok_and(atsdb::sql::is_complete) {
                break;
            }
            if bytes.len() > SQL_BYTES_MAX {
                let message = format!("{}: the statement from line {first_line} on has no end", self.name);
                return Err(Error::new(ErrorKind::Sql, message)
                    .with_hint(format!("the most is {} MiB a statement", SQL_BYTES_MAX >> 20)));
            }
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let line = first_line
                + error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|b| **b == b'\n').count();
            Error::new(ErrorKind::Sql, format!("{}, line {line}: not UTF-8", self.name))
        })?;
        Ok(Some(Piece { text, first_line }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(script: &str) -> Vec<(usize, String)> {
        let mut reader = PieceReader::new(script.as_bytes(), "test");
        std::iter::from_fn(|| reader.next_piece().unwrap()).map(|piece| (piece.first_line, piece.text)).collect()
    }

    #[test]
    fn a_piece_ends_where_a_statement_ends() {
        let got = pieces("select 1;\nselect ';\n';\n.tables\nselect\n 2");
        let expected = [(1, "select 1;\n"), (2, "select ';\n';\n"), (4, ".tables\n"), (5, "select\n 2")];
        assert_eq!(got, expected.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn bytes_that_are_no_text_are_refused_with_their_line() {
        let mut reader = PieceReader::new(b"select '\n\xff';\n".as_slice(), "x.sql");
        assert!(reader.next_piece().unwrap_err().message().starts_with("x.sql, line 2: "));
    }
}
