//! The digits after the point of a quotient of two known numbers.

use atsdb_core::column_type::DECIMAL_DIGITS_MAX;

/// PostgreSQL computes with digits of base 10,000, and gives a quotient at least 16 decimal digits from its first such
/// digit on.
const BASE_DIGITS: i32 = 4;
const SIGNIFICANT_DIGITS: i32 = 16;

/// Returns the number of digits after the point that PostgreSQL gives the quotient, as far as a decimal has room for
/// them.
pub(super) fn quotient_scale(dividend: (i128, i8), divisor: (i128, i8)) -> i8 {
    let ((weight, first), (by_weight, by_first)) = (leading(dividend), leading(divisor));
    let weight = weight - by_weight - i32::from(first <= by_first);
    let scale = (SIGNIFICANT_DIGITS - weight * BASE_DIGITS).max(dividend.1.max(divisor.1).into());
    let digits_before_point = (weight + 1).max(0) * BASE_DIGITS;
    scale.clamp(0, (i32::from(DECIMAL_DIGITS_MAX) - digits_before_point).max(0)) as i8
}

/// The power of 10,000 that the first digit of base 10,000 counts, and this digit.
fn leading((value, scale): (i128, i8)) -> (i32, u128) {
    let size = value.unsigned_abs();
    let Some(digits) = size.checked_ilog10() else { return (0, 0) };
    let weight = (digits.cast_signed() - i32::from(scale)).div_euclid(BASE_DIGITS);
    // The first digit counts 10^(4 * weight), and the last decimal digit of the number 10^-scale.
    let behind = weight * BASE_DIGITS + i32::from(scale);
    let power = 10_u128.pow(behind.unsigned_abs());
    (weight, if behind >= 0 { size / power } else { size * power })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_have_the_digits_of_postgresql() {
        for (dividend, divisor, expected) in [
            ((7, 0), (20, 1), 16),
            ((1, 0), (30, 1), 20),
            ((2, 0), (10, 1), 16),
            ((10_000, 0), (30, 1), 16),
            ((20_000, 0), (10, 1), 12),
            ((100, 0), (7, 2), 16),
            ((1, 4), (20, 1), 24),
            ((15, 1), (4, 0), 20),
            ((0, 1), (3, 0), 20),
            ((10_i128.pow(30), 0), (1, 1), 1),
            ((10_i128.pow(37), 0), (1, 20), 0),
        ] {
            assert_eq!(quotient_scale(dividend, divisor), expected, "{dividend:?} / {divisor:?}");
        }
    }
}
