//! The parameters of a statement: `?`, `$1` and `$name`. A store only knows `$1`, `$2`, and so on, so the others get
//! numbers. Texts, quoted names and comments stay as they are.

use crate::failure::invalid;
use adbc_core::error::Result;

/// A statement whose parameters are `$1`, `$2`, and so on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NumberedText {
    pub(crate) text: String,
    /// The names of the parameters that were written as `$name`, by number; empty for the others.
    pub(crate) names: Vec<String>,
}

impl NumberedText {
    pub(crate) fn new(text: &str) -> Result<Self> {
        let (mut numbered, mut rest) = (String::with_capacity(text.len()), text);
        let (mut names, mut has_numbers): (Vec<String>, bool) = (Vec::new(), false);
        while let Some(found) = rest.find(['\'', '"', '`', '-', '/', '?', '$']) {
            numbered.push_str(&rest[..found]);
            let before = numbered.chars().next_back();
            rest = &rest[found..];
            let (length, number) = match piece(rest, before) {
                Piece::Other(length) => (length, None),
                Piece::Number(length) => {
                    has_numbers = true;
                    (length, None)
                }
                Piece::Next => {
                    names.push(String::new());
                    (1, Some(names.len()))
                }
                Piece::Name(length) => {
                    let name = &rest[1..length];
                    let known = names.iter().position(|known| known == name);
                    let at = known.unwrap_or_else(|| {
                        names.push(name.to_owned());
                        names.len() - 1
                    });
                    (length, Some(at + 1))
                }
            };
            match number {
                Some(number) => {
                    numbered.push_str(&format!("${number}"));
                    if rest[length..].starts_with(is_word) {
                        numbered.push(' ');
                    }
                }
                None => numbered.push_str(&rest[..length]),
            }
            rest = &rest[length..];
        }
        numbered.push_str(rest);
        if has_numbers && !names.is_empty() {
            return Err(invalid("a statement cannot have parameters with numbers, as $1, and others"));
        }
        Ok(Self { text: numbered, names })
    }
}

/// The first piece of a text.
enum Piece {
    /// This many bytes contain no parameter.
    Other(usize),
    /// `?`
    Next,
    /// `$1`
    Number(usize),
    /// `$name`
    Name(usize),
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Returns the first piece of a text; `before` is the letter before it.
fn piece(text: &str, before: Option<char>) -> Piece {
    let until = |from: usize, end: &str| text[from..].find(end).map_or(text.len(), |at| from + at + end.len());
    match text.as_bytes() {
        [b'\'', ..] if matches!(before, Some('e' | 'E')) => Piece::Other(escaped_text(text)),
        [b'\'', ..] => Piece::Other(until(1, "'")),
        [b'"', ..] => Piece::Other(until(1, "\"")),
        [b'`', ..] => Piece::Other(until(1, "`")),
        [b'-', b'-', ..] => Piece::Other(until(2, "\n")),
        [b'/', b'*', ..] => Piece::Other(comment(text)),
        [b'?', ..] => Piece::Next,
        [b'$', ..] if before.is_some_and(is_word) => Piece::Other(1),
        [b'$', ..] => {
            let length = 1 + text[1..].find(|letter| !is_word(letter)).unwrap_or(text.len() - 1);
            match &text[1..length] {
                // A text between `$$` or `$tag$`.
                _ if text[length..].starts_with('$') => Piece::Other(until(length + 1, &text[..=length])),
                "" => Piece::Other(1),
                name if name.bytes().all(|byte| byte.is_ascii_digit()) => Piece::Number(length),
                _ => Piece::Name(length),
            }
        }
        _ => Piece::Other(1),
    }
}

/// The length of a text in which a backslash escapes.
fn escaped_text(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'\'' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// The length of a comment, which may contain comments.
fn comment(text: &str) -> usize {
    let (mut at, mut depth) = (0, 0);
    while let Some(found) = text[at..].find(['*', '/']) {
        let (deeper, length) = match text.get(at + found..at + found + 2) {
            Some("/*") => (1, 2),
            Some("*/") => (-1, 2),
            _ => (0, 1),
        };
        depth += deeper;
        at += found + length;
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(text: &str) -> (String, Vec<String>) {
        let NumberedText { text, names } = NumberedText::new(text).unwrap();
        (text, names)
    }

    #[test]
    fn question_marks_and_names_get_numbers() {
        assert_eq!(numbered("a = ? AND b=?AND c").0, "a = $1 AND b=$2 AND c");
        let (text, names) = numbered("x > $low AND x < $high AND y <> $low");
        assert_eq!(
            (text.as_str(), names),
            ("x > $1 AND x < $2 AND y <> $1", vec!["low".to_owned(), "high".to_owned()])
        );
        assert_eq!(numbered("x > $2 OR x = $1"), ("x > $2 OR x = $1".to_owned(), vec![]));
    }

    #[test]
    fn what_is_no_parameter_stays() {
        for text in [
            "'?' || E'\\'?' || \"?\" || `?`",
            "1 -- ?",
            "/* ? /* ? */ ? */ 1",
            "$$?$$ || $x$ ? $name $x$",
            "a$b",
            "1 - 2 / 3 ö '",
        ] {
            assert_eq!(numbered(text), (text.to_owned(), vec![]), "{text}");
        }
        assert_eq!(numbered("-- ?\n?").0, "-- ?\n$1");
    }

    #[test]
    fn numbers_and_others_do_not_mix() {
        assert!(NumberedText::new("SELECT $1, ?").is_err());
        assert!(NumberedText::new("SELECT $1, $name").is_err());
    }
}
