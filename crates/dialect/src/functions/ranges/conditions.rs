//! `range @> column` with a constant range, as comparisons of the column with the bounds. They prune slices and chunks.

use super::element::Element;
use super::range::ValueRange;
use crate::functions::times::types::timestamp;
use atsdb_codec::time_unit_of;
use atsdb_core::decimal::fits;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Expr, Operator, binary_expr, lit};

/// The comparisons with the bounds that a range has. `None` if it has none or is empty, or if a bound is no value of
/// the column's type.
pub(super) fn as_comparisons(range: ValueRange, column: &Expr, data_type: &DataType) -> Option<Expr> {
    let (lower, upper) = range.bounds()?;
    let mut conditions = Vec::new();
    for (bound, inclusive, exclusive) in [(lower, Operator::GtEq, Operator::Gt), (upper, Operator::LtEq, Operator::Lt)]
    {
        if let Some(value) = bound.value {
            let operator = if bound.is_inclusive { inclusive } else { exclusive };
            conditions.push(binary_expr(column.clone(), operator, lit(value_of(value, data_type)?)));
        }
    }
    conditions.into_iter().reduce(Expr::and)
}

/// A bound as a value of a type; `None` if the type does not have it.
fn value_of(bound: Element, data_type: &DataType) -> Option<ScalarValue> {
    match data_type {
        DataType::Decimal128(precision, scale) => {
            let digits = bound.digits(u8::try_from(*scale).ok()?).filter(|digits| fits(*digits, *precision))?;
            Some(ScalarValue::Decimal128(Some(digits), *precision, *scale))
        }
        DataType::Date32 => Some(ScalarValue::Date32(Some(i32::try_from(bound.count()?).ok()?))),
        DataType::Timestamp(unit, zone) => {
            let unit = time_unit_of(*unit);
            let (in_unit, in_bound) = (unit.per_second(), 1_000_000);
            let count = bound.count()?.checked_mul(i128::from(in_unit))?;
            let count = (count % in_bound == 0).then_some(count / in_bound)?;
            Some(timestamp(unit, i64::try_from(count).ok()?, zone.clone()))
        }
        data_type if data_type.is_integer() => {
            let value = ScalarValue::Int64(Some(i64::try_from(bound.count()?).ok()?)).cast_to(data_type).ok()?;
            (!value.is_null()).then_some(value)
        }
        _ => None,
    }
}
