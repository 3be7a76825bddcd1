//! Numbers as text. Parsing is exact: a number that a type cannot hold is `None`, never another number.

/// A field that looks like a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum NumberText {
    /// A whole number of 64 bits, signed.
    Int(i64),
    /// A whole number above those.
    UInt(u64),
    /// A whole number beyond 64 bits.
    Huge,
    /// Any other number: with a point or an exponent, `-0`, NaN, infinity.
    Float(f64),
}

/// Returns whether digits (after a sign) begin with a zero that a number would lose: `007`, `00.5`.
fn has_leading_zero(digits: &[u8]) -> bool {
    matches!(digits, [b'0', second, ..] if second.is_ascii_digit())
}

/// Sign and the rest.
fn split_sign(bytes: &[u8]) -> (bool, &[u8]) {
    match bytes {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, bytes),
    }
}

/// The value of 1 to 20 digits, if it fits a u64.
fn digits_value(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 20 {
        return None;
    }
    let (safe, rest) = digits.split_at(digits.len().min(19));
    let mut value = 0_u64;
    for byte in safe {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    for byte in rest {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(value)
}

fn signed(negative: bool, magnitude: u64) -> Option<i64> {
    if negative { 0_i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() }
}

/// Returns whether a plus precedes so many digits that the text is probably a telephone number, in which the plus has a
/// meaning.
fn is_telephone(bytes: &[u8]) -> bool {
    matches!(bytes, [b'+', digits @ ..] if digits.len() >= 7 && digits.iter().all(u8::is_ascii_digit))
}

/// A whole number as a number is usually written: no leading zeros, no `-0`.
#[inline]
pub(crate) fn plain_i64(bytes: &[u8]) -> Option<i64> {
    let (negative, digits) = split_sign(bytes);
    if is_telephone(bytes) {
        return None;
    }
    if digits.first() == Some(&b'0') && (digits.len() > 1 || negative) {
        return None;
    }
    signed(negative, digits_value(digits)?)
}

/// A whole number that may have leading zeros and a fraction of zeros, for a column that is known to hold integers.
pub(crate) fn any_i64(bytes: &[u8]) -> Option<i64> {
    let (negative, digits) = split_sign(bytes);
    signed(negative, digits_value(whole_digits(digits)?)?)
}

/// A whole number of 64 bits without sign.
pub(crate) fn any_u64(bytes: &[u8]) -> Option<u64> {
    let (negative, digits) = split_sign(bytes);
    let value = digits_value(whole_digits(digits)?)?;
    (!negative || value == 0).then_some(value)
}

/// The digits of a whole number without leading zeros and without `.0`.
fn whole_digits(digits: &[u8]) -> Option<&[u8]> {
    let digits = match memchr::memchr(b'.', digits) {
        Some(point) if digits[point + 1..].iter().all(|byte| *byte == b'0') => &digits[..point],
        Some(_) => return None,
        None => digits,
    };
    let zeros = digits.iter().take_while(|byte| **byte == b'0').count();
    Some(if zeros == digits.len() { &digits[zeros.saturating_sub(1)..] } else { &digits[zeros..] })
}

/// A 64-bit floating point number, rounded to the nearest; `None` if it would become infinite or zero. The caller must
/// check for leading zeros.
#[inline]
pub(crate) fn any_f64(bytes: &[u8]) -> Option<f64> {
    let (negative, digits) = split_sign(bytes);
    let (mut mantissa, mut seen, mut fraction, mut position) = (0_u64, 0_usize, 0_usize, 0_usize);
    let mut after_point = false;
    while let Some(byte) = digits.get(position) {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit));
            seen += 1;
            fraction += usize::from(after_point);
        } else if *byte == b'.' && !after_point {
            after_point = true;
        } else {
            break;
        }
        position += 1;
    }
    if seen == 0 {
        return special(negative, digits);
    }
    // A number up to 2^53 divided by a power of ten up to 10^22. Both are exact, so that only the division rounds.
    if position == digits.len() && seen <= 19 && mantissa <= 1 << 53 && fraction <= 22 {
        let value = mantissa as f64 / POWERS_OF_TEN[fraction];
        return Some(if negative { -value } else { value });
    }
    if position < digits.len() && !is_exponent(&digits[position..]) {
        return None;
    }
    let value = lexical_core::parse::<f64>(digits).ok()?;
    if value.is_infinite() || (value == 0.0 && !is_zero(digits)) {
        return None;
    }
    Some(if negative { -value } else { value })
}

/// Returns whether all digits before the exponent are zeros.
fn is_zero(digits: &[u8]) -> bool {
    digits.iter().take_while(|byte| !matches!(byte, b'e' | b'E')).all(|byte| matches!(byte, b'0' | b'.'))
}

/// Returns whether a text has the form of a number of any size.
pub(crate) fn is_number(bytes: &[u8]) -> bool {
    let (_, digits) = split_sign(bytes);
    let whole = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = &digits[whole..];
    let fraction = match rest {
        [b'.', rest @ ..] => 1 + rest.iter().take_while(|byte| byte.is_ascii_digit()).count(),
        _ => 0,
    };
    let rest = &rest[fraction..];
    whole + fraction.saturating_sub(1) > 0 && (rest.is_empty() || is_exponent(rest)) || any_f64(bytes).is_some()
}

/// Returns whether a decimal number has more digits than a double keeps of any number: 17, without zeros at the ends.
#[inline]
pub(crate) fn is_rounded(bytes: &[u8]) -> bool {
    bytes.len() > 17 && has_many_digits(bytes)
}

fn has_many_digits(bytes: &[u8]) -> bool {
    let (mut count, mut zeros) = (0_usize, 0_usize);
    for byte in bytes {
        match byte {
            b'0' if count > 0 => zeros += 1,
            b'1'..=b'9' => (count, zeros) = (count + zeros + 1, 0),
            b'e' | b'E' => break,
            _ => {}
        }
    }
    count > 17
}

const POWERS_OF_TEN: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

fn is_exponent(bytes: &[u8]) -> bool {
    let [b'e' | b'E', rest @ ..] = bytes else { return false };
    let (_, digits) = split_sign(rest);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// A word for a float. NaN has no sign, as in SQL, where there is one NaN.
fn special(negative: bool, word: &[u8]) -> Option<f64> {
    if word.eq_ignore_ascii_case(b"nan") {
        return Some(f64::NAN);
    }
    let infinity = if negative { f64::NEG_INFINITY } else { f64::INFINITY };
    (word.eq_ignore_ascii_case(b"inf") || word.eq_ignore_ascii_case(b"infinity")).then_some(infinity)
}

/// A floating point number as numbers are usually written: no leading zeros.
#[inline]
pub(crate) fn plain_f64(bytes: &[u8]) -> Option<f64> {
    if has_leading_zero(split_sign(bytes).1) || is_telephone(bytes) { None } else { any_f64(bytes) }
}

/// The value of a field, if it is a number whose text has no more information than its value.
pub(crate) fn number(bytes: &[u8]) -> Option<NumberText> {
    if let Some(value) = plain_i64(bytes) {
        return Some(NumberText::Int(value));
    }
    let (negative, digits) = split_sign(bytes);
    if has_leading_zero(digits) || is_telephone(bytes) {
        return None;
    }
    if digits.len() > 18 && digits.iter().all(u8::is_ascii_digit) {
        return match digits_value(digits) {
            Some(value) if !negative => Some(NumberText::UInt(value)),
            _ => Some(NumberText::Huge),
        };
    }
    any_f64(bytes).map(NumberText::Float)
}

/// The floats that JSON has no number for, as programs write them into strings.
pub(crate) fn is_odd_float(bytes: &[u8]) -> bool {
    matches!(bytes, b"NaN" | b"inf" | b"-inf" | b"Infinity" | b"-Infinity")
}

/// The number of digits of a fraction without the zeros at its end.
pub(crate) fn significant_digits(fraction: &[u8]) -> usize {
    fraction.iter().rposition(|byte| *byte != b'0').map_or(0, |position| position + 1)
}

/// `true` or `false`, in any case.
pub(crate) fn boolean(bytes: &[u8]) -> Option<bool> {
    match bytes.len() {
        4 if bytes.eq_ignore_ascii_case(b"true") => Some(true),
        5 if bytes.eq_ignore_ascii_case(b"false") => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_float_is_the_nearest_one() {
        for text in [
            "0.1",
            "178.924995",
            "1e23",
            "9007199254740993.0",
            "1.7976931348623157e308",
            "0e-400",
            "5e-324",
            "0.00476416302416414",
            "123456789012345678.5",
            "1.",
            ".5",
            "-2.5E-3",
            "0.008333333457509676",
            "100000000000000000000000.25",
        ] {
            assert_eq!(any_f64(text.as_bytes()), Some(text.parse::<f64>().unwrap()), "{text}");
        }
        assert_eq!(any_f64(b"-0").map(f64::to_bits), Some((-0.0_f64).to_bits()));
        assert_eq!(any_f64(b"+5.2"), Some(5.2));
        assert_eq!((any_f64(b"-inf"), any_f64(b"+Infinity")), (Some(f64::NEG_INFINITY), Some(f64::INFINITY)));
        for text in ["NaN", "-nan", "+NaN"] {
            assert_eq!(any_f64(text.as_bytes()).map(f64::to_bits), Some(f64::NAN.to_bits()), "{text}");
        }
        for text in ["1e400", "-1e400", "1e-400", "0.0001e-400", "-123e999999999"] {
            assert_eq!((any_f64(text.as_bytes()), is_number(text.as_bytes())), (None, true), "{text}");
        }
        for text in ["", "-", ".", "1e", "e5", "1.2.3", "0x10", "1_000", "--1", "1 2", "+-1"] {
            assert_eq!((any_f64(text.as_bytes()), is_number(text.as_bytes())), (None, false), "{text}");
        }
    }

    #[test]
    fn a_plus_before_many_digits_is_no_sign_and_digits_that_get_lost_are_found() {
        assert_eq!((number(b"+4915112345678"), plain_f64(b"+4915112345678")), (None, None));
        assert_eq!((number(b"+5"), number(b"+1234567.5").is_some()), (Some(NumberText::Int(5)), true));
        for text in ["0.12345678901234567", "1.00000000000000000000", "100000000000000000000000", "-1.5e-20"] {
            assert!(!is_rounded(text.as_bytes()), "{text}");
        }
        assert!(is_rounded(b"0.123456789012345678") && is_rounded(b"-123456789.0123456789e5"));
    }

    #[test]
    fn whole_numbers_keep_their_ends_and_leading_zeros_are_no_numbers() {
        assert_eq!(plain_i64(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(plain_i64(b"9223372036854775808"), None);
        assert_eq!(number(b"9223372036854775808"), Some(NumberText::UInt(1 << 63)));
        assert_eq!(number(b"18446744073709551616"), Some(NumberText::Huge));
        assert_eq!((number(b"007"), number(b"-01"), number(b"00.5")), (None, None, None));
        assert_eq!((plain_i64(b"-0"), plain_i64(b"0")), (None, Some(0)));
        assert_eq!(
            (any_i64(b"007"), any_i64(b"5.00"), any_i64(b"5.5"), any_i64(b"000")),
            (Some(7), Some(5), None, Some(0))
        );
        assert_eq!((any_u64(b"-0"), any_u64(b"-1")), (Some(0), None));
    }
}
