//! Exact decimals: integers that count the last digit after the point. `1.50` with two such digits is 150.

use crate::column_type::DECIMAL_DIGITS_MAX;
use std::fmt::Write;

/// Returns whether a number has at most `precision` digits.
pub fn fits(value: i128, precision: u8) -> bool {
    10_u128.checked_pow(precision.into()).is_some_and(|bound| value.unsigned_abs() < bound)
}

/// Returns the number with another scale, rounded half away from zero. `None` if it then has more than `precision`
/// digits.
pub fn rescaled(value: i128, scale: i32, precision: u8, to_scale: u8) -> Option<i128> {
    let shift = i32::from(to_scale) - scale;
    let power = 10_i128.checked_pow(shift.unsigned_abs());
    let rescaled = match (shift >= 0, power) {
        (true, Some(power)) => value.checked_mul(power)?,
        (true, None) if value != 0 => return None,
        (false, Some(power)) => {
            let (quotient, rest) = (value / power, value % power);
            quotient + if rest.unsigned_abs() >= power.unsigned_abs().div_ceil(2) { value.signum() } else { 0 }
        }
        (_, None) => 0,
    };
    fits(rescaled, precision).then_some(rescaled)
}

/// Parses `-1.5`, `.5`, `1e3`: a number with `scale` digits after the point, rounded half away from zero. `None` if
/// the text is not a number, or if the number has more than `precision` digits.
pub fn parse(text: &str, precision: u8, scale: u8) -> Option<i128> {
    let text = text.trim();
    let (is_negative, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], exponent_of(&unsigned[at + 1..])?),
        None => (unsigned, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let digits = || whole.bytes().chain(fraction.bytes()).map(|byte| byte - b'0');
    // How many digits are kept: those before the point, and `scale` after it.
    let kept = i64::try_from(whole.len()).ok()?.saturating_add(exponent).saturating_add(scale.into());
    let mut value: i128 = 0;
    for digit in digits().take(usize::try_from(kept).unwrap_or(0)) {
        value = value.checked_mul(10)?.checked_add(digit.into())?;
    }
    let missing = kept.saturating_sub((whole.len() + fraction.len()) as i64);
    if missing > 0 && value != 0 {
        value = value.checked_mul(10_i128.checked_pow(u32::try_from(missing).ok()?)?)?;
    }
    let first_dropped = usize::try_from(kept).ok().and_then(|kept| digits().nth(kept));
    value = value.checked_add(i128::from(first_dropped.is_some_and(|digit| digit >= 5)))?;
    let value = if is_negative { -value } else { value };
    fits(value, precision).then_some(value)
}

/// An exponent, clamped to a million either way: beyond it, every number is 0 or too large.
fn exponent_of(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let most = 1_000_000;
    let size = digits.parse::<i64>().unwrap_or(most).min(most);
    Some(if text.starts_with('-') { -size } else { size })
}

/// The decimal that a float stands for: the shortest one with at most 15 digits (6 for a float of 32 bits) that is
/// nearest to it, as PostgreSQL converts floats.
pub fn of_float(value: f64, is_single: bool, precision: u8, scale: u8) -> Option<i128> {
    let digits = if is_single { 5 } else { 14 };
    value.is_finite().then(|| parse(&format!("{value:.digits$e}"), precision, scale))?
}

/// Writes a number with `scale` digits after the point.
pub fn format(value: i128, scale: u8) -> String {
    let scale = usize::from(scale);
    let digits = format!("{:0>width$}", value.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let mut text = String::with_capacity(digits.len() + 2);
    text.push_str(if value < 0 { "-" } else { "" });
    text.push_str(whole);
    if scale > 0 {
        // Writing to a string never fails.
        let _ = write!(text, ".{fraction}");
    }
    text
}

/// The number as 16 bytes that are ordered as the numbers are: big-endian, with the sign bit flipped.
pub fn to_bytes(value: i128) -> [u8; 16] {
    (value.cast_unsigned() ^ (1 << 127)).to_be_bytes()
}

/// The number that [`to_bytes`] wrote. `None` if there are not 16 bytes, or if it has more than
/// [`DECIMAL_DIGITS_MAX`] digits.
pub fn from_bytes(bytes: &[u8]) -> Option<i128> {
    let value = (u128::from_be_bytes(bytes.try_into().ok()?) ^ (1 << 127)).cast_signed();
    fits(value, DECIMAL_DIGITS_MAX).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_half_away_from_zero() {
        for (text, expected) in [
            ("1.5", Some(150)),
            ("-1.005", Some(-101)),
            ("1.0049999", Some(100)),
            ("999.994", Some(99_999)),
            ("999.995", None),
            ("1e2", Some(10_000)),
            ("1e3", None),
            ("12345e-4", Some(123)),
            ("5e-3", Some(1)),
            ("5e-4", Some(0)),
            ("1e-999999999999", Some(0)),
            ("0e999999999999", Some(0)),
            (" +.5 ", Some(50)),
            ("7.", Some(700)),
            ("000000000000000000000000000000000000000000000001", Some(100)),
            ("", None),
            (".", None),
            ("-", None),
            ("1x", None),
            ("1e", None),
            ("NaN", None),
            ("1_0", None),
        ] {
            assert_eq!(parse(text, 5, 2), expected, "{text}");
        }
        let most = "99999999999999999999999999999999999999";
        assert_eq!(parse(most, 38, 0), Some(10_i128.pow(38) - 1));
        assert_eq!(parse(&format!("{most}.5"), 38, 0), None);
        assert_eq!(parse(&format!("{most}9"), 38, 0), None);
    }

    #[test]
    fn digits_behind_the_point_are_added_and_rounded() {
        assert_eq!(rescaled(15, 1, 5, 2), Some(150));
        assert_eq!(rescaled(-1_005, 3, 5, 2), Some(-101));
        assert_eq!(rescaled(1_004, 3, 5, 2), Some(100));
        assert_eq!(rescaled(10_i128.pow(37), 0, 38, 2), None);
        assert_eq!(rescaled(3, -2, 5, 1), Some(3_000));
        assert_eq!(rescaled(5, 1, 1, 0), Some(1));
        assert_eq!(rescaled(i128::MAX, 0, 38, 0), None);
        assert_eq!(rescaled(i128::MAX, 60, 38, 0), Some(0));
    }

    #[test]
    fn floats_are_the_decimals_that_they_are_written_as() {
        assert_eq!(of_float(1.005, false, 10, 2), Some(101));
        assert_eq!(of_float(0.1, false, 38, 20), Some(10_i128.pow(19)));
        assert_eq!(of_float(f64::from(0.1_f32), true, 10, 9), Some(100_000_000));
        assert_eq!(of_float(f64::NAN, false, 10, 2), None);
        assert_eq!(of_float(-1e8, false, 10, 2), None);
    }

    #[test]
    fn numbers_are_written_and_ordered() {
        for (value, scale, text) in [(-5, 2, "-0.05"), (150, 2, "1.50"), (0, 0, "0"), (-7, 0, "-7"), (1, 3, "0.001")] {
            assert_eq!(format(value, scale), text);
        }
        let numbers = [-10_i128.pow(38) + 1, -1, 0, 1, 10_i128.pow(38) - 1];
        let bytes = numbers.map(to_bytes);
        assert!(bytes.is_sorted());
        assert_eq!(bytes.map(|bytes| from_bytes(&bytes)), numbers.map(Some));
        assert_eq!((from_bytes(&[0; 16]), from_bytes(&[1])), (None, None));
    }
}
