//! The Arrow types of columns.

use arrow::datatypes::DataType;
use atsdb_codec::plain_type;
use atsdb_core::ColumnType;

/// The Arrow type that a column's arrays have. Texts of a mapped column are numbered once in each batch.
pub(crate) fn arrow_type(column_type: ColumnType, is_mapped: bool) -> DataType {
    match is_mapped {
        true => DataType::Dictionary(Box::new(DataType::UInt32), Box::new(plain_type(column_type))),
        false => plain_type(column_type),
    }
}
