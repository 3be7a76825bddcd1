//! `like_escape(pattern, escape)`: converts a `LIKE` pattern with another escape character to one with the backslash.

use crate::text::errors::sql_error;
use atsdb_core::Result;

/// The pattern with backslashes. Without an escape character, nothing is escaped.
pub(crate) fn escaped_pattern(pattern: &str, escape: &str) -> Result<String> {
    let mut characters = escape.chars();
    let escape = characters.next();
    if characters.next().is_some() {
        return Err(sql_error("ESCAPE takes one character"));
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
