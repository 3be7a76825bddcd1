//! Counts of a unit since the epoch, as text.

use crate::values::numbers::significant_digits;
use atsdb_core::TimeUnit;

/// A whole or decimal count of `unit` since the epoch: seconds, nanoseconds and the digits of seconds it needs.
pub(crate) fn epoch(bytes: &[u8], unit: TimeUnit) -> Option<(i64, u32, u8)> {
    let (negative, digits) = match bytes {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, bytes),
    };
    let (whole, fraction) = match memchr::memchr(b'.', digits) {
        Some(point) => (&digits[..point], &digits[point + 1..]),
        None => (digits, &digits[..0]),
    };
    if whole.is_empty() || whole.len() > 20 || !whole.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let significant = significant_digits(fraction);
    let places = 9 - unit.fraction_digits();
    if !fraction.iter().all(u8::is_ascii_digit) || significant > places {
        return None;
    }
    let mut nanoseconds = whole.iter().fold(0_i128, |value, byte| value * 10 + i128::from(byte - b'0'));
    for position in 0..places {
        nanoseconds = nanoseconds * 10 + fraction.get(position).map_or(0, |byte| i128::from(byte - b'0'));
    }
    let nanoseconds = if negative { -nanoseconds } else { nanoseconds };
    let seconds = i64::try_from(nanoseconds.div_euclid(1_000_000_000)).ok()?;
    let needed = if significant == 0 { unit.fraction_digits() } else { unit.fraction_digits() + significant };
    Some((seconds, nanoseconds.rem_euclid(1_000_000_000) as u32, needed as u8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_keep_their_fraction() {
        assert_eq!(epoch(b"1566453600", TimeUnit::Second), Some((1_566_453_600, 0, 0)));
        assert_eq!(epoch(b"1566453600.25", TimeUnit::Second), Some((1_566_453_600, 250_000_000, 2)));
        assert_eq!(epoch(b"-1", TimeUnit::Millisecond), Some((-1, 999_000_000, 3)));
        assert_eq!(epoch(b"1566453600123.5", TimeUnit::Millisecond), Some((1_566_453_600, 123_500_000, 4)));
        assert_eq!(epoch(b"1.0000000001", TimeUnit::Second), None);
        assert_eq!(epoch(b"1.5", TimeUnit::Nanosecond), None);
        assert_eq!(epoch(b"1e9", TimeUnit::Second), None);
    }
}
