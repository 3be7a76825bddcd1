//! LIKE and regular expressions.

use super::value::Value;
use crate::pg::error::PgError;
use regex::RegexBuilder;

/// The maximum size of a compiled regular expression, in bytes.
const REGEX_BYTES_MAX: usize = 1 << 20;

/// `text ~ pattern`.
pub(super) fn matches(text: &Value, pattern: &Value, ignores_case: bool) -> Result<Value, PgError> {
    let (Some(text), Some(pattern)) = (text.shown(), pattern.shown()) else { return Ok(Value::Null) };
    let regex = RegexBuilder::new(&pattern).case_insensitive(ignores_case).size_limit(REGEX_BYTES_MAX).build();
    let regex = regex.map_err(|_| PgError::error("2201B", format!("invalid regular expression: {pattern}")))?;
    Ok(Value::Bool(regex.is_match(&text)))
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
        let found = matches(&Value::text("readings"), &Value::text("^(READINGS)$"), true).unwrap();
        assert!(found.is_true());
        assert_eq!(matches(&Value::text("a"), &Value::text("("), false).unwrap_err().code, "2201B");
    }
}
