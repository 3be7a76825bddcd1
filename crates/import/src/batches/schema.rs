//! The schema of the rows of a table, and the bounds of their times.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Field, Int64Type, Schema, SchemaRef, TimeUnit as ArrowUnit,
};
use atsdb_codec::plain_type;
use atsdb_core::{ColumnType, TableDefinition};
use std::sync::Arc;

/// The Arrow type that a column's arrays have. Texts of a mapped column are numbered once in each batch.
pub(crate) fn arrow_type(column_type: ColumnType, is_mapped: bool) -> DataType {
    match is_mapped {
        true => DataType::Dictionary(Box::new(DataType::UInt32), Box::new(plain_type(column_type))),
        false => plain_type(column_type),
    }
}

/// The schema of the batches of a table.
pub(crate) fn schema(definition: &TableDefinition) -> SchemaRef {
    let fields = definition
        .columns
        .iter()
        .map(|column| Field::new(&column.name, arrow_type(column.column_type, column.map.is_some()), column.nullable));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// The first and last of a time column, in its own steps.
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
