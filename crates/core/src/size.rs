//! Sizes in bytes as flags, environment variables, URLs and table options write them: `1 GiB`, `1.5G`, `500 MB`,
//! `65536`.
//!
//! All of them are read here, so that the same text means the same size everywhere.

use crate::error::{Error, Result};
use crate::quantity::{multiply_decimal, split_number_and_unit};

/// The units and their factors. The first four are also those that [`format_size`] writes.
const UNITS: [(&str, u64); 14] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("T", 1 << 40),
    ("G", 1 << 30),
    ("M", 1 << 20),
    ("K", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("bytes", 1),
    ("B", 1),
];

/// Parses a size and returns it in bytes, rounded down.
///
/// A size is a decimal number and a unit in either case, with or without a space between. `kB`, `MB`, `GB` and `TB` are
/// powers of 1,000; `KiB`, `MiB`, `GiB`, `TiB` and the bare letters `K`, `M`, `G` and `T` are powers of 1,024. A number
/// without a unit counts bytes. Everything else, and a size of 2^64 bytes or more, is a
/// [`Usage`](crate::ErrorKind::Usage) error.
pub fn parse_size(text: &str) -> Result<u64> {
    let (number, unit) = split_number_and_unit(text);
    let factor = match unit {
        "" => Some(1),
        _ => UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).map(|(_, factor)| *factor),
    };
    let bytes = factor.and_then(|factor| multiply_decimal(number, factor.into()));
    bytes.and_then(|bytes| u64::try_from(bytes).ok()).ok_or_else(|| {
        Error::usage(format!("cannot read the size {text:?}")).with_hint("write it as '1 GiB', '500 MB' or 65536")
    })
}

/// Formats a size as [`parse_size`] reads it, without rounding: in the largest unit that divides it.
pub fn format_size(bytes: u64) -> String {
    let unit = UNITS.iter().take(4).find(|(_, factor)| bytes > 0 && bytes.is_multiple_of(*factor));
    unit.map_or_else(|| bytes.to_string(), |(name, factor)| format!("{} {name}", bytes / factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formatted_size_is_read_back() {
        for (text, bytes) in [
            ("1 GiB", 1 << 30),
            ("1536 MiB", 1536 << 20),
            ("65537", 65_537),
            ("0", 0),
            ("16777215 TiB", 0xffffff << 40),
        ] {
            assert_eq!((parse_size(text).unwrap(), format_size(bytes)), (bytes, text.to_owned()));
        }
        assert_eq!(parse_size(&u64::MAX.to_string()).unwrap(), u64::MAX);
    }

    #[test]
    fn units_are_read_in_every_spelling() {
        for (text, bytes) in
            [("256MiB", 256 << 20), ("1.5 kb", 1_500), ("1G", 1 << 30), ("2g", 2 << 30), (" 7 B ", 7), ("0.5 KiB", 512)]
        {
            assert_eq!(parse_size(text).unwrap(), bytes, "{text}");
        }
    }

    #[test]
    fn what_is_not_a_size_is_refused() {
        for bad in ["", "x", "MB", "-1", "1 XB", "1e9", "1..2", "99999999999GB", "99999999999 TiB"] {
            let error = parse_size(bad).unwrap_err().to_string();
            assert!(error.contains("cannot read the size") && error.contains("1 GiB"), "{bad}: {error}");
        }
    }
}
