//! Reads a script in pieces of whole statements, so that a script of any length runs in bounded memory.

use atsdb::limits::SQL_BYTES_MAX;
use atsdb::{Error, ErrorKind, Result};
use std::io::Read;

/// Whole statements of a script, and the line in which they begin.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ScriptPiece {
    /// The text.
    pub(crate) text: String,
    /// The line of its first character, from 1.
    pub(crate) first_line: usize,
}

/// The number of bytes that are read at once. For a long statement, all available bytes are read.
const READ_BYTES: usize = 256 << 10;
/// The size in bytes from which on no further statement is added to a piece.
const PIECE_BYTES: usize = 64 << 10;

/// The pieces of a script.
pub(crate) struct PieceReader<R> {
    input: R,
    name: String,
    next_line: usize,
    /// The bytes that were read.
    buffer: Vec<u8>,
    /// The number of bytes already returned.
    returned: usize,
    is_at_end: bool,
}

impl<R: Read> PieceReader<R> {
    /// Reads from the beginning; the name is for messages.
    pub(crate) fn new(input: R, name: &str) -> Self {
        let (buffer, name) = (Vec::new(), name.to_owned());
        Self { input, name, next_line: 1, buffer, returned: 0, is_at_end: false }
    }

    /// The next statements, or a line outside of a statement that is a command and not SQL: one that begins with a dot
    /// or a backslash, or a word such as `quit`.
    /// Complete statements are returned without waiting for more.
    pub(crate) fn next_piece(&mut self) -> Result<Option<ScriptPiece>> {
        self.buffer.drain(..std::mem::take(&mut self.returned));
        // The end of the last whole statement, and the end of the lines that were examined.
        let (mut end, mut seen) = (0, 0);
        while end < PIECE_BYTES {
            let Some(line_end) = self.line_end(seen) else {
                self.refuse_endless(end, self.buffer.len())?;
                if end > 0 {
                    break;
                }
                if self.is_at_end {
                    end = self.buffer.len();
                    break;
                }
                self.read_more()?;
                continue;
            };
            let line = self.buffer[seen..line_end].trim_ascii();
            let begins = seen == end;
            if begins && is_command(line) {
                end = if end == 0 { line_end } else { end };
                break;
            }
            let is_blank = begins && line.is_empty();
            let ends = line.ends_with(b";");
            seen = line_end;
            if is_blank || (ends && self.is_complete(end, seen)) {
                end = seen;
            }
            self.refuse_endless(end, seen)?;
        }
        self.give(end)
    }

    /// Refuses a statement between these positions that is too long and still incomplete.
    fn refuse_endless(&self, from: usize, to: usize) -> Result<()> {
        if from > 0 || to - from <= SQL_BYTES_MAX {
            return Ok(());
        }
        let message = format!("{}: the statement that begins in line {} is not complete", self.name, self.next_line);
        Err(Error::new(ErrorKind::Sql, message)
            .with_hint(format!("the maximum is {} MiB a statement", SQL_BYTES_MAX >> 20)))
    }

    /// Returns whether the bytes are whole statements, or can never become statements.
    fn is_complete(&self, from: usize, to: usize) -> bool {
        match std::str::from_utf8(&self.buffer[from..to]) {
            Ok(text) => atsdb::sql::is_complete(text),
            Err(error) => from == 0 && error.error_len().is_some(),
        }
    }

    fn give(&mut self, end: usize) -> Result<Option<ScriptPiece>> {
        if end == 0 {
            return Ok(None);
        }
        self.returned = end;
        let first_line = self.next_line;
        self.next_line += line_count(&self.buffer[..end]);
        match std::str::from_utf8(&self.buffer[..end]) {
            Ok(text) => Ok(Some(ScriptPiece { text: text.to_owned(), first_line })),
            Err(error) => {
                let line = first_line + line_count(&self.buffer[..error.valid_up_to()]);
                Err(Error::new(ErrorKind::Sql, format!("{}, line {line}: not UTF-8", self.name))
                    .with_hint("save the script as UTF-8"))
            }
        }
    }

    /// The end of the line that begins here, if it is complete.
    fn line_end(&self, start: usize) -> Option<usize> {
        let rest = &self.buffer[start..];
        match memchr::memchr(b'\n', rest) {
            Some(length) => Some(start + length + 1),
            None if self.is_at_end && !rest.is_empty() => Some(self.buffer.len()),
            None => None,
        }
    }

    fn read_more(&mut self) -> Result<()> {
        let length = self.buffer.len();
        self.buffer.resize(length + READ_BYTES.max(length), 0);
        let read = loop {
            match self.input.read(&mut self.buffer[length..]) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        self.buffer.truncate(length + read.as_ref().map_or(0, |count| *count));
        let count = read.map_err(|error| {
            Error::new(ErrorKind::Unavailable, format!("cannot read {}: {error}", self.name)).with_source(error)
        })?;
        self.is_at_end = count == 0;
        Ok(())
    }
}

fn is_command(line: &[u8]) -> bool {
    let word = line.strip_suffix(b";").unwrap_or(line).trim_ascii_end();
    let is_word = ["quit", "exit", "help", "?"].iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes()));
    is_word || line.starts_with(b".") || line.starts_with(b"\\")
}

fn line_count(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
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
        let got = pieces("select 1;\nselect ';\n';\n.tables\n\nselect 3;\nselect\n 2");
        let expected = [(1, "select 1;\nselect ';\n';\n"), (4, ".tables\n"), (5, "\nselect 3;\n"), (7, "select\n 2")];
        assert_eq!(got, expected.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn commands_of_psql_are_pieces() {
        let got = pieces("\\d t\nselect 1;\nquit;\nselect\nexit\n;\n");
        let expected = [(1, "\\d t\n"), (2, "select 1;\n"), (3, "quit;\n"), (4, "select\nexit\n;\n")];
        assert_eq!(got, expected.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn a_piece_takes_in_so_many_statements() {
        let script = "select 1; -- one\n;\n".repeat(PIECE_BYTES / 5);
        let got = pieces(&script);
        assert!(got.len() > 2 && got.iter().all(|(_, text)| text.len() < 2 * PIECE_BYTES), "{}", got.len());
        assert_eq!(got.iter().map(|(_, text)| text.as_str()).collect::<String>(), script);
        let lines = got.iter().scan(1, |line, (first, text)| {
            let expected = std::mem::replace(line, *line + text.matches('\n').count());
            Some(*first == expected)
        });
        assert!(lines.into_iter().all(|same| same));
    }

    #[test]
    fn what_is_there_does_not_wait_for_more() {
        struct Slow(Vec<&'static [u8]>);
        impl Read for Slow {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                assert!(!self.0.is_empty(), "asked for more while a statement was there");
                let bytes = self.0.remove(0);
                buffer[..bytes.len()].copy_from_slice(bytes);
                Ok(bytes.len())
            }
        }
        let mut reader = PieceReader::new(Slow(vec![b"select 1;\nsel", b"ect 2", b";\n"]), "test");
        for expected in ["select 1;\n", "select 2;\n"] {
            assert_eq!(reader.next_piece().unwrap().unwrap().text, expected);
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_refused_with_their_line() {
        let mut reader = PieceReader::new(b"select 1;\nselect '\xff';\n".as_slice(), "x.sql");
        assert_eq!(reader.next_piece().unwrap().unwrap().text, "select 1;\n");
        assert!(reader.next_piece().unwrap_err().message().starts_with("x.sql, line 2: "));
    }
}
