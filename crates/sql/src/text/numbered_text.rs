//! Parameters as other interfaces write them, `?` and `$name`, become the numbered ones that a statement is prepared
//! with: `$1`, `$2`, and so on.

use super::errors::sql_error;
use super::params::number;
use atsdb_core::Result;
use std::fmt::Write;

/// A statement, or several, whose parameters are numbered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NumberedText {
    /// The text with `$1`, `$2`, and so on.
    pub text: String,
    /// For each number, from `$1` on: the name of a parameter that was written as `$name`.
    pub names: Vec<Option<String>>,
}

impl NumberedText {
    /// Numbers the parameters of a text: each `?` gets the next number, each `$name` the number of its name. Texts,
    /// quoted names and comments stay as they are.
    ///
    /// # Errors
    ///
    /// If the text has parameters of more than one form.
    pub fn new(text: &str) -> Result<Self> {
        let mut numbered = Self { text: String::with_capacity(text.len() + 8), names: Vec::new() };
        let (mut rest, mut form) = (text, None);
        while let Some(found) = rest.find(['\'', '"', '`', '-', '/', '?', '$']) {
            let (before, from) = rest.split_at(found);
            numbered.text.push_str(before);
            let piece = piece(from, numbered.text.chars().next_back());
            let (known, after) = from.split_at(piece.length);
            rest = after;
            match piece.form {
                None => numbered.text.push_str(known),
                Some(own) if *form.get_or_insert(own) == own => numbered.push(own, known, rest),
                Some(_) => {
                    let error = sql_error("a statement cannot mix the parameters ?, $1 and $name");
                    return Err(error.with_hint("write all of them in one form"));
                }
            }
        }
        numbered.text.push_str(rest);
        Ok(numbered)
    }

    fn push(&mut self, form: Form, parameter: &str, rest: &str) {
        let position = match form {
            Form::Next => self.names.len() + 1,
            Form::Number => match number(parameter) {
                Some(number) => number,
                // Preparing the statement reports it.
                None => return self.text.push_str(parameter),
            },
            Form::Name => {
                let known = self.names.iter().position(|name| name.as_deref() == Some(&parameter[1..]));
                known.unwrap_or(self.names.len()) + 1
            }
        };
        if position > self.names.len() {
            self.names.resize(position, None);
        }
        if form == Form::Name {
            self.names[position - 1] = Some(parameter[1..].to_owned());
        }
        // `?1` is not `$11`.
        let end = if rest.starts_with(is_word) { " " } else { "" };
        // Writing to a `String` cannot fail.
        let _ = write!(self.text, "${position}{end}");
    }
}

/// How a parameter is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `?`
    Next,
    /// `$1`
    Number,
    /// `$name`
    Name,
}

/// The beginning of a text: a parameter, or bytes that contain none.
struct Piece {
    length: usize,
    form: Option<Form>,
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Reads the beginning of a text; `before` is the letter before it.
fn piece(text: &str, before: Option<char>) -> Piece {
    let until = |from: usize, end: &str| text[from..].find(end).map_or(text.len(), |at| from + at + end.len());
    let other = |length| Piece { length, form: None };
    match text.as_bytes() {
        [b'\'', ..] if matches!(before, Some('e' | 'E')) => other(escaped_text(text)),
        [b'\'', ..] => other(until(1, "'")),
        [b'"', ..] => other(until(1, "\"")),
        [b'`', ..] => other(until(1, "`")),
        [b'-', b'-', ..] => other(until(2, "\n")),
        [b'/', b'*', ..] => other(comment(text)),
        [b'?', ..] => Piece { length: 1, form: Some(Form::Next) },
        [b'$', ..] if before.is_some_and(is_word) => other(1),
        [b'$', ..] => {
            let length = 1 + text[1..].find(|letter| !is_word(letter)).unwrap_or(text.len() - 1);
            match &text[1..length] {
                // A text between `$$` or `$tag$`.
                _ if text[length..].starts_with('$') => other(until(length + 1, &text[..=length])),
                "" => other(1),
                name if name.bytes().all(|byte| byte.is_ascii_digit()) => Piece { length, form: Some(Form::Number) },
                _ => Piece { length, form: Some(Form::Name) },
            }
        }
        _ => other(1),
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

    fn numbered(text: &str) -> (String, Vec<Option<String>>) {
        let NumberedText { text, names } = NumberedText::new(text).unwrap();
        (text, names)
    }

    #[test]
    fn question_marks_and_names_get_numbers() {
        assert_eq!(numbered("a = ? AND b=?AND c"), ("a = $1 AND b=$2 AND c".to_owned(), vec![None, None]));
        let (text, names) = numbered("x > $low AND x < $high AND y <> $low");
        assert_eq!(text, "x > $1 AND x < $2 AND y <> $1");
        assert_eq!(names, [Some("low".to_owned()), Some("high".to_owned())]);
        assert_eq!(numbered("x > $2 OR x = $1"), ("x > $2 OR x = $1".to_owned(), vec![None, None]));
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
            "$0, $99999999999999999999",
        ] {
            assert_eq!(numbered(text), (text.to_owned(), vec![]), "{text}");
        }
        assert_eq!(numbered("-- ?\n?").0, "-- ?\n$1");
    }

    #[test]
    fn forms_do_not_mix() {
        for text in ["SELECT $1, ?", "SELECT $1, $name", "SELECT ?, $name"] {
            assert!(NumberedText::new(text).is_err(), "{text}");
        }
    }
}
