//! `pg_column_size(x)`: the bytes of a value that is not compressed. A stored value has no size of its own, because a
//! page compresses all values of a column together.

use super::type_names::name_of;
use crate::text::datafusion_errors::external;
use crate::text::errors::not_supported;
use atsdb_codec::{declared_type, enumeration_of};
use atsdb_core::ColumnType;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int32Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, IntervalUnit};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use std::sync::Arc;

/// The bytes that say how long a text, bytes or an array is.
const LENGTH_BYTES: usize = 4;

/// The size of a label of an enumerated type.
const LABEL_BYTES: usize = 4;

const UUID_BYTES: usize = 16;

pub(super) fn function() -> ScalarUDF {
    ScalarUDF::new_from_impl(ColumnSize { signature: Signature::any(1, Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ColumnSize {
    signature: Signature,
}

impl ScalarUDFImpl for ColumnSize {
    fn name(&self) -> &'static str {
        "pg_column_size"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int32)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let ([values], [field]) = (args.args.as_slice(), args.arg_fields.as_slice()) else {
            return internal_err!("{} of {} values", self.name(), args.args.len());
        };
        let values = values.to_array(args.number_rows)?;
        let sizes = match fixed_size(field) {
            Some(size) => vec![size; values.len()],
            None => sizes_of(&values)?,
        };
        let size = |(row, size): (usize, usize)| {
            let is_null = values.is_null(row) || *values.data_type() == DataType::Null;
            if is_null { None } else { Some(i32::try_from(size).unwrap_or(i32::MAX)) }
        };
        let sizes: Int32Array = sizes.into_iter().enumerate().map(size).collect();
        Ok(ColumnarValue::Array(Arc::new(sizes)))
    }
}

/// The size of the values of a type that a field declares; `None` for other types.
fn fixed_size(field: &Field) -> Option<usize> {
    if enumeration_of(field).is_some() {
        return Some(LABEL_BYTES);
    }
    (declared_type(field) == Some(ColumnType::Uuid)).then_some(UUID_BYTES)
}

/// The sizes of values. Those of NULL mean nothing.
fn sizes_of(values: &ArrayRef) -> Result<Vec<usize>> {
    use DataType as T;
    let all = |size: usize| Ok(vec![size; values.len()]);
    match values.data_type() {
        T::Null | T::Boolean | T::Int8 | T::UInt8 => all(1),
        T::Int16 | T::UInt16 | T::Float16 => all(2),
        T::Int32 | T::UInt32 | T::Float32 | T::Date32 | T::Interval(IntervalUnit::YearMonth) => all(4),
        T::Int64
        | T::UInt64
        | T::Float64
        | T::Date64
        | T::Time32(_)
        | T::Time64(_)
        | T::Timestamp(..)
        | T::Duration(_)
        | T::Interval(IntervalUnit::DayTime) => all(8),
        T::Interval(IntervalUnit::MonthDayNano) | T::Decimal32(..) | T::Decimal64(..) | T::Decimal128(..) => all(16),
        T::Decimal256(..) => all(32),
        T::FixedSizeBinary(size) => all(usize::try_from(*size).unwrap_or(0)),
        T::Dictionary(_, of) => sizes_of(&cast(values, of)?),
        T::Utf8 | T::LargeUtf8 | T::Utf8View => {
            let texts = cast(values, &T::Utf8View)?;
            let texts = texts.as_string_view();
            Ok(texts.iter().map(|text| LENGTH_BYTES + text.map_or(0, str::len)).collect())
        }
        T::Binary | T::LargeBinary | T::BinaryView => {
            let bytes = cast(values, &T::BinaryView)?;
            let bytes = bytes.as_binary_view();
            Ok(bytes.iter().map(|bytes| LENGTH_BYTES + bytes.map_or(0, <[u8]>::len)).collect())
        }
        T::List(_) => {
            let of_array = |elements: Option<ArrayRef>| -> Result<usize> {
                let elements = elements.map_or(Ok(0), |elements| sum_of(&elements))?;
                Ok(LENGTH_BYTES + elements)
            };
            values.as_list::<i32>().iter().map(of_array).collect()
        }
        other => Err(external(
            not_supported(format_args!("pg_column_size of a value of the type {}", name_of(other)))
                .with_hint("take the sizes of its parts"),
        )),
    }
}

/// The size of all elements of an array together.
fn sum_of(elements: &ArrayRef) -> Result<usize> {
    let sizes = sizes_of(elements)?.into_iter().enumerate();
    // An array of the type Null has no bitmap of its NULLs.
    let nulls = elements.logical_nulls();
    let is_null = |row| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
    Ok(sizes.filter(|(row, _)| !is_null(*row)).map(|(_, size)| size).sum())
}
