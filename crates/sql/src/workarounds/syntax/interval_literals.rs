//! `INTERVAL '...'` by PostgreSQL's rules. DataFusion reads a bare number in a cast as months, and does not know words
//! such as `ago`, nor `DAY TO SECOND`. It gives the sign before a literal to the first number in it.
//!
//! No upstream issue known.

use crate::text::errors::sql_error;
use atsdb_core::Result;
use atsdb_core::interval::{Unit, parse_interval};
use datafusion::sql::sqlparser::ast::{DateTimeField, Expr, Interval, UnaryOperator, Value, ValueWithSpan};

/// Puts the literal of `-INTERVAL '1 hour'` into parentheses. DataFusion would put the sign before its text, where it
/// belongs to the first number alone.
pub(super) fn keep_sign(expr: &mut Expr) {
    if let Expr::UnaryOp { op: UnaryOperator::Minus, expr: operand } = expr
        && let Expr::Interval(interval) = operand.as_ref()
    {
        **operand = Expr::Nested(Box::new(Expr::Interval(interval.clone())));
    }
}

/// Writes the text of a literal in DataFusion's notation.
pub(super) fn read_interval(expr: &mut Expr) -> Result<()> {
    let Expr::Interval(Interval { value, leading_field, last_field, leading_precision: None, .. }) = expr else {
        return Ok(());
    };
    let (Some(first), Some(last)) = (unit(leading_field.as_ref()), unit(last_field.as_ref())) else { return Ok(()) };
    let Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text) | Value::Number(text, _), .. }) =
        value.as_ref()
    else {
        return Ok(());
    };
    let Some(found) = parse_interval(text, first, last) else {
        return Err(
            sql_error(format!("'{text:.60}' is not an interval")).with_hint("write '5 minutes' or '1 day 12:30'")
        );
    };
    let (seconds, rest) = (found.nanoseconds / 1_000_000_000, found.nanoseconds % 1_000_000_000);
    let text = format!("{} months {} days {seconds} seconds {rest} nanoseconds", found.months, found.days);
    **value = Expr::value(Value::SingleQuotedString(text));
    (*leading_field, *last_field) = (None, None);
    Ok(())
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
