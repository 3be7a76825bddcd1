//! Parameters as other interfaces write them, `?` and `$name`, become the numbered ones that a statement is prepared
//! with: `$1`, `$2`, and so on.

use super::errors::sql_error;
use super::params::number;
use super::script::piece_end;
use atsdb_core::Result;
use std::fmt::Write;

/// A statement, or several, whose parameters are numbered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NumberedText {
    /// The text with `$1`, `$2`, and so on.
    pub text: String,
    /// The names of the parameters that were written as `$name`, by number from `$1` on; `None` for the others.
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
        let bytes = text.as_bytes();
        let (mut at, mut copied, mut form) = (0, 0, None);
        while at < bytes.len() {
            // An unterminated text or comment is reported when the statement is prepared.
            let mut end = piece_end(bytes, at).unwrap_or(bytes.len());
            if let Some((own, length)) = parameter(text, at).filter(|_| end == at + 1) {
                if *form.get_or_insert(own) != own {
                    let error = sql_error("a statement cannot mix the parameters ?, $1 and $name");
                    return Err(error.with_hint("write all of them in one form"));
                }
                end = at + length;
                numbered.text.push_str(&text[copied..at]);
                numbered.push(own, &text[at..end], &text[end..]);
                copied = end;
            }
            at = end;
        }
        numbered.text.push_str(&text[copied..]);
        Ok(numbered)
    }

    fn push(&mut self, form: ParameterForm, parameter: &str, rest: &str) {
        let position = match form {
            ParameterForm::Next => self.names.len() + 1,
            ParameterForm::Number => match number(parameter) {
                Some(number) => number,
                // Preparing the statement reports it.
                None => return self.text.push_str(parameter),
            },
            ParameterForm::Name => {
                let known = self.names.iter().position(|name| name.as_deref() == Some(&parameter[1..]));
                known.unwrap_or(self.names.len()) + 1
            }
        };
        if position > self.names.len() {
            self.names.resize(position, None);
        }
        if form == ParameterForm::Name {
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
enum ParameterForm {
    /// `?`
    Next,
    /// `$1`
    Number,
    /// `$name`
    Name,
}

/// Returns whether a letter can be one of a name.
pub(super) fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The parameter that begins at a position: its form, and how many bytes it has.
fn parameter(text: &str, at: usize) -> Option<(ParameterForm, usize)> {
    match text.as_bytes()[at] {
        b'?' => Some((ParameterForm::Next, 1)),
        b'$' if !text[..at].ends_with(is_word) => {
            let name = &text[at + 1..];
            let name = &name[..name.find(|letter| !is_word(letter)).unwrap_or(name.len())];
            let form = match name.bytes().all(|byte| byte.is_ascii_digit()) {
                true => ParameterForm::Number,
                false => ParameterForm::Name,
            };
            (!name.is_empty()).then_some((form, 1 + name.len()))
        }
        _ => None,
    }
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
            "E'a''b\\'?' || date'\\' || 'it''s ?'",
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
