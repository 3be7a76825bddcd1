//! Columns as expressions of SQL take them: of their logical types, but mapped columns as text.

use arrow::array::ArrayRef;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use atsdb_codec::logical_type;
use atsdb_core::{Column, Result};

/// The type of a column's values.
pub(crate) fn plain_type(column: &Column) -> DataType {
    if column.map.is_some() { DataType::Utf8 } else { logical_type(column) }
}

/// Converts an array of a column's logical type, or of another representation of its texts.
pub(crate) fn plain(array: &ArrayRef, column: &Column) -> Result<ArrayRef> {
    match plain_type(column) {
        wanted if wanted == *array.data_type() => Ok(ArrayRef::clone(array)),
        wanted => Ok(cast(array, &wanted)?),
    }
}
