//! A number with a unit, as [`size`](crate::size) and [`duration`](crate::duration) read it: `1.5 GiB`, `30s`.
//!
//! Numbers are decimal and exact: they are never converted to floating point, so that every size and duration can be
//! read back exactly. It is written by hand, so that sizes and durations share one grammar.

/// Splits a text into its number and its unit. White space around both is dropped; either may be empty.
pub(crate) fn split_number_and_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let is_unit = |character: char| !character.is_ascii_digit() && character != '.';
    let (number, unit) = text.split_at(text.find(is_unit).unwrap_or(text.len()));
    (number, unit.trim_start())
}

/// A decimal number such as `2` or `1.5`, multiplied by a factor and rounded down. Returns `None` if the text is not
/// such a number, or if the product does not fit.
pub(crate) fn multiply_decimal(number: &str, factor: u128) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut digits = whole.bytes().chain(fraction.bytes());
    let value = digits.try_fold(0_u128, |value, byte| {
        let digit = byte.is_ascii_digit().then(|| u128::from(byte - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })?;
    let divisor = 10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    Some(value.checked_mul(factor)? / divisor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_multiplied_exactly() {
        assert_eq!(multiply_decimal("18446744073709551615", 1), Some(u128::from(u64::MAX)));
        assert_eq!((multiply_decimal("1.5", 1_000), multiply_decimal(".25", 2)), (Some(1_500), Some(0)));
        for bad in ["", ".", "1..2", "1.2.3", "-1", "1e9", "9999999999999999999999999999999999999999"] {
            assert_eq!(multiply_decimal(bad, 1), None, "{bad}");
        }
    }

    #[test]
    fn a_text_is_split_where_the_number_ends() {
        assert_eq!(split_number_and_unit(" 1.5  GiB "), ("1.5", "GiB"));
        assert_eq!((split_number_and_unit("90d"), split_number_and_unit("-1 s")), (("90", "d"), ("", "-1 s")));
    }
}
