//! Lists and structs of Arrow, from flat columns.

use atsdb::arrow::array::{ArrayRef, ListArray, StructArray};
use atsdb::arrow::buffer::{NullBuffer, OffsetBuffer};
use atsdb::arrow::datatypes::{DataType, Field};
use atsdb::{Error, Result};
use std::sync::Arc;

/// An array of structs of this type, one for each row of the columns.
pub(crate) fn structs(data_type: &DataType, columns: Vec<ArrayRef>) -> Result<ArrayRef> {
    let DataType::Struct(fields) = data_type else {
        return Err(Error::internal(format!("{data_type} is not a struct")));
    };
    Ok(Arc::new(StructArray::try_new(fields.clone(), columns, None)?))
}

/// An array of lists with these lengths, which take the values one after the other. `None` is NULL.
pub(crate) fn lists(lengths: &[Option<usize>], values: ArrayRef) -> Result<ArrayRef> {
    let field = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths(lengths.iter().map(|length| length.unwrap_or(0)));
    let is_there: Vec<bool> = lengths.iter().map(Option::is_some).collect();
    let nulls = is_there.contains(&false).then(|| NullBuffer::from(is_there));
    Ok(Arc::new(ListArray::try_new(field, offsets, values, nulls)?))
}
