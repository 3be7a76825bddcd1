//! Numbers of JSON in SQL/JSON paths: exact decimals, as PostgreSQL's `numeric` computes them. A number has at most 76
//! digits in arithmetic, and any number of them otherwise.

use super::jsonb::{Json, NumberParts};
use super::path_tree::ArithmeticOperator;
use atsdb_core::{Error, Result};
use datafusion::arrow::datatypes::i256;
use std::cmp::Ordering;

/// The maximum number of digits in arithmetic, without zeros before them.
const DIGITS_MAX: usize = 76;

/// The maximum number of digits after the point in arithmetic, which is that of `numeric`.
const SCALE_MAX: u32 = 16_383;

/// The minimum number of significant digits of a quotient.
const QUOTIENT_DIGITS_MIN: i64 = 16;

/// The maximum number of digits of a quotient after the point.
const QUOTIENT_SCALE_MAX: i64 = 1_000;

/// The number of decimal digits in a digit of PostgreSQL's representation of numbers.
const GROUP_DIGITS: i64 = 4;

/// A number in units of its last digit after the point.
#[derive(Debug, Clone, Copy)]
pub(super) struct PathNumber {
    units: i256,
    /// The number of digits after the point.
    scale: u32,
}

impl PathNumber {
    /// The number of a text that is JSON.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let scale = u32::try_from(fraction.len()).ok().filter(|scale| *scale <= SCALE_MAX).ok_or_else(overflow)?;
        let digits = format!("{whole}{fraction}");
        // `i256` reads digits by recursion, so that millions of them would be too many for the stack.
        if digits.trim_start_matches(['-', '0']).len() > DIGITS_MAX {
            return Err(overflow());
        }
        Ok(Self { units: i256::from_string(&digits).ok_or_else(overflow)?, scale })
    }

    pub(super) fn to_json(self) -> Json {
        let is_negative = self.units.is_negative();
        let digits = self.units.to_string();
        let scale = self.scale as usize;
        let digits = format!("{:0>width$}", digits.trim_start_matches('-'), width = scale + 1);
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        let (sign, point) = (if is_negative { "-" } else { "" }, if scale > 0 { "." } else { "" });
        Json::Scalar(format!("{sign}{whole}{point}{fraction}"))
    }

    pub(super) fn computed(self, operator: ArithmeticOperator, other: Self) -> Result<Self> {
        let is_division = matches!(operator, ArithmeticOperator::Divide | ArithmeticOperator::Remainder);
        if is_division && other.units == i256::ZERO {
            return Err(Error::invalid("division by zero"));
        }
        let scale = self.scale.max(other.scale);
        let aligned = || Some((self.units_at(scale)?, other.units_at(scale)?));
        let computed = match operator {
            ArithmeticOperator::Add => aligned().and_then(|(left, right)| left.checked_add(right)),
            ArithmeticOperator::Subtract => aligned().and_then(|(left, right)| left.checked_sub(right)),
            ArithmeticOperator::Remainder => aligned().and_then(|(left, right)| left.checked_rem(right)),
            ArithmeticOperator::Multiply => {
                let scale = self.scale + other.scale;
                let units = self.units.checked_mul(other.units).filter(|_| scale <= SCALE_MAX);
                return Ok(Self { units: units.ok_or_else(overflow)?, scale });
            }
            ArithmeticOperator::Divide => return self.quotient(other),
        };
        Ok(Self { units: computed.ok_or_else(overflow)?, scale })
    }

    /// The number in units of a digit that is not before its last one.
    fn units_at(self, scale: u32) -> Option<i256> {
        self.units.checked_mul(power_of_ten(scale.checked_sub(self.scale)?)?)
    }

    /// The quotient, rounded half away from zero. The divisor is not zero.
    fn quotient(self, divisor: Self) -> Result<Self> {
        let scale = self.quotient_scale(divisor);
        let dividend = self.units_at(scale + divisor.scale).ok_or_else(overflow)?;
        let divide = || Some((dividend.checked_div(divisor.units)?, dividend.checked_rem(divisor.units)?));
        let (quotient, rest) = divide().ok_or_else(overflow)?;
        let magnitude = |number: i256| number.checked_abs().ok_or_else(overflow);
        let (rest_units, divisor_units) = (magnitude(rest)?, magnitude(divisor.units)?);
        let is_rounded = rest_units >= divisor_units - rest_units;
        let one = if dividend.is_negative() == divisor.units.is_negative() { i256::ONE } else { i256::MINUS_ONE };
        let units = if is_rounded { quotient.checked_add(one).ok_or_else(overflow)? } else { quotient };
        Ok(Self { units, scale })
    }

    /// The number of digits after the point of a quotient: enough that it has 16 significant ones, and at least as many
    /// as both operands have.
    fn quotient_scale(self, divisor: Self) -> u32 {
        let ((position, first), (divisor_position, divisor_first)) = (self.first_group(), divisor.first_group());
        let groups = position - divisor_position - i64::from(first <= divisor_first);
        let least = i64::from(self.scale.max(divisor.scale));
        let scale = (QUOTIENT_DIGITS_MIN - groups * GROUP_DIGITS).max(least).min(QUOTIENT_SCALE_MAX);
        u32::try_from(scale).unwrap_or(0)
    }

    /// The position of the first group of four digits that is not zero, 0 for that before the point, and its number.
    fn first_group(self) -> (i64, u32) {
        if self.units == i256::ZERO {
            return (0, 0);
        }
        let digits = self.units.to_string();
        let digits = digits.trim_start_matches('-');
        let exponent = i64::try_from(digits.len()).unwrap_or(i64::MAX) - 1 - i64::from(self.scale);
        let length = usize::try_from(exponent.rem_euclid(GROUP_DIGITS)).unwrap_or(0) + 1;
        let group = format!("{digits:0<length$}");
        (exponent.div_euclid(GROUP_DIGITS), group[..length].parse().unwrap_or(0))
    }

    /// The nearest whole number that is not greater, or not less.
    pub(super) fn rounded(self, is_up: bool) -> Result<Self> {
        let unit = power_of_ten(self.scale).ok_or_else(overflow)?;
        let divide = || Some((self.units.checked_div(unit)?, self.units.checked_rem(unit)?));
        let (quotient, rest) = divide().ok_or_else(overflow)?;
        let step = match (is_up, rest == i256::ZERO, rest.is_negative()) {
            (true, false, false) => i256::ONE,
            (false, false, true) => i256::MINUS_ONE,
            _ => i256::ZERO,
        };
        Ok(Self { units: quotient.checked_add(step).ok_or_else(overflow)?, scale: 0 })
    }
}

fn overflow() -> Error {
    Error::invalid("value overflows numeric format").with_hint("numbers in jsonpath arithmetic have at most 76 digits")
}

fn power_of_ten(exponent: u32) -> Option<i256> {
    i256::from_i128(10).checked_pow(exponent)
}

/// The number with the other sign. Zero has none.
pub(super) fn negated(number: &str) -> String {
    match number.strip_prefix('-') {
        Some(positive) => positive.to_owned(),
        None if number.bytes().all(|digit| matches!(digit, b'0' | b'.')) => number.to_owned(),
        None => format!("-{number}"),
    }
}

/// The position in an array that a number means: its whole part. `None` if that is not an integer of 32 bits.
pub(super) fn position_of(number: &str) -> Option<i64> {
    let (whole, _) = number.split_once('.').unwrap_or((number, ""));
    whole.parse::<i32>().ok().map(i64::from)
}

/// The double that a text is; `None` if it is not one, or out of their range.
pub(super) fn double_of(text: &str) -> Option<f64> {
    let text = text.trim_matches(|letter: char| letter.is_ascii_whitespace());
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite())?;
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let is_too_small = number == 0.0 && mantissa.bytes().any(|digit| (b'1'..=b'9').contains(&digit));
    if is_too_small { None } else { Some(number) }
}

/// A double as the number of its first 15 digits.
pub(super) fn json_of_double(number: f64) -> Json {
    let text = format!("{number:.14e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
    Json::of(&format!("{mantissa}e{exponent}"))
}

/// Compares numbers as `jsonb` writes them: without zeros before them, and without exponents unless these are large.
pub(super) fn number_ordering(left: &str, right: &str) -> Ordering {
    match (left.strip_prefix('-'), right.strip_prefix('-')) {
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (None, None) => magnitude_ordering(left, right),
        (Some(left), Some(right)) => magnitude_ordering(right, left),
    }
}

fn magnitude_ordering(left: &str, right: &str) -> Ordering {
    if left.contains(['e', 'E']) || right.contains(['e', 'E']) {
        let size = |number| NumberParts::of(number).map(|parts| (parts.power, parts.digits));
        return size(left).cmp(&size(right));
    }
    let (left, left_fraction) = left.split_once('.').unwrap_or((left, ""));
    let (right, right_fraction) = right.split_once('.').unwrap_or((right, ""));
    let fractions = || left_fraction.trim_end_matches('0').cmp(right_fraction.trim_end_matches('0'));
    left.len().cmp(&right.len()).then_with(|| left.cmp(right)).then_with(fractions)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn computed(left: &str, operator: ArithmeticOperator, right: &str) -> Result<Json> {
        Ok(PathNumber::parse(left)?.computed(operator, PathNumber::parse(right)?)?.to_json())
    }

    /// The results are those of PostgreSQL's `numeric`.
    #[test]
    fn numbers_are_exact_decimals() {
        use ArithmeticOperator as A;
        for (left, operator, right, wanted) in [
            ("1", A::Add, "0.10", "1.10"),
            ("1", A::Subtract, "1.5", "-0.5"),
            ("1.5", A::Multiply, "-2.50", "-3.750"),
            ("8.5", A::Divide, "2", "4.2500000000000000"),
            ("1", A::Divide, "3", "0.33333333333333333333"),
            ("-2", A::Divide, "3", "-0.66666666666666666667"),
            ("0", A::Divide, "7", "0.00000000000000000000"),
            ("4", A::Divide, "2", "2.0000000000000000"),
            ("32", A::Remainder, "10", "2"),
            ("-7", A::Remainder, "3.0", "-1.0"),
            ("12345678901234567890", A::Multiply, "98765432109876543210", "1219326311370217952237463801111263526900"),
        ] {
            assert_eq!(computed(left, operator, right).unwrap(), Json::Scalar(wanted.to_owned()), "{left} {right}");
        }
        assert_eq!(computed("1", A::Divide, "0.0").unwrap_err().message(), "division by zero");
        let long = "9".repeat(60);
        assert!(computed(&long, A::Multiply, &long).is_err());
        assert!(PathNumber::parse(&"9".repeat(100)).is_err() && PathNumber::parse(&"9".repeat(5_000_000)).is_err());
        let small = format!("0.{}", "0".repeat(10_000));
        assert!(computed("2", A::Multiply, &small).is_ok() && computed(&small, A::Multiply, &small).is_err());
        let rounded = |text: &str, is_up| PathNumber::parse(text).unwrap().rounded(is_up).unwrap().to_json();
        for (text, down, up) in [("1.3", "1", "2"), ("-1.3", "-2", "-1"), ("-0.5", "-1", "0"), ("3.00", "3", "3")] {
            let wanted = [down, up].map(|text| Json::Scalar(text.to_owned()));
            assert_eq!([rounded(text, false), rounded(text, true)], wanted, "{text}");
        }
    }

    #[test]
    fn texts_become_doubles() {
        let json = |text| double_of(text).map(json_of_double);
        for (text, wanted) in [("1.23", "1.23"), (" 1e3 ", "1000"), ("-.5", "-0.5"), ("0.1e1", "1"), ("0", "0")] {
            assert_eq!(json(text), Some(Json::Scalar(wanted.to_owned())), "{text}");
        }
        for text in ["", "1.23aaa", "inf", "-Infinity", "NaN", "1e1000", "1e-1000"] {
            assert_eq!(json(text), None, "{text}");
        }
    }
}
