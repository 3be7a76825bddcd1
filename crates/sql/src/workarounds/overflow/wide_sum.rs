//! Sums in 128 bits: the values that go in, and the result that must fit.

use atsdb_core::Error;
use datafusion::arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Int64Type, UInt64Type};
use datafusion::common::{DataFusionError, Result, ScalarValue, internal_err};

/// The type of a sum on its way.
pub(super) const STATE: DataType = DataType::Decimal128(38, 0);

/// A sum in the result's type.
pub(crate) fn fitting<T: TryFrom<i128>>(sum: i128) -> Result<T> {
    T::try_from(sum).map_err(|_| {
        let error = Error::invalid(format!("overflow: the sum is {sum}"));
        DataFusionError::External(Box::new(error.with_hint("sum a wider type: sum(CAST(x AS DECIMAL(38, 0)))")))
    })
}

/// A sum as a value of the result's type.
pub(super) fn value(sum: Option<i128>, result: &DataType) -> Result<ScalarValue> {
    match result {
        DataType::UInt64 => Ok(ScalarValue::UInt64(sum.map(fitting).transpose()?)),
        DataType::Int64 => Ok(ScalarValue::Int64(sum.map(fitting).transpose()?)),
        other => internal_err!("a sum of integers as {other}"),
    }
}

/// Does something with an array's values in 128 bits: integers, or sums on their way.
pub(super) fn each_of(array: &ArrayRef, mut each: impl FnMut(usize, i128)) -> Result<()> {
    fn visit<T: ArrowPrimitiveType<Native: Into<i128>>>(array: &PrimitiveArray<T>, mut each: impl FnMut(usize, i128)) {
        match array.nulls().filter(|nulls| nulls.null_count() > 0) {
            None => array.values().iter().enumerate().for_each(|(row, value)| each(row, (*value).into())),
            Some(nulls) => nulls.valid_indices().for_each(|row| each(row, array.value(row).into())),
        }
    }
    match array.data_type() {
        DataType::Int64 => visit(array.as_primitive::<Int64Type>(), &mut each),
        DataType::UInt64 => visit(array.as_primitive::<UInt64Type>(), &mut each),
        DataType::Decimal128(_, _) => visit(array.as_primitive::<Decimal128Type>(), &mut each),
        other => return internal_err!("a sum of integers over {other}"),
    }
    Ok(())
}
