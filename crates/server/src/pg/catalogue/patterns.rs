//! LIKE and regular expressions.

use super::value::Value;
use crate::pg::error::PgError;
use atsdb::sql::TextPattern;
use std::cell::RefCell;

/// The regular expression that was matched last. A query matches most of them with many rows.
#[derive(Default)]
pub(in crate::pg) struct LastPattern(RefCell<Option<CompiledPattern>>);

struct CompiledPattern {
    text: String,
    ignores_case: bool,
    compiled: TextPattern,
}

impl LastPattern {
    /// `text ~ pattern`.
    pub(super) fn matches(&self, text: &Value, pattern: &Value, ignores_case: bool) -> Result<Value, PgError> {
        let (Some(text), Some(pattern)) = (text.shown(), pattern.shown()) else { return Ok(Value::Null) };
        let mut last = self.0.borrow_mut();
        let known = last.take().filter(|last| last.text == pattern && last.ignores_case == ignores_case);
        let known = match known {
            Some(known) => known,
            None => {
                let compiled = TextPattern::new(&pattern, ignores_case)
                    .map_err(|_| PgError::error("2201B", format!("invalid regular expression: {pattern}")))?;
                CompiledPattern { text: pattern, ignores_case, compiled }
            }
        };
        Ok(Value::Bool(last.insert(known).compiled.matches(&text)?))
    }
}

/// `text LIKE pattern`.
pub(super) fn like(text: &Value, pattern: &Value, escape: Option<char>, ignores_case: bool) -> Value {
    let (Some(text), Some(pattern)) = (text.shown(), pattern.shown()) else { return Value::Null };
    let fold = |text: String| if ignores_case { text.to_lowercase() } else { text };
    let text: Vec<char> = fold(text).chars().collect();
    let mut parts = Vec::new();
    let pattern = fold(pattern);
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        parts.push(match letter {
            letter if Some(letter) == escape => PatternPart::Letter(letters.next().unwrap_or(letter)),
            '%' => PatternPart::Many,
            '_' => PatternPart::One,
            letter => PatternPart::Letter(letter),
        });
    }
    Value::Bool(is_like(&text, &parts))
}

#[derive(Clone, Copy, PartialEq)]
enum PatternPart {
    Letter(char),
    One,
    Many,
}

/// Matches a text with LIKE. It backtracks only to the last `%`, so the time is at most proportional to the length of
/// the text times that of the pattern.
fn is_like(text: &[char], parts: &[PatternPart]) -> bool {
    let (mut at, mut part) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while at < text.len() {
        match parts.get(part) {
            Some(PatternPart::Many) => {
                back = Some((part, at));
                part += 1;
            }
            Some(PatternPart::One) => (at, part) = (at + 1, part + 1),
            Some(PatternPart::Letter(letter)) if *letter == text[at] => (at, part) = (at + 1, part + 1),
            _ => match &mut back {
                Some((many, from)) => {
                    *from += 1;
                    (at, part) = (*from, *many + 1);
                }
                None => return false,
            },
        }
    }
    parts[part..].iter().all(|part| *part == PatternPart::Many)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_sql() {
        let is_like =
            |text: &str, pattern: &str| like(&Value::text(text), &Value::text(pattern), Some('/'), false).is_true();
        assert!(
            is_like("pg_class", "pg%") && is_like("pg_class", "pg/_%ss") && is_like("", "%") && is_like("abab", "%ab")
        );
        assert!(!is_like("pgxclass", "pg/_%") && !is_like("a", "") && !is_like("ab", "_"));
    }

    #[test]
    fn regular_expressions_are_those_of_postgresql() {
        let last = LastPattern::default();
        let found = |text: &str, pattern: &str, ignores_case: bool| {
            last.matches(&Value::text(text), &Value::text(pattern), ignores_case).map(|found| found.is_true())
        };
        for (text, pattern, expected) in [
            ("readings", "^(readings)$", true),
            ("readings", "^(READINGS)$", false),
            // Positions in words, which Rust's regular expressions write in another way.
            ("old readings", r"\mread", true),
            ("old readings", r"\yead", false),
            ("old readings", "[[:<:]]readings[[:>:]]", true),
            // The dot matches the end of a line.
            ("a\nb", "a.b", true),
            ("a.b", "***=a.b", true),
            ("aa", r"(.)\1", true),
        ] {
            assert_eq!(found(text, pattern, false).unwrap(), expected, "{text} ~ {pattern}");
        }
        // The same pattern is another one without regard to case.
        assert!(!found("readings", "READ", false).unwrap());
        assert!(found("readings", "READ", true).unwrap());
        assert_eq!(found("a", "(", false).unwrap_err().code, "2201B");
    }
}
