//! Sums of integers and decimals in 128 bits: their values, the result that must fit, and averages of them.

use crate::text::decimals::digits_before;
use atsdb_core::column_type::DECIMAL_DIGITS_MAX;
use atsdb_core::{Error, decimal};
use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, Decimal128Array, Int64Array, PrimitiveArray,
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

/// The type of a partial sum of integers, and of the sum of a `BIGINT`. No number of rows that can be read makes it
/// overflow.
pub const STATE: DataType = DataType::Decimal128(38, 0);

/// Digits after the point of an exact average: the smallest number that PostgreSQL's averages have, unless they are
/// large.
pub(super) const AVERAGE_SCALE: i8 = 16;

/// The type of an exact average: the 19 digits of a `BIGINT` and those after the point.
pub const AVERAGE: DataType = DataType::Decimal128(38, AVERAGE_SCALE);

/// The digits after the point of sums, and of the averages that are computed from them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scales {
    sum: i8,
    average: i8,
}

impl Scales {
    /// The digits for values of a type. `None` if its averages are not computed here. An average has at least 16 digits
    /// after the point if the digits before the point leave room for them.
    pub(super) fn of(data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::Int64 | DataType::UInt64 => Some(Self { sum: 0, average: AVERAGE_SCALE }),
            DataType::Decimal128(precision, scale) if *scale >= 0 => {
                let before_point = u8::try_from(digits_before(*precision, *scale)).ok()?;
                let room = i8::try_from(DECIMAL_DIGITS_MAX - before_point).ok()?;
                Some(Self { sum: *scale, average: room.min(AVERAGE_SCALE).max(*scale) })
            }
            _ => None,
        }
    }

    pub(super) fn sum_type(self) -> DataType {
        DataType::Decimal128(DECIMAL_DIGITS_MAX, self.sum)
    }

    pub(super) fn average_type(self) -> DataType {
        DataType::Decimal128(DECIMAL_DIGITS_MAX, self.average)
    }

    pub(super) fn average(self, sum: i128, count: u64) -> i128 {
        average_with(sum, count, self.average.abs_diff(self.sum))
    }
}

/// The average of `count` integers with a sum, in units of [`AVERAGE`], rounded half away from zero.
pub fn average(sum: i128, count: u64) -> i128 {
    average_with(sum, count, AVERAGE_SCALE.unsigned_abs())
}

/// The average, with this many more digits after the point than the sum has.
fn average_with(sum: i128, count: u64, digits: u8) -> i128 {
    let (count, one) = (i128::from(count), 10_i128.pow(digits.into()));
    let (whole, rest) = (sum / count, sum % count);
    let half = if rest < 0 { -(count / 2) } else { count / 2 };
    whole * one + (rest * one + half) / count
}

/// The type of partial sums of values, and of the partial sums of a result.
pub(super) fn state_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Decimal128(_, scale) => DataType::Decimal128(DECIMAL_DIGITS_MAX, *scale),
        _ => STATE,
    }
}

/// A sum that remembers whether it exceeded 128 bits, as only sums of decimals do.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct WideSum {
    sum: i128,
    overflows: bool,
}

impl WideSum {
    pub(super) fn add(&mut self, value: i128) {
        add(&mut self.sum, value, &mut self.overflows);
    }

    pub(super) fn subtract(&mut self, value: i128) {
        let (sum, overflows) = self.sum.overflowing_sub(value);
        (self.sum, self.overflows) = (sum, self.overflows | overflows);
    }

    pub(super) fn checked(self) -> Result<i128> {
        check(self.overflows)?;
        Ok(self.sum)
    }
}

/// Adds a value to a sum. Sets `overflows` if the sum exceeds 128 bits.
pub(super) fn add(sum: &mut i128, value: i128, overflows: &mut bool) {
    let (total, wrapped) = sum.overflowing_add(value);
    (*sum, *overflows) = (total, *overflows | wrapped);
}

/// Fails if a sum has exceeded 128 bits.
pub(super) fn check(overflows: bool) -> Result<()> {
    if overflows { Err(too_many_digits()) } else { Ok(()) }
}

fn too_many_digits() -> DataFusionError {
    let error = Error::invalid(format!("overflow: the sum has more than {DECIMAL_DIGITS_MAX} digits"));
    DataFusionError::External(Box::new(error.with_hint("compute with DOUBLE: sum(CAST(x AS DOUBLE))")))
}

/// A sum of decimals, if it has no more digits than its type.
fn fitting_decimal(sum: i128, precision: u8) -> Result<i128> {
    if decimal::fits(sum, precision) { Ok(sum) } else { Err(too_many_digits()) }
}

/// Converts a sum to 64 bits, or fails.
pub fn fitting(sum: i128) -> Result<i64> {
    i64::try_from(sum).map_err(|_| {
        let error = Error::invalid(format!("overflow: the sum is {sum}"));
        DataFusionError::External(Box::new(error.with_hint("sum a wider type: sum(CAST(x AS BIGINT))")))
    })
}

/// A sum as a value of the result's type.
pub(super) fn value(sum: Option<i128>, result: &DataType) -> Result<ScalarValue> {
    match result {
        DataType::Int64 => Ok(ScalarValue::Int64(sum.map(fitting).transpose()?)),
        DataType::Decimal128(precision, scale) => {
            let fitted = sum.map(|sum| fitting_decimal(sum, *precision)).transpose()?;
            Ok(ScalarValue::Decimal128(fitted, *precision, *scale))
        }
        other => internal_err!("a sum as {other}"),
    }
}

/// Sums as an array of the result's type. `seen` marks the sums that have a value.
pub fn sums_as(sums: Vec<i128>, seen: NullBuffer, result: &DataType) -> Result<ArrayRef> {
    match result {
        DataType::Int64 => {
            let fitted = sums.into_iter().map(fitting).collect::<Result<Vec<_>>>()?;
            Ok(Arc::new(Int64Array::new(fitted.into(), Some(seen))))
        }
        DataType::Decimal128(precision, _) => {
            sums.iter().try_for_each(|sum| fitting_decimal(*sum, *precision).map(drop))?;
            Ok(Arc::new(Decimal128Array::new(sums.into(), Some(seen)).with_data_type(result.clone())))
        }
        other => internal_err!("sums as {other}"),
    }
}

/// Values as partial sums.
pub(super) fn states_of(array: &ArrayRef) -> Result<ArrayRef> {
    Ok(match array.data_type() {
        // A cast would check whether each value fits.
        DataType::Int64 => {
            let sums = array.as_primitive::<Int64Type>().unary::<_, Decimal128Type>(i128::from);
            Arc::new(sums.with_data_type(STATE))
        }
        of @ DataType::Decimal128(..) => {
            Arc::new(array.as_primitive::<Decimal128Type>().clone().with_data_type(state_type(of)))
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
        other => return internal_err!("a sum over {other}"),
    }
    Ok(())
}

/// The same for the rows that a filter keeps, if there is one.
pub(super) fn each_kept(
    array: &ArrayRef,
    filter: Option<&BooleanArray>,
    mut each: impl FnMut(usize, i128),
) -> Result<()> {
    match filter {
        None => each_of(array, each),
        Some(filter) => each_of(array, |row, value| {
            if filter.is_valid(row) && filter.value(row) {
                each(row, value);
            }
        }),
    }
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
    }

    #[test]
    fn averages_of_decimals_have_room_for_their_digits() {
        for (precision, scale, expected) in
            [(8, 2, 16), (18, 18, 18), (30, 10, 16), (38, 9, 9), (38, 38, 38), (38, 0, 0)]
        {
            let scales = Scales::of(&DataType::Decimal128(precision, scale)).unwrap();
            assert_eq!(scales.average_type(), DataType::Decimal128(38, expected), "({precision}, {scale})");
            let most = 10_i128.pow(precision.into()) - 1;
            assert!(decimal::fits(scales.average(most, 1), 38));
        }
    }

    #[test]
    fn a_sum_that_wraps_around_is_an_error() {
        let mut sum = WideSum::default();
        sum.add(i128::MAX);
        assert_eq!(sum.checked().unwrap(), i128::MAX);
        sum.add(1);
        sum.subtract(1);
        assert!(sum.checked().is_err());
        assert!(value(Some(10_i128.pow(38)), &DataType::Decimal128(38, 2)).is_err());
    }
}
