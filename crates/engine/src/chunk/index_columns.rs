//! The columns of an index.

use arrow::array::ArrayRef;
use atsdb_core::{Error, Index, Result, TableDefinition};

/// The arrays of an index's columns. `read` returns the array of the column at a position of the definition.
pub(crate) fn index_columns(
    definition: &TableDefinition,
    index: &Index,
    mut read: impl FnMut(usize) -> Result<ArrayRef>,
) -> Result<Vec<ArrayRef>> {
    index_positions(definition, index)?.into_iter().map(&mut read).collect()
}

/// The positions of an index's columns in the definition.
pub(crate) fn index_positions(definition: &TableDefinition, index: &Index) -> Result<Vec<usize>> {
    let position = |id| definition.columns.iter().position(|column| column.id == id);
    let positions = index.columns.iter().map(|id| position(*id)).collect::<Option<Vec<usize>>>();
    let message = || format!("table {}: index {} has a column that does not exist", definition.name, index.name);
    positions.ok_or_else(|| Error::internal(message()))
}
