//! `INTERVAL '...'` by PostgreSQL's rules. DataFusion reads a bare number in a cast as months, and does not know words
//! such as `ago`, nor `DAY TO SECOND`. It gives the sign before a literal to the first number in it.
//!
//! [#11454](https://github.com/apache/datafusion/pull/11454), about the bare number, was closed unmerged; for the
//! others no upstream issue is known.

use crate::text::errors::sql_error;
use atsdb_core::Result;
use atsdb_core::interval::{Unit, is_out_of_range, parse_interval};
use datafusion::sql::sqlparser::ast::{DateTimeField, Expr, Interval, UnaryOperator, Value, ValueWithSpan};

/// The most digits after the seconds, as in PostgreSQL.
const DIGITS_MAX: u32 = 6;

/// Puts the literal of `-INTERVAL '1 hour'` into parentheses. DataFusion would put the sign before its text, where it
/// belongs to the first number alone.
pub(crate) fn keep_sign(expr: &mut Expr) {
    if let Expr::UnaryOp { op: UnaryOperator::Minus, expr: operand } = expr
        && let Expr::Interval(interval) = operand.as_ref()
    {
        **operand = Expr::Nested(Box::new(Expr::Interval(interval.clone())));
    }
}

/// Writes the text of a literal in DataFusion's notation.
pub(crate) fn read_interval(expr: &mut Expr) -> Result<()> {
    let Expr::Interval(Interval { value, leading_field, leading_precision, last_field, fractional_seconds_precision }) =
        expr
    else {
        return Ok(());
    };
    let (Some(first), Some(last)) = (unit(leading_field.as_ref()), unit(last_field.as_ref())) else { return Ok(()) };
    let digits = match (first, last, *leading_precision, *fractional_seconds_precision) {
        (_, _, None, None) => None,
        // The parser takes the digits of `SECOND(2)` for the precision of the first field.
        (Some(Unit::Second), None, Some(digits), None) | (_, Some(Unit::Second), None, Some(digits)) => Some(digits),
        _ => return Ok(()),
    };
    let Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text) | Value::Number(text, _), .. }) =
        value.as_ref()
    else {
        return Ok(());
    };
    let Some(found) = parse_interval(text, first, last) else {
        if is_out_of_range(text, first, last) {
            return Err(sql_error(format!("interval field value out of range: \"{text:.60}\""))
                .with_hint("an interval has up to 2147483647 months, as many days, and 2562047 hours"));
        }
        return Err(
            sql_error(format!("'{text:.60}' is not an interval")).with_hint("write '5 minutes' or '1 day 12:30'")
        );
    };
    let nanoseconds = digits.map_or(found.nanoseconds, |digits| rounded(found.nanoseconds, digits));
    let (seconds, rest) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
    let text = format!("{} months {} days {seconds} seconds {rest} nanoseconds", found.months, found.days);
    **value = Expr::value(Value::SingleQuotedString(text));
    (*leading_field, *last_field) = (None, None);
    (*leading_precision, *fractional_seconds_precision) = (None, None);
    Ok(())
}

/// Nanoseconds with this many digits after the seconds. Those in the middle are rounded away from zero.
fn rounded(nanoseconds: i64, digits: u64) -> i64 {
    let step = 10_i64.pow(9 - u32::try_from(digits).unwrap_or(DIGITS_MAX).min(DIGITS_MAX));
    nanoseconds.saturating_add(nanoseconds.signum() * (step / 2)) / step * step
}

/// The unit that a field names. A missing field has none; the outer `None` is for fields that PostgreSQL does not
/// accept.
fn unit(field: Option<&DateTimeField>) -> Option<Option<Unit>> {
    Some(Some(match field {
        None => return Some(None),
        Some(DateTimeField::Year | DateTimeField::Years) => Unit::Year,
        Some(DateTimeField::Month | DateTimeField::Months) => Unit::Month,
        Some(DateTimeField::Day | DateTimeField::Days) => Unit::Day,
        Some(DateTimeField::Hour | DateTimeField::Hours) => Unit::Hour,
        Some(DateTimeField::Minute | DateTimeField::Minutes) => Unit::Minute,
        Some(DateTimeField::Second | DateTimeField::Seconds) => Unit::Second,
        Some(_) => return None,
    }))
}
