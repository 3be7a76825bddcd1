//! Text as bytes, by PostgreSQL's rules: `\x` and pairs of hexadecimal digits, or the bytes of the text itself, where
//! `\\` is a backslash and `\012` the byte of that octal number.

use atsdb_core::hex;

/// Writes bytes as `\x` and their digits.
pub fn digits_of(bytes: &[u8]) -> String {
    format!("\\x{}", hex::encode(bytes))
}

/// Parses a text as bytes.
pub fn bytes_of(text: &str) -> Result<Vec<u8>, String> {
    match text.strip_prefix("\\x") {
        Some(digits) => of_digits(digits),
        None => of_escapes(text.as_bytes()),
    }
    .ok_or_else(|| format!("'{text:.40}' cannot be read as bytes: write '\\x00ff'"))
}

fn of_digits(digits: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(digits.len() / 2);
    let mut rest = digits.chars().filter(|letter| !letter.is_ascii_whitespace());
    while let Some(high) = rest.next() {
        let (high, low) = (high.to_digit(16)?, rest.next()?.to_digit(16)?);
        bytes.push((high * 16 + low) as u8);
    }
    Some(bytes)
}

fn of_escapes(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        rest = match (first, after) {
            (b'\\', [b'\\', after @ ..]) => {
                bytes.push(b'\\');
                after
            }
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..]) => {
                bytes.push((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'));
                after
            }
            (b'\\', _) => return None,
            (plain, after) => {
                bytes.push(*plain);
                after
            }
        };
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_as_postgresql_reads_it() {
        for (text, wanted) in [
            ("\\x", &[][..]),
            ("\\x00ff", &[0, 255]),
            ("\\x 00 FF", &[0, 255]),
            ("ab", b"ab"),
            ("a\\\\b", b"a\\b"),
            ("\\001\\377", &[1, 255]),
        ] {
            assert_eq!(bytes_of(text).unwrap(), wanted, "{text}");
        }
        for text in ["\\x0", "\\xgg", "\\", "\\9", "\\400"] {
            assert!(bytes_of(text).is_err(), "{text}");
        }
    }
}
