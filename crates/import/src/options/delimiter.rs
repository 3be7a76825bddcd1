//! The separator that a caller names.

use atsdb_core::{Error, Result};

/// Reads a separator of fields: one ASCII character, or `tab`, `\t` or `space`. Any number of blanks separates, unless
/// the caller names the format.
///
/// # Errors
///
/// [`Usage`](atsdb_core::ErrorKind::Usage) for anything else.
pub fn parse_delimiter(text: &str) -> Result<u8> {
    match text {
        "tab" | "\\t" | "\t" => Ok(b'\t'),
        "space" => Ok(b' '),
        _ if text.len() == 1 && !text.starts_with(['"', '\n', '\r']) => Ok(text.as_bytes()[0]),
        _ => Err(Error::usage(format!("cannot separate fields by {text:?}"))
            .with_hint("use one ASCII character, or the word tab or space")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_read_or_refused() {
        assert_eq!((parse_delimiter("tab").unwrap(), parse_delimiter(";").unwrap()), (b'\t', b';'));
        assert!(parse_delimiter("ab").is_err() && parse_delimiter("").is_err() && parse_delimiter("é").is_err());
    }
}
