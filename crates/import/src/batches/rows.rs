//! The rows of a table as Arrow batches: their schema, the bounds of their times, and arrays that are made alike
//! everywhere.

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BooleanArray, DictionaryArray, Float64Array, Int64Array, StringArray,
    UInt32Array, UInt64Array, new_null_array,
};
use arrow::compute::{CastOptions, cast_with_options, take};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Field, Int64Type, Schema, SchemaRef, TimeUnit as ArrowUnit,
};
use arrow::error::ArrowError;
use atsdb_codec::plain_type;
use atsdb_core::{Column, ColumnType, TableDefinition, Value};
use std::sync::Arc;

/// The Arrow type that a column's arrays have. Texts of a mapped column are numbered once in each batch.
pub(crate) fn arrow_type(column_type: ColumnType, is_mapped: bool) -> DataType {
    let plain = plain_type(column_type);
    if is_mapped { DataType::Dictionary(Box::new(DataType::UInt32), Box::new(plain)) } else { plain }
}

/// The schema of the batches of a table.
pub(crate) fn schema(definition: &TableDefinition) -> SchemaRef {
    let fields = definition
        .columns
        .iter()
        .map(|column| Field::new(&column.name, arrow_type(column.column_type, column.map.is_some()), column.nullable));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// A schema with the types of these arrays instead of its own.
pub(crate) fn with_types_of(schema: &SchemaRef, arrays: &[ArrayRef]) -> SchemaRef {
    let is_same = |(field, array): (&Arc<Field>, &ArrayRef)| field.data_type() == array.data_type();
    if schema.fields().iter().zip(arrays).all(is_same) {
        return Arc::clone(schema);
    }
    let field =
        |(field, array): (&Arc<Field>, &ArrayRef)| field.as_ref().clone().with_data_type(array.data_type().clone());
    Arc::new(Schema::new(schema.fields().iter().zip(arrays).map(field).collect::<Vec<_>>()))
}

/// A column that no file has: its default in every row, or NULL. The default of a type with rules of its own is text,
/// which is read when it is appended.
pub(crate) fn default_array(column: &Column, row_count: usize) -> Result<ArrayRef, ArrowError> {
    let one: ArrayRef = match &column.default {
        None => return Ok(new_null_array(&arrow_type(column.column_type, column.map.is_some()), row_count)),
        Some(Value::Text(text)) if column.map.is_some() => return Ok(repeated_text(text, row_count)),
        Some(Value::Text(text)) => Arc::new(StringArray::from(vec![text.as_str()])),
        Some(Value::Int(value)) => Arc::new(Int64Array::from(vec![*value])),
        Some(Value::UInt(value)) => Arc::new(UInt64Array::from(vec![*value])),
        Some(Value::Float(value)) => Arc::new(Float64Array::from(vec![*value])),
        Some(Value::Bool(value)) => Arc::new(BooleanArray::from(vec![*value])),
        Some(Value::Bytes(value)) => Arc::new(BinaryArray::from(vec![value.as_slice()])),
    };
    let one = match plain_type(column.column_type) {
        _ if *one.data_type() == DataType::Utf8 => one,
        // Arrow casts 64-bit integers to dates only by way of 32 bits.
        DataType::Date32 => checked_cast(&checked_cast(&one, &DataType::Int32)?, &DataType::Date32)?,
        wanted => checked_cast(&one, &wanted)?,
    };
    take(&one, &UInt32Array::from(vec![0; row_count]), None)
}

/// The first and the last time of a column, as counts of the column's unit.
pub(crate) fn time_bounds(array: &ArrayRef) -> Option<(i64, i64)> {
    fn of<T: ArrowPrimitiveType>(array: &dyn Array, widen: impl Fn(T::Native) -> i64) -> Option<(i64, i64)> {
        let values = array.as_primitive::<T>().values();
        let mut values = values.iter().map(|value| widen(*value));
        let first = values.next()?;
        Some(values.fold((first, first), |(min, max), value| (min.min(value), max.max(value))))
    }
    use arrow::datatypes as ty;
    match array.data_type() {
        DataType::Timestamp(ArrowUnit::Second, _) => of::<ty::TimestampSecondType>(array, |value| value),
        DataType::Timestamp(ArrowUnit::Millisecond, _) => of::<ty::TimestampMillisecondType>(array, |value| value),
        DataType::Timestamp(ArrowUnit::Microsecond, _) => of::<ty::TimestampMicrosecondType>(array, |value| value),
        DataType::Timestamp(ArrowUnit::Nanosecond, _) => of::<ty::TimestampNanosecondType>(array, |value| value),
        DataType::Date32 => of::<Date32Type>(array, i64::from),
        DataType::Int64 => of::<Int64Type>(array, |value| value),
        _ => None,
    }
}

/// A mapped column with the same text in every row.
pub(crate) fn repeated_text(text: &str, row_count: usize) -> ArrayRef {
    let indices = UInt32Array::from(vec![0; row_count]);
    Arc::new(DictionaryArray::new(indices, Arc::new(StringArray::from(vec![text]))))
}

/// The values as another type. A value that the type cannot hold is an error.
pub(crate) fn checked_cast(array: &dyn Array, to: &DataType) -> Result<ArrayRef, ArrowError> {
    cast_with_options(array, to, &CastOptions { safe: false, ..CastOptions::default() })
}
