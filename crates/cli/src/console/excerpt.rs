//! The line of a script at which an error occurred, with a mark below it.
//!
//! Owned here: where in the text an error is, and the lines that show it. Not owned: when they are printed
//! ([`failure`](super::failure)).

use atsdb::Error;
use std::fmt;

/// The maximum number of characters of a line. A longer line is cut on both sides of the mark.
const LETTERS_MAX: usize = 76;

/// The line of a script at which an error occurred. It is a source of the error that people see.
#[derive(Debug)]
pub(crate) struct Excerpt {
    lines: String,
    cause: Error,
}

impl Excerpt {
    /// Returns the error with the line of `text` at which it occurred as its source, if its message shows which line
    /// that is. `line` and `column`, from 1, are where the statement begins.
    pub(crate) fn attach(error: Error, cause: Error, text: &str, (line, column): (usize, usize)) -> Error {
        let position = by_number(cause.message()).or_else(|| by_name(text, (line, column), cause.message()));
        match position.and_then(|position| marked(text, position)) {
            Some(lines) => error.with_source(Self { lines, cause }),
            None => error.with_source(cause),
        }
    }

    /// The excerpt that belongs to an error: the line, and below it a mark.
    pub(crate) fn of(error: &Error) -> Option<&str> {
        let mut source = std::error::Error::source(error);
        while let Some(inner) = source {
            if let Some(excerpt) = inner.downcast_ref::<Self>() {
                return Some(&excerpt.lines);
            }
            source = inner.source();
        }
        None
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.lines)
    }
}

impl std::error::Error for Excerpt {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.cause)
    }
}

/// The line at a position, and a mark below its column.
fn marked(text: &str, (line, column): (usize, usize)) -> Option<String> {
    let shown = text.lines().nth(line - 1)?;
    let letters: Vec<char> = shown.chars().map(|letter| if letter == '\t' { ' ' } else { letter }).collect();
    if column > letters.len() + 1 {
        return None;
    }
    let first = if letters.len() > LETTERS_MAX { (column - 1).saturating_sub(LETTERS_MAX / 2) } else { 0 };
    let last = letters.len().min(first + LETTERS_MAX);
    let (before, after) = (if first > 0 { "..." } else { "" }, if last < letters.len() { "..." } else { "" });
    let part: String = letters[first..last].iter().collect();
    let blanks = " ".repeat(before.len() + column - 1 - first);
    Some(format!("  {before}{part}{after}\n  {blanks}^"))
}

/// `at line 2, column 5`.
fn by_number(message: &str) -> Option<(usize, usize)> {
    let rest = message.split_once("at line ")?.1;
    let (line, rest) = rest.split_once(", column ")?;
    let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    let (line, column) = (line.parse().ok()?, rest[..digits].parse().ok()?);
    (line > 0 && column > 0).then_some((line, column))
}

/// Returns the first occurrence of the word that a message such as `no column named sensr` names, from a position on.
fn by_name(text: &str, (first_line, first_column): (usize, usize), message: &str) -> Option<(usize, usize)> {
    let rest = message.split_once(" named ")?.1;
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let name =
        rest.trim_matches(['"', '\'']).split(|letter: char| !is_part(letter)).next().filter(|name| !name.is_empty())?;
    for (number, line) in text.lines().enumerate().skip(first_line - 1) {
        let lower = line.to_lowercase();
        for (at, _) in lower.match_indices(&name.to_lowercase()) {
            let end = at + name.len();
            let is_word = !lower[..at].ends_with(is_part) && !lower.get(end..).unwrap_or("").starts_with(is_part);
            let column = lower[..at].chars().count() + 1;
            if is_word && (number + 1 > first_line || column >= first_column) {
                return Some((number + 1, column));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excerpt(text: &str, start: (usize, usize), message: &str) -> Option<String> {
        let error = |message: &str| Error::usage(message);
        let error = Excerpt::attach(error("in a script"), error(message), text, start).context("in a file");
        Excerpt::of(&error).map(str::to_owned)
    }

    #[test]
    fn the_place_of_an_error_is_marked() {
        let text = "SELECT a,\n  sensr FROM t";
        assert_eq!(excerpt(text, (1, 1), "no column named sensr").as_deref(), Some("    sensr FROM t\n    ^"));
        let numbered = excerpt(text, (1, 1), "syntax error at line 1, column 9: Expected x");
        assert_eq!(numbered.as_deref(), Some("  SELECT a,\n          ^"));
        assert_eq!(excerpt(text, (1, 1), "no function named a1"), None);
        assert_eq!(excerpt(text, (1, 1), "the disk is full"), None);
        assert_eq!(excerpt(text, (1, 1), "syntax error at line 9, column 9: x"), None);
    }

    #[test]
    fn only_the_statement_of_the_error_is_searched() {
        let text = "SELECT 1 AS b; SELECT b\nFROM t";
        assert_eq!(
            excerpt(text, (1, 16), "no column named b").as_deref(),
            Some("  SELECT 1 AS b; SELECT b\n                        ^")
        );
        assert_eq!(excerpt("SELECT 1 AS b;\nSELECT c", (2, 1), "no column named b"), None);
    }

    #[test]
    fn long_lines_are_cut_around_the_mark() {
        let text = format!("SELECT {}x{}", "a, ".repeat(50), ", b".repeat(50));
        let shown = excerpt(&text, (1, 1), "no column named x").unwrap();
        let (line, mark) = shown.split_once('\n').unwrap();
        assert!(line.starts_with("  ...") && line.ends_with("...") && line.len() == 2 + 3 + LETTERS_MAX + 3, "{line}");
        assert_eq!(line.find('x'), mark.find('^'));
    }
}
