//! Groups of chunks that are merged together: large enough for few sorted runs, small enough for memory.
//!
//! The store knows the number of rows, but only the pages know the length of texts and arrays. So such columns of a
//! group are read here once, chunk by chunk. The lengths also decide where new chunks begin.

use crate::chunk::long_values::LongValues;
use crate::chunk::missing::missing_array;
use crate::read::snapshot::Inner;
use arrow::array::Array;
use arrow::datatypes::DataType;
use atsdb_codec::stored_type;
use atsdb_core::{ChunkEntry, Column, Result, Table};
use std::iter::Peekable;

/// Maximum number of rows in a group. Fewer rows make shorter time ranges, so that a query of some hours reads few
/// chunks; more rows make longer runs of each series, which compress better.
const ROWS_MAX: u64 = 1 << 20;
/// Maximum size of its text and binary values: well below the 2 GiB that one array can hold.
const TEXT_BYTES_MAX: u64 = 512 << 20;

/// Chunks that become one sorted run. There is at least one, however large it is.
pub(crate) struct Group {
    pub(crate) entries: Vec<ChunkEntry>,
    /// The bytes that the long values of each row count for in a chunk's limit. Empty if the table has no such columns.
    pub(crate) row_bytes: Vec<u32>,
}

impl Group {
    /// Takes the next group from chunks that are ordered by time.
    pub(crate) fn next(
        snapshot: &Inner,
        table: &Table,
        entries: &mut Peekable<impl Iterator<Item = ChunkEntry>>,
    ) -> Result<Option<Self>> {
        Self::gather(entries, (ROWS_MAX, TEXT_BYTES_MAX), |entry| row_bytes(snapshot, table, entry))
    }

    fn gather(
        entries: &mut Peekable<impl Iterator<Item = ChunkEntry>>,
        (rows_max, bytes_max): (u64, u64),
        row_bytes: impl Fn(&ChunkEntry) -> Result<Vec<u32>>,
    ) -> Result<Option<Self>> {
        let mut group = Self { entries: Vec::new(), row_bytes: Vec::new() };
        let (mut rows, mut bytes) = (0, 0);
        while let Some(entry) = entries.peek() {
            rows += u64::from(entry.row_count);
            if rows > rows_max && !group.entries.is_empty() {
                break;
            }
            let more = row_bytes(entry)?;
            bytes += more.iter().map(|bytes| u64::from(*bytes)).sum::<u64>();
            if bytes > bytes_max && !group.entries.is_empty() {
                break;
            }
            group.row_bytes.extend(more);
            group.entries.extend(entries.next());
        }
        Ok(if group.entries.is_empty() { None } else { Some(group) })
    }
}

/// Returns the bytes that the long values of each row count for in a chunk's limit. Empty if the table has no such
/// columns.
fn row_bytes(snapshot: &Inner, table: &Table, entry: &ChunkEntry) -> Result<Vec<u32>> {
    let is_long =
        |column: &&Column| matches!(stored_type(column), DataType::Utf8 | DataType::Binary | DataType::List(_));
    let mut row_bytes = Vec::new();
    for column in table.definition.columns.iter().filter(is_long) {
        let descriptor = snapshot.descriptor(table, entry)?;
        let array = match snapshot.columns(table, entry, &descriptor, &[column], false)?.pop().flatten() {
            Some(array) => array,
            None => missing_array(&table.definition, column, entry.row_count as usize)?,
        };
        row_bytes.resize(array.len(), 0_u32);
        let Some(values) = LongValues::of(&array) else { continue };
        for (row, bytes) in row_bytes.iter_mut().enumerate() {
            *bytes = bytes.saturating_add(u32::try_from(values.chunk_bytes(row..row + 1)).unwrap_or(u32::MAX));
        }
    }
    Ok(row_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb_core::{ChunkId, TableId};

    fn entry(id: i64, row_count: u32) -> ChunkEntry {
        ChunkEntry {
            id: ChunkId(id),
            table: TableId(1),
            slice_start: 0,
            time_min: id,
            time_max: id,
            row_count,
            byte_count: 1,
            sealed: false,
            descriptor_bytes: Vec::new(),
        }
    }

    fn lengths(rows: &[u32], maxima: (u64, u64), bytes_a_row: u32) -> Vec<usize> {
        let entries = rows.iter().enumerate().map(|(id, rows)| entry(id as i64, *rows));
        let mut entries = entries.peekable();
        let row_bytes = |entry: &ChunkEntry| Ok(vec![bytes_a_row; entry.row_count as usize]);
        let mut lengths = Vec::new();
        while let Some(group) = Group::gather(&mut entries, maxima, row_bytes).unwrap() {
            let rows: u32 = group.entries.iter().map(|entry| entry.row_count).sum();
            assert_eq!(group.row_bytes.len() as u32, rows);
            lengths.push(group.entries.len());
        }
        lengths
    }

    #[test]
    fn groups_are_bounded_by_rows_and_by_bytes_and_no_chunk_is_left_out() {
        assert_eq!(lengths(&[10; 7], (30, 1_000), 1), [3, 3, 1]);
        assert_eq!(lengths(&[10; 7], (1_000, 20), 1), [2, 2, 2, 1]);
        assert_eq!(lengths(&[10, 50, 10, 10], (1_000, 20), 1), [1, 1, 2]);
        assert_eq!(lengths(&[100, 1], (30, 20), 1), [1, 1]);
        assert!(lengths(&[], (30, 20), 1).is_empty());
        // Lengths of texts whose sum is beyond 32 bits.
        assert_eq!(lengths(&[2, 2, 2], (1_000, 10 << 30), u32::MAX), [1, 1, 1]);
    }
}
