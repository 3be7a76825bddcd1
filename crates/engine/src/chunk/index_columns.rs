//! The columns of an index, its pages, and the mark that distinguishes them from pages of other indexes.
//!
//! A page of an index is added to a chunk that keeps its name, and numbers of indexes and columns are assigned again in
//! a store that was restored from a backup made before them. So chunk and number do not identify the page: whatever
//! keeps it beside a store, or compares two chunks, also needs the [meaning](index_meaning).

use arrow::array::ArrayRef;
use atsdb_codec::{EncodedPage, encode_membership};
use atsdb_core::{Bound, ChunkUid, Error, Index, MapWidth, Result, TableDefinition};
use twox_hash::XxHash3_64;

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

/// The properties that determine the page of an index in a chunk besides the chunk's own pages, as text: the index's
/// number, to which the page's checksum is bound, and its columns with their types and with the values of older chunks.
pub(crate) fn index_signature(definition: &TableDefinition, index: &Index) -> Result<String> {
    let mut columns = Vec::with_capacity(index.columns.len());
    for position in index_positions(definition, index)? {
        let column = &definition.columns[position];
        let map = column.map.map_or("", MapWidth::name);
        let missing = serde_json::to_string(&column.missing)
            .map_err(|error| Error::internal("a value cannot be written as JSON").with_source(error))?;
        columns.push(format!("{} {} {map} {missing}", column.id.0, column.column_type.name()));
    }
    Ok(format!("{}: {}", index.id.0, columns.join(", ")))
}

/// The hash of the [`index_signature`].
pub(crate) fn index_meaning(definition: &TableDefinition, index: &Index) -> Result<u64> {
    index_signature(definition, index).map(|signature| XxHash3_64::oneshot(signature.as_bytes()))
}

/// Encodes the page of an index in the chunk `uid` from the index's columns in stored form. The lower bound in its
/// descriptor is the meaning of the page: chunks with filters of different indexes have different descriptors.
pub(crate) fn encode_index(
    uid: ChunkUid,
    definition: &TableDefinition,
    index: &Index,
    columns: &[ArrayRef],
) -> Result<EncodedPage> {
    let mut page = encode_membership(uid, index.id, columns)?;
    page.descriptor.statistics.min = Some(Bound::UInt(index_meaning(definition, index)?));
    Ok(page)
}
