//! The values of a chunk in a column that is newer than the chunk and so has no page in it; and single values in a
//! column's stored form.

use crate::chunk::fitting::fitting;
use crate::chunk::lossless::RowNumbers;
use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Float32Array, Float64Array, Int64Array, StringArray, UInt32Array,
    UInt64Array, new_null_array,
};
use arrow::compute::{cast, take};
use arrow::datatypes::DataType;
use atsdb_codec::{Effort, encode_page, stored_type, to_stored};
use atsdb_core::value::nearest_real;
use atsdb_core::{
    ChunkDescriptor, ChunkUid, Column, ColumnStatistics, ColumnType, Error, Result, TableDefinition, Value,
};
use std::sync::Arc;

/// The values of a chunk that is older than the column, in stored form.
pub(crate) fn missing_array(definition: &TableDefinition, column: &Column, row_count: usize) -> Result<ArrayRef> {
    let Some(value) = &column.missing else { return Ok(new_null_array(&stored_type(column), row_count)) };
    let one = missing_scalar(column, value).ok_or_else(|| {
        let location = format!("table {}, column {}", definition.name, column.name);
        Error::internal(format!("{location}: {value:?}, the value of older rows, does not fit the column"))
    })?;
    Ok(take(&one, &UInt32Array::from(vec![0; row_count]), None)?)
}

/// The statistics of a column in a chunk, which may be older than the column.
pub(crate) fn column_statistics(descriptor: &ChunkDescriptor, column: &Column) -> ColumnStatistics {
    if let Some(page) = descriptor.page(column.id) {
        return page.statistics.clone();
    }
    let Some(value) = &column.missing else {
        return ColumnStatistics { null_count: descriptor.row_count, ..ColumnStatistics::default() };
    };
    // They are those of a page with one such row, and unknown if there cannot be such a page.
    let page =
        missing_scalar(column, value).and_then(|one| encode_page(ChunkUid([0; 16]), column, &one, Effort::Fresh).ok());
    // The sum is that of one row.
    page.map(|page| ColumnStatistics { sum: None, ..page.descriptor.statistics }).unwrap_or_default()
}

/// The value that older rows have, as an array of length 1 of the column's stored type. `None` if it does not fit.
pub(crate) fn missing_scalar(column: &Column, value: &Value) -> Option<ArrayRef> {
    match value {
        // An INSERT of this number would round it, too.
        Value::Float(value) if stored_type(column) == DataType::Float32 => {
            Some(Arc::new(Float32Array::from(vec![nearest_real(*value)])))
        }
        // The value of a decimal, of a time of day, of an interval or of an array is its text.
        Value::Text(text)
            if matches!(
                column.column_type,
                ColumnType::Decimal { .. } | ColumnType::Time | ColumnType::Interval | ColumnType::Array(_)
            ) =>
        {
            let text: ArrayRef = Arc::new(StringArray::from(vec![text.as_str()]));
            to_stored(column, &fitting(column, &text, RowNumbers::Unknown).ok()??).ok()
        }
        value => scalar_of(column, value),
    }
}

/// A value as an array of length 1 of the column's stored type. `None` if it does not fit exactly.
pub(crate) fn scalar_of(column: &Column, value: &Value) -> Option<ArrayRef> {
    let array: ArrayRef = match value {
        Value::Int(value) => Arc::new(Int64Array::from(vec![*value])),
        Value::UInt(value) => Arc::new(UInt64Array::from(vec![*value])),
        Value::Float(value) if stored_type(column) == DataType::Float32 => {
            let narrow = nearest_real(*value);
            (f64::from(narrow).to_bits() == value.to_bits()).then(|| Arc::new(Float32Array::from(vec![narrow])))?
        }
        Value::Float(value) => Arc::new(Float64Array::from(vec![*value])),
        Value::Bool(value) => Arc::new(BooleanArray::from(vec![*value])),
        Value::Text(value) => Arc::new(StringArray::from(vec![value.as_str()])),
        Value::Bytes(value) => Arc::new(BinaryArray::from(vec![value.as_slice()])),
    };
    let wanted = stored_type(column);
    let same_kind = match array.data_type() {
        DataType::Int64 | DataType::UInt64 => wanted.is_integer() || wanted.is_temporal(),
        found => *found == wanted,
    };
    if !same_kind {
        return None;
    }
    let (array, wanted) = match wanted {
        // Arrow casts 64-bit integers to dates only by way of 32 bits.
        DataType::Date32 => (cast(&array, &DataType::Int32).ok()?, wanted),
        _ => (array, wanted),
    };
    let array = cast(&array, &wanted).ok()?;
    (array.null_count() == 0).then_some(array)
}
