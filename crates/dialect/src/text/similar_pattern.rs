//! The patterns of `SIMILAR TO` and `substring(text FROM pattern FOR escape)`, as regular expressions.

use super::errors::sql_error;
use super::pattern_escapes::{push_element, push_hyphen, push_named_class};
use super::pattern_quantifiers::refuse_repeated_quantifiers;
use atsdb_core::{Error, Result};
use std::iter::Peekable;
use std::str::Chars;

/// The expression that a text matches as a whole. Two escaped double quotes in the pattern separate the part that
/// `substring` returns, which becomes the only group: what is before it is as short as possible. Without `escape`, no
/// character is escaped.
pub fn regular_expression(pattern: &str, escape: Option<char>) -> Result<String> {
    let mut reader = PatternReader { pattern, rest: pattern.chars().peekable(), escape };
    let mut parts = vec![String::new()];
    while let Some(next) = reader.rest.next() {
        let Some(part) = parts.last_mut() else { break };
        match next {
            _ if Some(next) == escape => match reader.rest.next_if_eq(&'"') {
                Some(_) => parts.push(String::new()),
                None => reader.push_escaped(part)?,
            },
            '%' => part.push_str(".*"),
            '_' => part.push('.'),
            '(' => part.push_str("(?:"),
            ')' | '|' | '*' | '+' | '?' | '{' | '}' => part.push(next),
            '[' => reader.push_class(part)?,
            literal => push_literal(part, literal),
        }
    }
    let expression = match parts.as_slice() {
        [all] => format!("^(?:{all})$"),
        [before, part] => format!("^(?U:{before})({part})$"),
        [before, part, after] => format!("^(?U:{before})({part})(?:{after})$"),
        _ => {
            let message = "SQL regular expression may not contain more than two escape-double-quote separators";
            return Err(sql_error(message));
        }
    };
    refuse_repeated_quantifiers(&expression, false)?;
    Ok(format!("(?s){expression}"))
}

struct PatternReader<'a> {
    pattern: &'a str,
    rest: Peekable<Chars<'a>>,
    escape: Option<char>,
}

impl PatternReader<'_> {
    /// Appends the character after an escape: a class such as `\d`, a position such as `\m`, a control character such
    /// as `\n`, or one that stands for itself.
    fn push_escaped(&mut self, expression: &mut String) -> Result<()> {
        let written = match self.rest.next() {
            Some(class @ ('d' | 's' | 'w' | 'D' | 'S' | 'W' | 'A' | 'a' | 'f' | 'n' | 'r' | 't' | 'v')) => {
                expression.push('\\');
                expression.push(class);
                ""
            }
            Some('m') => r"\b{start}",
            Some('M') => r"\b{end}",
            Some('y') => r"\b",
            Some('Y') => r"\B",
            Some('Z') => r"\z",
            Some('b') => r"\x08",
            Some('B') => r"\\",
            Some('e') => r"\x1b",
            Some(other) if other.is_ascii_alphanumeric() => {
                return Err(self.wrong(&format!("has an escape that is not supported: \\{other}")));
            }
            Some(literal) => {
                push_literal(expression, literal);
                ""
            }
            None => return Err(self.wrong("ends with its escape character")),
        };
        expression.push_str(written);
        Ok(())
    }

    /// Appends what is between brackets.
    fn push_class(&mut self, expression: &mut String) -> Result<()> {
        expression.push('[');
        if self.rest.next_if_eq(&'^').is_some() {
            expression.push('^');
        }
        let mut is_first = true;
        loop {
            match self.rest.next() {
                None => return Err(self.wrong("has [ without ]")),
                Some(']') if !is_first => break,
                Some(escape) if Some(escape) == self.escape => self.push_escaped(expression)?,
                Some('[') if self.rest.peek() == Some(&':') => {
                    expression.push('[');
                    push_named_class(expression, &mut self.rest);
                }
                Some('[') if matches!(self.rest.peek(), Some('.' | '=')) => push_element(expression, &mut self.rest)?,
                Some('-') if !is_first => push_hyphen(expression, &mut self.rest),
                Some(letter) => push_literal(expression, letter),
            }
            is_first = false;
        }
        expression.push(']');
        Ok(())
    }

    fn wrong(&self, why: &str) -> Error {
        sql_error(format!("the pattern '{:.60}' {why}", self.pattern))
    }
}

/// Appends a character that stands for itself.
fn push_literal(expression: &mut String, literal: char) {
    if literal.is_ascii_punctuation() {
        expression.push('\\');
    }
    expression.push(literal);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_becomes_a_regular_expression_for_all_of_the_text() {
        for (pattern, expected) in [
            ("a_%", "(?s)^(?:a..*)$"),
            ("(ok|bad)+", "(?s)^(?:(?:ok|bad)+)$"),
            ("a.b^c$", "(?s)^(?:a\\.b\\^c\\$)$"),
            ("100\\%", "(?s)^(?:100\\%)$"),
            ("[^a-z[:digit:]&]{2}", "(?s)^(?:[^a-z[:digit:]\\&]{2})$"),
            ("[]x]", "(?s)^(?:[\\]x])$"),
            ("[--/][+--]", "(?s)^(?:[\\--\\/][\\+-\\-])$"),
            ("\\d[\\w\\-]", "(?s)^(?:\\d[\\w\\-])$"),
            ("%\\mab\\M\\n", "(?s)^(?:.*\\b{start}ab\\b{end}\\n)$"),
            ("\\y\\Z\\B\\e", "(?s)^(?:\\b\\z\\\\\\x1b)$"),
        ] {
            assert_eq!(regular_expression(pattern, Some('\\')).unwrap(), expected);
        }
        assert_eq!(regular_expression("a#%\\", Some('#')).unwrap(), "(?s)^(?:a\\%\\\\)$");
        assert_eq!(regular_expression("a\\", None).unwrap(), "(?s)^(?:a\\\\)$");
        for pattern in ["a\\", "[a", "[]", "a\\\"b\\\"c\\\"", "\\1", "\\q", "a**", "%*", "(*a)", "a{2}+"] {
            assert!(regular_expression(pattern, Some('\\')).is_err(), "{pattern}");
        }
    }

    #[test]
    fn escaped_quotes_separate_the_part_that_is_returned() {
        assert_eq!(regular_expression("%#\"o_b#\"%", Some('#')).unwrap(), "(?s)^(?U:.*)(o.b)(?:.*)$");
        assert_eq!(regular_expression("a#\"%", Some('#')).unwrap(), "(?s)^(?U:a)(.*)$");
    }
}
