//! Splits a script into statements, and finds the line and column of a position in it.
//!
//! Statements end with `;` outside strings, quoted names, comments and dollar quotes. Not owned: the meaning of
//! statements.

use super::errors::syntax_error;
use super::source_position::SourcePosition;
use atsdb_core::limits::SQL_BYTES_MAX;
use atsdb_core::{Error, ErrorKind, Result};

/// One statement of a script, without its `;`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    text: String,
    position: SourcePosition,
}

impl Statement {
    /// A statement with a text, which begins at a position of the script.
    pub(super) fn new(text: String, position: SourcePosition) -> Self {
        Self { text, position }
    }

    /// The statement's text, without the `;` and surrounding space and comments.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The line of the script in which it begins, from 1.
    pub fn line(&self) -> usize {
        self.position.line
    }

    /// The column at which it begins, in characters, from 1.
    pub fn column(&self) -> usize {
        self.position.column
    }

    /// Returns where the statement begins in the script.
    pub fn position(&self) -> SourcePosition {
        self.position
    }
}

/// The statements of a script, one after the other; after an error there are no more.
#[derive(Debug)]
pub struct Statements<'a> {
    rest: &'a str,
    position: SourcePosition,
}

impl<'a> Statements<'a> {
    /// Creates an iterator that starts at the beginning of the script.
    pub fn new(text: &'a str) -> Self {
        Self { rest: text.strip_prefix('\u{feff}').unwrap_or(text), position: SourcePosition::START }
    }

    fn pass(&mut self, byte_count: usize) {
        self.position = self.position.after(&self.rest[..byte_count]);
        self.rest = &self.rest[byte_count..];
    }

    fn fail(&mut self, at: usize, message: &str) -> Error {
        self.pass(at);
        self.rest = "";
        syntax_error(message, self.position)
    }
}

impl Iterator for Statements<'_> {
    type Item = Result<Statement>;

    fn next(&mut self) -> Option<Self::Item> {
        let start = loop {
            match first_code(self.rest) {
                Err(unclosed) => return Some(Err(self.fail(unclosed.at, unclosed.what))),
                Ok(at) if at == self.rest.len() => return None,
                Ok(at) if self.rest.as_bytes()[at] == b';' => self.pass(at + 1),
                Ok(at) => break at,
            }
        };
        self.pass(start);
        let end = match statement_end(self.rest) {
            Ok(end) => end,
            Err(unclosed) => return Some(Err(self.fail(unclosed.at, unclosed.what))),
        };
        if end > SQL_BYTES_MAX {
            let error =
                Error::new(ErrorKind::Limit, format!("a statement of {end} bytes at line {}", self.position.line));
            self.rest = "";
            return Some(Err(error.with_hint(format!("split it: the maximum is {SQL_BYTES_MAX} bytes"))));
        }
        let statement = Statement::new(self.rest[..end].trim_end().to_owned(), self.position);
        self.pass(end);
        Some(Ok(statement))
    }
}

/// Returns whether a text is complete: its last statement has its `;`, or there is no statement. A shell reads further
/// lines until then.
pub fn is_complete(text: &str) -> bool {
    let mut rest = text;
    loop {
        match first_code(rest) {
            Err(_) => return false,
            Ok(at) if at == rest.len() => return true,
            Ok(at) => rest = &rest[at..],
        }
        match statement_end(rest) {
            Ok(end) if end < rest.len() => rest = &rest[end + 1..],
            _ => return false,
        }
    }
}

/// A quoted text or a comment that begins at `at` and does not end.
pub(super) struct Unclosed {
    at: usize,
    what: &'static str,
}

/// The position of the first byte that is neither space nor comment.
fn first_code(text: &str) -> Result<usize, Unclosed> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match comment_end(bytes, at)? {
            Some(end) => at = end,
            None => match text[at..].chars().next() {
                Some(space) if space.is_whitespace() => at += space.len_utf8(),
                _ => break,
            },
        }
    }
    Ok(at)
}

/// The position of the `;` that ends the first statement, or the end of the text.
fn statement_end(text: &str) -> Result<usize, Unclosed> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b';' {
            return Ok(at);
        }
        at = piece_end(bytes, at)?;
    }
    Ok(bytes.len())
}

/// The end of the string, quoted name, dollar quote or comment that begins at a position, or else of the byte there.
pub(super) fn piece_end(bytes: &[u8], at: usize) -> Result<usize, Unclosed> {
    match bytes[at] {
        b'\'' => string_end(bytes, at),
        b'"' | b'`' => quote_end(bytes, at, "a quoted name that is not closed"),
        b'$' => dollar_end(bytes, at),
        b'-' | b'/' => Ok(comment_end(bytes, at)?.unwrap_or(at + 1)),
        _ => Ok(at + 1),
    }
}

/// The end of the whole string that begins at a position: a doubled quote ends one piece of it and begins the next.
pub(super) fn whole_string_end(bytes: &[u8], at: usize) -> Result<usize, Unclosed> {
    let mut end = piece_end(bytes, at)?;
    while bytes.get(end) == Some(&b'\'') {
        end = piece_end(bytes, end)?;
    }
    Ok(end)
}

fn comment_end(bytes: &[u8], at: usize) -> Result<Option<usize>, Unclosed> {
    if bytes[at..].starts_with(b"--") {
        return Ok(Some(bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| at + end + 1)));
    }
    if !bytes[at..].starts_with(b"/*") {
        return Ok(None);
    }
    let (mut depth, mut position) = (1_usize, at + 2);
    while depth > 0 {
        match bytes.get(position..position + 2) {
            Some(b"*/") => (depth, position) = (depth - 1, position + 2),
            Some(b"/*") => (depth, position) = (depth + 1, position + 2),
            Some(_) => position += 1,
            None => return Err(Unclosed { at, what: "a comment that is not closed" }),
        }
    }
    Ok(Some(position))
}

fn string_end(bytes: &[u8], at: usize) -> Result<usize, Unclosed> {
    let what = "a string that is not closed";
    let escapes = at > 0 && matches!(bytes[at - 1], b'e' | b'E') && (at == 1 || !is_of_name(&bytes[at - 2]));
    if !escapes {
        return quote_end(bytes, at, what);
    }
    let mut position = at + 1;
    loop {
        match bytes.get(position) {
            None => return Err(Unclosed { at, what }),
            Some(b'\\') => position += 2,
            Some(b'\'') if bytes.get(position + 1) == Some(&b'\'') => position += 2,
            Some(b'\'') => return Ok(position + 1),
            Some(_) => position += 1,
        }
    }
}

/// A doubled quote ends one quoted piece and begins the next, so that both are skipped.
fn quote_end(bytes: &[u8], at: usize, what: &'static str) -> Result<usize, Unclosed> {
    let quote = bytes[at];
    match bytes[at + 1..].iter().position(|byte| *byte == quote) {
        Some(length) => Ok(at + length + 2),
        None => Err(Unclosed { at, what }),
    }
}

fn dollar_end(bytes: &[u8], at: usize) -> Result<usize, Unclosed> {
    if at > 0 && is_of_name(&bytes[at - 1]) {
        return Ok(at + 1);
    }
    let tag_length = bytes[at + 1..].iter().take_while(|byte| is_of_name(byte)).count();
    let opened = at + tag_length + 2;
    if bytes.get(opened - 1) != Some(&b'$') {
        return Ok(at + 1);
    }
    let tag = &bytes[at..opened];
    match bytes[opened..].windows(tag.len()).position(|window| window == tag) {
        Some(length) => Ok(opened + length + tag.len()),
        None => Err(Unclosed { at, what: "a dollar quote that is not closed" }),
    }
}

pub(super) fn is_of_name(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(script: &str) -> Vec<String> {
        Statements::new(script).map(|statement| statement.unwrap().text().to_owned()).collect()
    }

    #[test]
    fn a_semicolon_inside_quotes_and_comments_ends_nothing() {
        let script =
            "SELECT ';''', E'\\';', \"a;b\", `c;`, $$;$$, $x$;$$;$x$ -- ;\n, 1 /* ; /* ; */ ; */;;  ;\nSELECT $name;";
        let found = texts(script);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[1], "SELECT $name");
        assert!(texts(" -- nothing\n/* at all */ ; ").is_empty());
        assert_eq!(texts("SELECT éE'\\'; SELECT 2").len(), 2, "a name that ends with E is no prefix");
    }

    #[test]
    fn statements_know_where_they_begin() {
        let found: Vec<_> =
            Statements::new("SELECT 1;\n -- é\n  SELECT 'é'; SELECT 3").map(|item| item.unwrap().position()).collect();
        let position = |line, column| SourcePosition { line, column };
        assert_eq!(found, [position(1, 1), position(3, 3), position(3, 15)]);
        assert_eq!(position(3, 3).of_inner(position(1, 4)), position(3, 6));
        assert_eq!(position(3, 3).of_inner(position(2, 4)), position(4, 4));
    }

    #[test]
    fn what_is_not_closed_is_named_with_its_position() {
        for (script, what) in
            [("SELECT 1;\n SELECT 'a", "a string"), ("\n /* a", "a comment"), ("\n $a$ $b$", "a dollar")]
        {
            let error = Statements::new(script).find_map(Result::err).unwrap().to_string();
            assert!(error.contains(what) && error.contains("line 2, column"), "{error}");
            assert!(!is_complete(script));
        }
    }

    #[test]
    fn a_text_is_complete_with_its_last_semicolon() {
        assert!(is_complete("SELECT 1; -- done") && is_complete("") && is_complete("SELECT ';';"));
        assert!(!is_complete("SELECT 1") && !is_complete("SELECT ';") && !is_complete("SELECT 1; SELECT 2"));
    }
}
