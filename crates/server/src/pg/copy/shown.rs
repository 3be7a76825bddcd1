//! The part of an error about the bytes that caused it: an excerpt and their position, in PostgreSQL's words.

use crate::pg::error::PgError;

/// The number of bytes that are shown.
const SHOWN_BYTES_MAX: usize = 100;

/// The position of a value: the relation, the row's line, and as far as known the column and the bytes.
pub(super) struct CopyPosition<'a> {
    pub(super) relation: &'a str,
    pub(super) line: u64,
    pub(super) column: Option<&'a str>,
    pub(super) bytes: Option<&'a [u8]>,
}

impl CopyPosition<'_> {
    /// Adds the position to an error.
    pub(super) fn of(&self, error: PgError) -> PgError {
        let mut context = format!("COPY {}, line {}", self.relation, self.line);
        if let Some(column) = self.column {
            context.push_str(&format!(", column {column}"));
        }
        if let Some(bytes) = self.bytes {
            context.push_str(&format!(": \"{}\"", shown(bytes)));
        }
        PgError { context: Some(context.into()), ..error }
    }
}

/// The beginning of a text.
fn shown(bytes: &[u8]) -> String {
    if bytes.len() <= SHOWN_BYTES_MAX {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    // A character is not cut.
    let is_start = |at: &usize| bytes[*at] & 0xc0 != 0x80;
    let end = (SHOWN_BYTES_MAX - 3..=SHOWN_BYTES_MAX).rev().find(is_start).unwrap_or(SHOWN_BYTES_MAX);
    format!("{}...", String::from_utf8_lossy(&bytes[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_cut_between_characters() {
        assert_eq!(shown(&[b'a'; 100]), "a".repeat(100));
        assert_eq!(shown(&[b'a'; 101]), "a".repeat(100) + "...");
        let text = "a".repeat(99) + "éé";
        assert_eq!(shown(text.as_bytes()), "a".repeat(99) + "...");
    }
}
