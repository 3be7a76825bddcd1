//! `like_escape(pattern, escape)`: converts a `LIKE` pattern with another escape character to one with the backslash.
//! `like_open_end(matches)`: refuses texts that match a pattern up to an escape character at its end.

use crate::text::errors::sql_error;
use atsdb_core::Result;
use datafusion::arrow::array::{ArrayRef, AsArray};
use datafusion::common::exec_err;
use std::sync::Arc;

/// The pattern with backslashes. Without an escape character, nothing is escaped.
pub fn escaped_pattern(pattern: &str, escape: &str) -> Result<String> {
    let mut characters = escape.chars();
    let escape = characters.next();
    if characters.next().is_some() {
        return Err(sql_error("invalid escape string").with_hint("the escape string must be empty or one character"));
    }
    let mut escaped = String::with_capacity(pattern.len() + 2);
    let mut rest = pattern.chars();
    while let Some(character) = rest.next() {
        if Some(character) == escape {
            escaped.push('\\');
            escaped.extend(rest.next());
        } else if character == '\\' {
            escaped.push_str("\\\\");
        } else {
            escaped.push(character);
        }
    }
    Ok(escaped)
}

/// Returns what it is given, unless a text has matched.
pub(super) fn open_end(args: &[ArrayRef]) -> datafusion::common::Result<ArrayRef> {
    if args[0].as_boolean().iter().any(|matched| matched == Some(true)) {
        return exec_err!("LIKE pattern must not end with escape character");
    }
    Ok(Arc::clone(&args[0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_escape_character_becomes_the_backslash() {
        for (pattern, escape, expected) in [
            ("a#%b", "#", "a\\%b"),
            ("a##b", "#", "a\\#b"),
            ("a\\b%", "#", "a\\\\b%"),
            ("a\\%", "\\", "a\\%"),
            ("a\\%", "", "a\\\\%"),
        ] {
            assert_eq!(escaped_pattern(pattern, escape).unwrap(), expected, "{pattern}");
        }
        assert!(escaped_pattern("a", "##").is_err());
    }
}
