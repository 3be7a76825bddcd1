//! Arithmetic with numbers, times and lengths of time.

use super::casts::is_plain_number;
use super::context::{Context, Purpose};
use super::value::{DIGITS_MAX, Value};
use crate::pg::error::PgError;
use crate::pg::types::known;
use atsdb::decimal;
use atsdb::sql::integer_average;
use datafusion::sql::sqlparser::ast::BinaryOperator;

/// The digits after the point that [`integer_average`] computes.
const AVERAGE_DIGITS: u8 = 16;

/// The result of an operator of arithmetic; `None` for other operators.
pub(super) fn arithmetic(left: &Value, op: &BinaryOperator, right: &Value) -> Option<Result<Value, PgError>> {
    if let Some(found) = of_times(left, op, right) {
        return Some(Ok(found));
    }
    if let Some(found) = of_fractions(left, op, right) {
        return Some(found);
    }
    let compute: fn(i64, i64) -> Option<i64> = match op {
        BinaryOperator::Plus => i64::checked_add,
        BinaryOperator::Minus => i64::checked_sub,
        BinaryOperator::Multiply => i64::checked_mul,
        BinaryOperator::Divide => i64::checked_div,
        BinaryOperator::Modulo => i64::checked_rem,
        BinaryOperator::BitwiseAnd => |one, two| Some(one & two),
        BinaryOperator::BitwiseOr => |one, two| Some(one | two),
        _ => return None,
    };
    Some(match (left.int(), right.int()) {
        _ if left.is_null() || right.is_null() => Ok(Value::Null),
        (Some(_), Some(0)) if matches!(op, BinaryOperator::Divide | BinaryOperator::Modulo) => Err(division_by_zero()),
        (Some(one), Some(two)) => {
            compute(one, two).map(Value::Int).ok_or_else(|| PgError::error("22003", "bigint out of range"))
        }
        _ => Err(no_operator()),
    })
}

/// An integer of a type with its bits shifted. The count is taken modulo the number of bits that the type has when
/// PostgreSQL computes with it.
pub(super) fn shifted(type_id: u32, left: &Value, op: &BinaryOperator, right: &Value) -> Result<Value, PgError> {
    if left.is_null() || right.is_null() {
        return Ok(Value::Null);
    }
    let (Some(value), Some(count)) = (left.int(), right.int()) else { return Err(no_operator()) };
    // The processor's shifts use the lowest bits of the count, so its lowest byte is enough.
    let count = u32::from(count.to_le_bytes()[0]);
    let is_left = *op == BinaryOperator::PGBitwiseShiftLeft;
    let short = i32::try_from(value).ok().filter(|_| matches!(type_id, known::INT2 | known::INT4));
    Ok(Value::Int(match short {
        Some(value) => {
            let value = if is_left { value.wrapping_shl(count) } else { value.wrapping_shr(count) };
            i64::from(if type_id == known::INT2 { value << 16 >> 16 } else { value })
        }
        None if is_left => value.wrapping_shl(count),
        None => value.wrapping_shr(count),
    }))
}

fn no_operator() -> PgError {
    PgError::error("42883", "operator does not exist for these types")
}

/// The exact result of arithmetic with numbers that have all their digits, which the store computes; `None` for other
/// operands and operators.
pub(super) fn of_numerics(
    context: &Context<'_>,
    left: &Value,
    op: &BinaryOperator,
    right: &Value,
) -> Result<Option<Value>, PgError> {
    let sign = match op {
        BinaryOperator::Plus => '+',
        BinaryOperator::Minus => '-',
        BinaryOperator::Multiply => '*',
        BinaryOperator::Divide => '/',
        BinaryOperator::Modulo => '%',
        _ => return Ok(None),
    };
    match (left, right) {
        (Value::Numeric(_), Value::Numeric(_) | Value::Int(_) | Value::Text(_))
        | (Value::Int(_) | Value::Text(_), Value::Numeric(_)) => {
            let (mut left, right) = (digits(left)?, digits(right)?);
            // Two numbers without a point would be integers there, and divided as such.
            if !left.contains('.') && !right.contains('.') {
                left = format!("CAST('{left}' AS DECIMAL({}, 0))", left.trim_start_matches('-').len());
            }
            exact(context, &format!("({left}) {sign} ({right})")).map(Some)
        }
        _ => Ok(None),
    }
}

/// The exact sum of numbers.
pub(super) fn sum_of_numerics(context: &Context<'_>, values: &[Value]) -> Result<Value, PgError> {
    of_all(context, "sum(x)", values)
}

/// The exact average of numbers.
pub(super) fn average_of_numerics(context: &Context<'_>, values: &[Value]) -> Result<Value, PgError> {
    if let Some(average) = average_of_integers(values) {
        return Ok(average);
    }
    let (mut whole, mut places) = (1, 0);
    for value in values {
        let digits = digits(value)?;
        let (before, after) = digits.split_once('.').unwrap_or((digits.as_str(), ""));
        (whole, places) = (before.trim_start_matches('-').len().max(whole), after.len().max(places));
    }
    if whole + places > usize::from(DIGITS_MAX) {
        return Err(too_long());
    }
    // A type without spare digits leaves room for those of the average.
    of_all(context, &format!("avg(CAST(x AS DECIMAL({}, {places})))", whole + places), values)
}

/// The average of integers; `None` for other numbers, and for none.
fn average_of_integers(values: &[Value]) -> Option<Value> {
    let sum = values.iter().try_fold(0_i128, |sum, value| match value {
        Value::Int(value) => Some(sum + i128::from(*value)),
        _ => None,
    })?;
    let count = u64::try_from(values.len()).ok().filter(|count| *count > 0)?;
    Some(Value::Numeric(decimal::format(integer_average(sum, count), AVERAGE_DIGITS)))
}

/// An aggregate of numbers `x`, which the store computes.
fn of_all(context: &Context<'_>, aggregate: &str, values: &[Value]) -> Result<Value, PgError> {
    let items = values.iter().map(|value| digits(value).map(|digits| format!("({digits})")));
    let items = items.collect::<Result<Vec<String>, PgError>>()?;
    exact(context, &format!("{aggregate} FROM (VALUES {}) AS v(x)", items.join(", ")))
}

/// The sum of lengths of time, in microseconds; `None` if they are others.
pub(super) fn sum_of_intervals(values: &[Value]) -> Option<i64> {
    values.iter().try_fold(0_i64, |sum, value| match value {
        Value::Interval(microseconds) => Some(sum.saturating_add(*microseconds)),
        _ => None,
    })
}

/// The value of an expression of numbers, which is one with all its digits.
fn exact(context: &Context<'_>, expression: &str) -> Result<Value, PgError> {
    if context.purpose == Purpose::Columns {
        return Ok(Value::Null);
    }
    match context.functions.constant(expression)? {
        Value::Float(_) => Err(too_long()),
        Value::Int(number) => Ok(Value::Numeric(number.to_string())),
        value => Ok(value),
    }
}

/// The digits of a number, as a statement has them.
fn digits(value: &Value) -> Result<String, PgError> {
    value.shown().filter(|text| is_plain_number(text)).ok_or_else(too_long)
}

fn division_by_zero() -> PgError {
    PgError::error("22012", "division by zero")
}

fn too_long() -> PgError {
    PgError::not_supported("a number without all its digits in queries about the catalogue")
}

/// The result of arithmetic if an operand is a number with a fraction; `None` for other operands and operators.
fn of_fractions(left: &Value, op: &BinaryOperator, right: &Value) -> Option<Result<Value, PgError>> {
    if !matches!((left, right), (Value::Float(_), _) | (_, Value::Float(_))) {
        return None;
    }
    let (one, two) = (left.float()?, right.float()?);
    let value = match op {
        BinaryOperator::Plus => one + two,
        BinaryOperator::Minus => one - two,
        BinaryOperator::Multiply => one * two,
        BinaryOperator::Divide | BinaryOperator::Modulo if two == 0.0 => {
            return Some(Err(division_by_zero()));
        }
        BinaryOperator::Divide => one / two,
        BinaryOperator::Modulo => one % two,
        _ => return None,
    };
    Some(Ok(Value::Float(value)))
}

/// The sum or the difference of times and lengths of time; `None` for other operands.
fn of_times(left: &Value, op: &BinaryOperator, right: &Value) -> Option<Value> {
    Some(match (left, op, right) {
        (Value::Time(one), BinaryOperator::Minus, Value::Time(two)) => Value::Interval(one.saturating_sub(*two)),
        (Value::Time(time), BinaryOperator::Minus, Value::Interval(length)) => {
            Value::Time(time.saturating_sub(*length))
        }
        (Value::Time(time), BinaryOperator::Plus, Value::Interval(length)) => Value::Time(time.saturating_add(*length)),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_an_exact_average_without_the_store() {
        for (values, expected) in [
            (vec![3, 5], "4.0000000000000000"),
            (vec![1, 1, 0], "0.6666666666666667"),
            (vec![-1, -1, 0], "-0.6666666666666667"),
            (vec![-1, 1], "0.0000000000000000"),
            (vec![i64::MAX, i64::MAX], "9223372036854775807.0000000000000000"),
            (vec![i64::MIN, i64::MIN, i64::MIN], "-9223372036854775808.0000000000000000"),
        ] {
            let values: Vec<Value> = values.into_iter().map(Value::Int).collect();
            assert_eq!(average_of_integers(&values), Some(Value::Numeric(expected.to_owned())), "{values:?}");
        }
        assert_eq!(average_of_integers(&[Value::Int(1), Value::Numeric("0.5".to_owned())]), None);
        assert_eq!(average_of_integers(&[]), None);
    }

    #[test]
    fn bits_are_shifted_by_a_count_modulo_their_number() {
        let (left, right) = (&BinaryOperator::PGBitwiseShiftLeft, &BinaryOperator::PGBitwiseShiftRight);
        for (type_id, value, op, count, expected) in [
            (known::INT4, 1, left, 4, 16),
            (known::INT4, 1, left, 31, -2_147_483_648),
            (known::INT4, 1, left, 33, 2),
            (known::INT4, 1, left, 64, 1),
            (known::INT4, 1, left, -1, -2_147_483_648),
            (known::INT4, -8, right, 1, -4),
            (known::INT4, 8, right, 34, 2),
            (known::INT8, 1, left, 33, 8_589_934_592),
            (known::INT8, 1, left, 64, 1),
            (known::INT8, 1, left, 65, 2),
            (known::INT8, -8, right, 65, -4),
            (known::INT2, 1, left, 15, -32_768),
            (known::INT2, 1, left, 17, 0),
        ] {
            let found = shifted(type_id, &Value::Int(value), op, &Value::Int(count)).unwrap();
            assert_eq!(found, Value::Int(expected), "type {type_id}: {value} {op} {count}");
        }
        assert_eq!(shifted(known::INT4, &Value::Null, left, &Value::Int(1)).unwrap(), Value::Null);
        let error = shifted(known::INT4, &Value::text("x"), left, &Value::Int(1)).unwrap_err();
        assert_eq!(error.code, "42883");
    }

    #[test]
    fn a_division_by_zero_has_its_code() {
        for zero in [Value::Int(0), Value::Float(0.0)] {
            let found = arithmetic(&Value::Int(1), &BinaryOperator::Divide, &zero).unwrap();
            assert_eq!(found.unwrap_err().code, "22012");
        }
    }
}
