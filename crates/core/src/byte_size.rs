//! Sizes in bytes as options say them: `1 GiB`, `500 MB`, `65536`.

use crate::error::{Error, Result};

/// Units, from the one that is printed first. Without `i` they count by thousands, as in `SI`.
const UNITS: [(&str, u64); 10] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("bytes", 1),
    ("B", 1),
];

/// The bytes that a text such as `1 GiB`, `500 MB` or `65536` names.
pub fn parse_byte_size(text: &str) -> Result<u64> {
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|next: char| !next.is_ascii_digit()).unwrap_or(text.len()));
    let unit = unit.trim();
    let factor = match unit {
        "" => Some(1),
        _ => UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).map(|(_, factor)| *factor),
    };
    let bytes = number.parse::<u64>().ok().zip(factor).and_then(|(number, factor)| number.checked_mul(factor));
    bytes.ok_or_else(|| Error::usage(format!("{text} is no size in bytes")).with_hint("write '1 GiB' or '500 MB'"))
}

/// A size as [`parse_byte_size`] reads it.
pub fn byte_size(bytes: u64) -> String {
    let unit = UNITS.iter().take(4).find(|(_, factor)| bytes > 0 && bytes.is_multiple_of(*factor));
    unit.map_or_else(|| bytes.to_string(), |(name, factor)| format!("{} {name}", bytes / factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_come_back() {
        for (text, bytes) in [("1 GiB", 1 << 30), ("1536 MiB", 1536 << 20), ("65537", 65_537), ("0", 0)] {
            assert_eq!((parse_byte_size(text).unwrap(), byte_size(bytes)), (bytes, text.to_owned()));
        }
        assert_eq!(parse_byte_size("2gb").unwrap(), 2_000_000_000);
        assert!(parse_byte_size("1.5 GiB").is_err() && parse_byte_size("x").is_err());
        assert!(parse_byte_size("99999999999 TiB").unwrap_err().to_string().contains("no size"));
    }
}
