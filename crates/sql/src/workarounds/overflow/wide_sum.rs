//! Sums of integers and decimals in 128 bits: their values, the result that must fit, and averages of them.

use crate::text::decimals::DIGITS_MAX;
use atsdb_core::Error;
use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, Decimal128Array, Int64Array, PrimitiveArray,
};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Decimal128Type, Field, FieldRef, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use datafusion::common::{DataFusionError, Result, ScalarValue, internal_err};
use datafusion::logical_expr::AggregateUDF;
use datafusion::logical_expr::type_coercion::functions::fields_with_udf;
use std::sync::Arc;

/// The type of a partial sum, and of the sum of a `BIGINT`. No number of rows that can be read makes it overflow.
pub(crate) const STATE: DataType = DataType::Decimal128(DIGITS_MAX, 0);

/// Digits after the point of an exact average: the smallest number that PostgreSQL's averages have, unless they are
/// large.
pub(super) const AVERAGE_SCALE: i8 = 16;

/// The type of an exact average: the 19 digits of a `BIGINT` and those after the point.
pub(crate) const AVERAGE: DataType = DataType::Decimal128(DIGITS_MAX, AVERAGE_SCALE);

/// The average of `count` values with a sum, in units of [`AVERAGE`], rounded half away from zero.
pub(crate) fn average(sum: i128, count: u64) -> i128 {
    let (count, one) = (i128::from(count), 10_i128.pow(AVERAGE_SCALE.unsigned_abs().into()));
    let (whole, rest) = (sum / count, sum % count);
    let half = if rest < 0 { -(count / 2) } else { count / 2 };
    whole * one + (rest * one + half) / count
}

/// Converts a sum to 64 bits, or fails.
pub(crate) fn fitting(sum: i128) -> Result<i64> {
    i64::try_from(sum).map_err(|_| {
        let error = Error::invalid(format!("overflow: the sum is {sum}"));
        DataFusionError::External(Box::new(error.with_hint("sum a wider type: sum(CAST(x AS BIGINT))")))
    })
}

/// Whether numbers of a type are added up in 128 bits.
pub(super) fn is_exact(data_type: &DataType) -> bool {
    data_type.is_integer() || matches!(data_type, DataType::Decimal128(..))
}

/// The type of a partial sum of numbers of a type.
pub(super) fn state_of(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Decimal128(_, scale) => DataType::Decimal128(DIGITS_MAX, *scale),
        _ => STATE,
    }
}

/// The digits behind the point of numbers of a type.
pub(super) fn scale_of(data_type: &DataType) -> i8 {
    match data_type {
        DataType::Decimal128(_, scale) => *scale,
        _ => 0,
    }
}

/// The digits behind the point of an average of numbers with so many.
pub(super) fn average_scale(scale: i8) -> i8 {
    AVERAGE_SCALE.max(scale)
}

/// The type of an average of numbers with so many digits behind the point.
pub(super) fn average_type(scale: i8) -> DataType {
    DataType::Decimal128(DIGITS_MAX, average_scale(scale))
}

/// The average of `count` decimals with a sum, with the digits of [`average_scale`], rounded half away from zero.
pub(super) fn decimal_average(sum: i128, count: u64, scale: i8) -> Result<i128> {
    if scale == 0 && sum.unsigned_abs() <= u128::from(u64::MAX) * u128::from(count) {
        return Ok(average(sum, count));
    }
    let (count, one) = (i128::from(count), 10_i128.pow((average_scale(scale) - scale).unsigned_abs().into()));
    let (whole, rest) = (sum / count, sum % count);
    let half = if rest < 0 { -(count / 2) } else { count / 2 };
    let average = whole.checked_mul(one).and_then(|whole| whole.checked_add((rest * one + half) / count));
    average.filter(fits).ok_or_else(|| too_wide("average"))
}

/// Adds numbers to a sum, or fails.
pub(super) fn added(sum: i128, values: &ArrayRef) -> Result<i128> {
    let (mut sum, mut is_beyond) = (sum, false);
    each_of(values, |_, value| is_beyond |= add_to(&mut sum, value))?;
    if is_beyond { Err(too_wide("sum")) } else { Ok(sum) }
}

/// Takes numbers away from a sum that they have been added to.
pub(super) fn removed(sum: i128, values: &ArrayRef) -> Result<i128> {
    let mut sum = sum;
    each_of(values, |_, value| sum = sum.wrapping_sub(value))?;
    Ok(sum)
}

/// Adds a number to a sum. Returns whether the sum is out of range; sums of integers never are.
pub(super) fn add_to(sum: &mut i128, value: i128) -> bool {
    let (next, is_beyond) = sum.overflowing_add(value);
    *sum = next;
    is_beyond
}

fn fits(sum: &i128) -> bool {
    sum.unsigned_abs() < 10_u128.pow(DIGITS_MAX.into())
}

/// The error for a result that no decimal holds.
pub(super) fn too_wide(what: &str) -> DataFusionError {
    let error = Error::invalid(format!("overflow: the {what} has more than {DIGITS_MAX} digits"));
    DataFusionError::External(Box::new(error.with_hint("compute with DOUBLE: CAST(x AS DOUBLE)")))
}

/// A sum as a value of the result's type.
pub(super) fn value(sum: Option<i128>, result: &DataType) -> Result<ScalarValue> {
    match result {
        DataType::Int64 => Ok(ScalarValue::Int64(sum.map(fitting).transpose()?)),
        DataType::Decimal128(..) if sum.is_some_and(|sum| !fits(&sum)) => Err(too_wide("sum")),
        DataType::Decimal128(precision, scale) => Ok(ScalarValue::Decimal128(sum, *precision, *scale)),
        other => internal_err!("a sum of integers as {other}"),
    }
}

/// Sums as an array of the result's type. `seen` marks the sums that have a value.
pub(crate) fn sums_as(sums: Vec<i128>, seen: NullBuffer, result: &DataType) -> Result<ArrayRef> {
    match result {
        DataType::Int64 => {
            let fitted = sums.into_iter().map(fitting).collect::<Result<Vec<_>>>()?;
            Ok(Arc::new(Int64Array::new(fitted.into(), Some(seen))))
        }
        DataType::Decimal128(..) if !sums.iter().all(fits) => Err(too_wide("sum")),
        DataType::Decimal128(..) => {
            Ok(Arc::new(Decimal128Array::new(sums.into(), Some(seen)).with_data_type(result.clone())))
        }
        other => internal_err!("sums of integers as {other}"),
    }
}

/// Numbers as partial sums.
pub(super) fn states_of(array: &ArrayRef) -> Result<ArrayRef> {
    Ok(match array.data_type() {
        // A cast would check whether each value fits.
        DataType::Int64 => {
            let sums = array.as_primitive::<Int64Type>().unary::<_, Decimal128Type>(i128::from);
            Arc::new(sums.with_data_type(STATE))
        }
        DataType::Decimal128(..) => {
            Arc::new(array.as_primitive::<Decimal128Type>().clone().with_data_type(state_of(array.data_type())))
        }
        _ => cast(array, &STATE)?,
    })
}

/// The types to which a function of DataFusion's converts its arguments.
pub(super) fn coerced_by(function: &AggregateUDF, types: &[DataType]) -> Result<Vec<DataType>> {
    let fields: Vec<FieldRef> = types.iter().map(|of| Arc::new(Field::new("", of.clone(), true))).collect();
    Ok(fields_with_udf(&fields, function)?.iter().map(|field| field.data_type().clone()).collect())
}

/// Calls `each` with the row and the value in 128 bits, for integers, decimals or partial sums. Skips NULLs.
pub(super) fn each_of(array: &ArrayRef, mut each: impl FnMut(usize, i128)) -> Result<()> {
    fn visit<T: ArrowPrimitiveType<Native: Into<i128>>>(array: &PrimitiveArray<T>, mut each: impl FnMut(usize, i128)) {
        match array.nulls().filter(|nulls| nulls.null_count() > 0) {
            None => array.values().iter().enumerate().for_each(|(row, value)| each(row, (*value).into())),
            Some(nulls) => nulls.valid_indices().for_each(|row| each(row, array.value(row).into())),
        }
    }
    match array.data_type() {
        DataType::Int8 => visit(array.as_primitive::<Int8Type>(), &mut each),
        DataType::Int16 => visit(array.as_primitive::<Int16Type>(), &mut each),
        DataType::Int32 => visit(array.as_primitive::<Int32Type>(), &mut each),
        DataType::Int64 => visit(array.as_primitive::<Int64Type>(), &mut each),
        DataType::UInt8 => visit(array.as_primitive::<UInt8Type>(), &mut each),
        DataType::UInt16 => visit(array.as_primitive::<UInt16Type>(), &mut each),
        DataType::UInt32 => visit(array.as_primitive::<UInt32Type>(), &mut each),
        DataType::UInt64 => visit(array.as_primitive::<UInt64Type>(), &mut each),
        DataType::Decimal128(_, _) => visit(array.as_primitive::<Decimal128Type>(), &mut each),
        other => return internal_err!("a sum of integers over {other}"),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_are_rounded_in_the_last_place() {
        let one = 10_i128.pow(16);
        assert_eq!(average(3, 2), 3 * one / 2);
        assert_eq!(average(1, 3), one / 3);
        assert_eq!(average(2, 3), 2 * one / 3 + 1);
        assert_eq!(average(-2, 3), -(2 * one / 3 + 1));
        assert_eq!(average(i128::from(u64::MAX) * 1_000_000_000, 1_000_000_000), i128::from(u64::MAX) * one);
        assert_eq!(decimal_average(375, 2, 2).unwrap(), 18_750_000_000_000_000);
        assert_eq!(decimal_average(-5, 3, 18).unwrap(), -2);
        assert!(decimal_average(10_i128.pow(37), 1, 0).is_err());
    }

    #[test]
    fn a_sum_that_no_decimal_holds_is_an_error() {
        let most = 10_i128.pow(38) - 1;
        let values: ArrayRef = Arc::new(Decimal128Array::from(vec![Some(most), None, Some(most)]));
        assert!(added(0, &values).is_err());
        assert_eq!(added(-most, &values).unwrap(), most);
        assert!(value(Some(most + 1), &STATE).is_err() && value(Some(most), &STATE).is_ok());
        assert!(sums_as(vec![0, most + 1], NullBuffer::new_valid(2), &STATE).is_err());
    }
}
