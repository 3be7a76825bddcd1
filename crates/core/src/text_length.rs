//! The declared length of a text column: `varchar(n)` and `char(n)`, with PostgreSQL's rules. Not owned: the statements
//! that declare it (`sql`), and the places where texts come into a table (`engine`).

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// The longest text that a column takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextLength {
    /// The number of characters.
    pub characters: u32,
    /// Whether it is a `char(n)`, in which spaces at the end have no meaning. They are not stored.
    #[serde(default, rename = "char", skip_serializing_if = "std::ops::Not::not")]
    pub is_char: bool,
}

impl TextLength {
    /// The maximum number of characters, as in PostgreSQL.
    pub const CHARACTERS_MAX: u32 = 10_485_760;

    /// The text that a column of this length stores: without spaces beyond the length, and in a `char(n)` without any
    /// at the end.
    ///
    /// Errors: [`InvalidValue`](crate::ErrorKind::InvalidValue) if other characters than spaces are beyond the length.
    pub fn stored(self, text: &str) -> Result<&str> {
        let text = if self.is_char { text.trim_end_matches(' ') } else { text };
        let count_max = self.characters as usize;
        // A character has at least one byte.
        if text.len() <= count_max {
            return Ok(text);
        }
        let Some((end, _)) = text.char_indices().nth(count_max) else { return Ok(text) };
        if text[end..].bytes().any(|byte| byte != b' ') {
            return Err(Error::invalid(format!("value too long for type {}", self.type_name())));
        }
        Ok(&text[..end])
    }

    /// Returns whether every text that a column of a length has, or a column without one, is stored as it is by this
    /// one.
    pub fn holds_all_of(self, other: Option<Self>) -> bool {
        other.is_some_and(|other| other.characters <= self.characters && (other.is_char || !self.is_char))
    }

    /// The type in PostgreSQL's words: `character varying(3)`.
    pub fn type_name(self) -> String {
        let name = if self.is_char { "character" } else { "character varying" };
        format!("{name}({})", self.characters)
    }

    /// The type as declarations show it: `VARCHAR(3)`.
    pub fn sql_name(self) -> String {
        let name = if self.is_char { "CHAR" } else { "VARCHAR" };
        format!("{name}({})", self.characters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn varchar(characters: u32) -> TextLength {
        TextLength { characters, is_char: false }
    }

    fn fixed(characters: u32) -> TextLength {
        TextLength { characters, is_char: true }
    }

    #[test]
    fn only_spaces_are_cut() {
        for (length, text, stored) in [
            (varchar(3), "abc", "abc"),
            (varchar(3), "ab ", "ab "),
            (varchar(3), "ab    ", "ab "),
            (varchar(3), "äöü", "äöü"),
            (varchar(3), "äöü ", "äöü"),
            (varchar(3), "     ", "   "),
            (fixed(3), "ab ", "ab"),
            (fixed(3), "abc   ", "abc"),
            (fixed(3), " b ", " b"),
            (fixed(1), "  ", ""),
        ] {
            assert_eq!(length.stored(text).unwrap(), stored, "{length:?} {text:?}");
        }
        let message = |length: TextLength, text: &str| length.stored(text).unwrap_err().message().to_owned();
        assert_eq!(message(varchar(3), "abcd"), "value too long for type character varying(3)");
        assert_eq!(message(varchar(3), "ab  c"), "value too long for type character varying(3)");
        assert_eq!(message(varchar(3), "abc\t"), "value too long for type character varying(3)");
        assert_eq!(message(fixed(1), "äö"), "value too long for type character(1)");
    }

    #[test]
    fn a_shorter_length_and_a_char_hold_less() {
        assert!(varchar(3).holds_all_of(Some(varchar(3))) && varchar(3).holds_all_of(Some(fixed(2))));
        assert!(fixed(3).holds_all_of(Some(fixed(3))));
        assert!(!varchar(3).holds_all_of(Some(varchar(4))) && !varchar(3).holds_all_of(None));
        assert!(!fixed(3).holds_all_of(Some(varchar(2))), "it may have a space at the end");
    }
}
