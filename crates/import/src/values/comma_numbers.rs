//! Numbers with commas, such as `1,5`, `1.234,5` and `1,234.5`.

use crate::values::numbers::{NumberText, number, plain_f64};
use std::borrow::Cow;

/// How the numbers of a column are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum NumberForm {
    /// Numbers have a decimal point and no commas.
    #[default]
    Point,
    /// Numbers have a decimal comma. Points may stand between thousands.
    DecimalComma,
    /// Numbers have commas between thousands, and a decimal point.
    CommaThousands,
}

/// A number of a column, written with a decimal point and nothing between thousands. `None` if it has a comma or a
/// point that the form does not have there.
pub(crate) fn plain_number(bytes: &[u8], form: NumberForm) -> Option<Cow<'_, [u8]>> {
    match form {
        NumberForm::DecimalComma => with_point(bytes).map(Cow::Owned),
        NumberForm::CommaThousands if memchr::memchr(b',', bytes).is_some() => without_commas(bytes).map(Cow::Owned),
        NumberForm::Point | NumberForm::CommaThousands => Some(Cow::Borrowed(bytes)),
    }
}

/// The possible meanings of the commas in a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommaNumber {
    /// The decimal comma.
    Decimal,
    /// A decimal comma or a thousands separator: `1,234`.
    Either,
    /// Thousands separators of a whole number: `1,234,567`.
    Thousands,
    /// Thousands separators of a number with a decimal point: `1,234.5`.
    ThousandsPoint,
    /// Thousands separators of a whole number, or commas between items of three digits each: `101,202,303`.
    ThousandsOrList,
}

/// The meaning of the commas of a number; `None` if the text is not such a number.
pub(crate) fn comma_number(bytes: &[u8]) -> Option<CommaNumber> {
    one_comma(bytes).or_else(|| {
        let plain = without_commas(bytes).filter(|plain| plain.len() <= THOUSANDS_LENGTH_MAX)?;
        match number(&plain)? {
            NumberText::Int(_) if matches!(bytes, [b'0'..=b'9', _, _, b',', ..]) => Some(CommaNumber::ThousandsOrList),
            NumberText::Int(_) => Some(CommaNumber::Thousands),
            NumberText::Float(_) => Some(CommaNumber::ThousandsPoint),
            NumberText::UInt(_) | NumberText::Huge => None,
        }
    })
}

/// Characters of a number whose commas are left out, so that DOUBLE holds its digits.
const THOUSANDS_LENGTH_MAX: usize = 15;

/// A number without the commas between its thousands. `None` if it has none, or others.
fn without_commas(bytes: &[u8]) -> Option<Vec<u8>> {
    let digits = bytes.strip_prefix(b"-").or_else(|| bytes.strip_prefix(b"+")).unwrap_or(bytes);
    let point = memchr::memchr(b'.', digits).unwrap_or(digits.len());
    let (whole, fraction) = digits.split_at(point);
    let are_digits = |bytes: &[u8]| !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit);
    let mut groups = whole.split(|byte| *byte == b',');
    let first = groups.next().filter(|first| are_digits(first) && first.len() <= 3 && first[0] != b'0')?;
    let is_apart = whole.len() > first.len() && groups.all(|group| group.len() == 3 && are_digits(group));
    let is_fraction = fraction.is_empty() || are_digits(&fraction[1..]);
    (is_apart && is_fraction).then(|| bytes.iter().copied().filter(|byte| *byte != b',').collect())
}

/// The meaning of a number with one comma that may be the decimal one.
fn one_comma(bytes: &[u8]) -> Option<CommaNumber> {
    let digits = bytes.strip_prefix(b"-").or_else(|| bytes.strip_prefix(b"+")).unwrap_or(bytes);
    let comma = memchr::memchr(b',', digits).filter(|_| bytes.len() < 64)?;
    let (whole, fraction) = (&digits[..comma], &digits[comma + 1..]);
    let exponent = fraction.iter().position(|byte| matches!(byte, b'e' | b'E'));
    let (fraction, exponent) = fraction.split_at(exponent.unwrap_or(fraction.len()));
    let are_digits = |bytes: &[u8]| !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit);
    let groups: Vec<&[u8]> = whole.split(|byte| *byte == b'.').collect();
    let has_groups = groups.len() > 1;
    let are_groups = groups.iter().enumerate().all(|(position, group)| {
        are_digits(group) && (!has_groups || group.len() == 3 || (position == 0 && group.len() < 3))
    });
    if !are_groups || !are_digits(fraction) || (whole.len() > 1 && whole[0] == b'0') {
        return None;
    }
    comma_f64(bytes)?;
    let is_sure = has_groups || !exponent.is_empty() || fraction.len() != 3 || whole.len() > 3 || whole == b"0";
    Some(if is_sure { CommaNumber::Decimal } else { CommaNumber::Either })
}

/// The value of a number whose comma is the decimal one; points between thousands are left out.
fn comma_f64(bytes: &[u8]) -> Option<f64> {
    plain_f64(&with_point(bytes)?)
}

/// A number of a column with decimal commas, written with a decimal point. `None` if it has several commas, or a point
/// that is not between thousands.
fn with_point(bytes: &[u8]) -> Option<Vec<u8>> {
    let comma = memchr::memchr(b',', bytes).unwrap_or(bytes.len());
    let (whole, fraction) = bytes.split_at(comma);
    let fraction = fraction.strip_prefix(b",").unwrap_or(fraction);
    let is_apart = |byte: &u8| matches!(byte, b',' | b'.');
    if fraction.iter().any(is_apart) || (whole.contains(&b'.') && !has_thousands(whole)) {
        return None;
    }
    let without_points = bytes.iter().filter(|byte| **byte != b'.');
    Some(without_points.map(|byte| if *byte == b',' { b'.' } else { *byte }).collect())
}

/// Returns whether all points of a number without a comma may stand between thousands: `1.234`, `12.345.678`.
pub(crate) fn has_thousands(bytes: &[u8]) -> bool {
    let digits = bytes.strip_prefix(b"-").or_else(|| bytes.strip_prefix(b"+")).unwrap_or(bytes);
    let mut groups = digits.split(|byte| *byte == b'.');
    let are_digits = |group: &[u8]| group.iter().all(u8::is_ascii_digit);
    let is_first = |group: &[u8]| (1..=3).contains(&group.len()) && are_digits(group) && group[0] != b'0';
    groups.next().is_some_and(is_first) && groups.all(|group| group.len() == 3 && are_digits(group))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_is_decimal_or_may_stand_between_thousands() {
        for (text, value) in [
            ("1,5", 1.5),
            ("-0,25", -0.25),
            ("1.234,5", 1_234.5),
            ("1234,567", 1_234.567),
            ("0,125", 0.125),
            ("2,5e-3", 0.0025),
        ] {
            assert_eq!(comma_number(text.as_bytes()), Some(CommaNumber::Decimal), "{text}");
            assert_eq!(comma_f64(text.as_bytes()), Some(value), "{text}");
        }
        assert_eq!(comma_number(b"1,234"), Some(CommaNumber::Either));
        for (text, value) in [("1.234", Some(1_234.0)), ("-12.345.678", Some(-12_345_678.0)), ("NaN", None)] {
            assert_eq!(comma_f64(text.as_bytes()).filter(|number| !number.is_nan()), value, "{text}");
        }
        for text in ["2.5", "0.125", "1234.567", "1,234.5", "1.23,4", "1,5,6", "1.5e3"] {
            assert_eq!(comma_f64(text.as_bytes()), None, "{text}");
        }
        for text in [
            "1,2,3",
            "1,",
            ",5",
            "1.23,4",
            "a,5",
            "1,5 ",
            "007,5",
            "12.34.56,7",
            "1,234.",
            "1,2e",
            "1,5e999",
            "0,123.4",
        ] {
            assert_eq!(comma_number(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn commas_stand_between_thousands_if_there_are_two_or_a_point() {
        for (text, meaning, plain) in [
            ("1,234,567", CommaNumber::Thousands, "1234567"),
            ("-12,345,678", CommaNumber::Thousands, "-12345678"),
            ("-123,345,678", CommaNumber::Thousands, "-123345678"),
            ("123,345,678", CommaNumber::ThousandsOrList, "123345678"),
            ("1,234.50", CommaNumber::ThousandsPoint, "1234.50"),
            ("+123,456.7", CommaNumber::ThousandsPoint, "+123456.7"),
        ] {
            assert_eq!(comma_number(text.as_bytes()), Some(meaning), "{text}");
            let read = plain_number(text.as_bytes(), NumberForm::CommaThousands);
            assert_eq!(read.as_deref(), Some(plain.as_bytes()), "{text}");
        }
        for text in ["1,5", "1234,567.8", "1,23,456", "1,234,5"] {
            assert_eq!(plain_number(text.as_bytes(), NumberForm::CommaThousands), None, "{text}");
        }
    }
}
