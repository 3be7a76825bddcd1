//! Finds the stored rows that have the keys of new rows, for callers that resolve the conflict themselves (`INSERT ...
//! ON CONFLICT`).
//!
//! Nothing is added or guarded here. Adding rows afterwards with [`ConflictPolicy::Error`] sets the guard, and
//! replacing a row removes its chunk, so that of two writers that resolve the same conflict one is refused. It is
//! noted that a conflict was resolved: for the one that is refused this is a conflict, and no duplicate.

use crate::batch::keys::bounds::KeyBounds;
use crate::batch::keys::groups::Groups;
use crate::batch::keys::key::{Key, KeyColumns};
use crate::batch::keys::probe::Candidates;
use crate::batch::keys::resolve::resolve;
use crate::read::scan::Scan;
use crate::read::snapshot::ReadSnapshot;
use arrow::array::{RecordBatch, UInt32Array};
use arrow::compute::take_record_batch;
use atsdb_codec::arrow_schema;
use atsdb_core::{ConflictPolicy, Error, Result, Table, TimeRange};
use atsdb_resident::{IndexSpec, RowKeys, TableMatches, TableState};
use std::fmt;
use std::sync::Arc;

/// The source that the conflicting rows are read from.
pub enum RowSource {
    /// The chunks of a scan over all columns.
    Stored(Box<Scan>),
    /// A table in memory. Its parts take the place of chunks.
    Resident(Arc<TableState>),
}

impl RowSource {
    /// Reads rows of a chunk, given by their numbers from 0, with all columns.
    pub fn read(&self, chunk: u32, rows: Vec<u32>) -> Result<RecordBatch> {
        match self {
            Self::Stored(scan) => {
                let whole = scan.read(chunk as usize)?;
                let whole = whole.ok_or_else(|| Error::internal("a chunk with a key has no rows"))?;
                Ok(take_record_batch(&whole, &UInt32Array::from(rows))?)
            }
            Self::Resident(state) => {
                let schema = arrow_schema(state.definition());
                let columns: Vec<usize> = (0..schema.fields().len()).collect();
                let found = TableMatches { probes: Vec::new(), parts: vec![chunk; rows.len()], rows };
                Ok(RecordBatch::try_new(schema, state.gather(&found, &columns)?)?)
            }
        }
    }
}

/// The stored rows that have the keys of new rows. New rows with the same key are one group.
pub struct ConflictingRows {
    /// The source of the stored rows.
    pub rows: RowSource,
    /// The group of each new row; `None` if the key has a NULL that equals no other key.
    pub group_of_row: Vec<Option<u32>>,
    /// The stored row with the key of each group, if there is one: the position of its chunk in the scan, and its
    /// number in the chunk.
    pub locations: Vec<Option<(u32, u32)>>,
}

impl fmt::Debug for RowSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stored(scan) => scan.fmt(f),
            Self::Resident(_) => f.write_str("Resident"),
        }
    }
}

impl fmt::Debug for ConflictingRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConflictingRows").field("groups", &self.locations.len()).finish_non_exhaustive()
    }
}

impl ConflictingRows {
    /// Finds the stored rows with the same key as new rows, whose key columns are given.
    pub(super) fn find(
        snapshot: &ReadSnapshot,
        table: &Table,
        key: Key,
        columns: KeyColumns,
        row_count: usize,
    ) -> Result<Self> {
        if table.definition.is_in_memory() {
            return resident_conflicts(snapshot, table, &key, &columns);
        }
        let mut bounds = KeyBounds::new(&key);
        bounds.widen(&columns);
        let keys = [key];
        let bounds = [bounds];
        let candidates = Candidates::of(snapshot, table, &keys, &bounds, TimeRange::ALL)?;
        let groups = Groups::of(&[columns], keys[0].nulls_equal)?;
        let (scan, locations) = candidates.locations(snapshot, table, &keys[0], &groups)?;
        let group_of_row = (0..row_count).map(|row| groups.group(row)).collect();
        Ok(Self { rows: RowSource::Stored(Box::new(scan)), group_of_row, locations })
    }
}

/// Returns for each of some new rows of a table in chunks whether [`ConflictPolicy::Keep`] would add it. `columns` are
/// the columns of each key.
pub(super) fn rows_kept(
    snapshot: &ReadSnapshot,
    table: &Table,
    keys: &[Key],
    columns: Vec<KeyColumns>,
    row_count: usize,
) -> Result<Vec<bool>> {
    let bounds = |(key, columns): (&Key, &KeyColumns)| {
        let mut bounds = KeyBounds::new(key);
        bounds.widen(columns);
        bounds
    };
    let bounds: Vec<KeyBounds> = keys.iter().zip(&columns).map(bounds).collect();
    let candidates = Candidates::of(snapshot, table, keys, &bounds, TimeRange::ALL)?;
    let groups = keys.iter().zip(columns).map(|(key, columns)| Groups::of(&[columns], key.nulls_equal));
    let groups = groups.collect::<Result<Vec<_>>>()?;
    let found = candidates.probe(snapshot, table, keys, &groups, ConflictPolicy::Keep)?;
    resolve(row_count, &groups, &found.stored, ConflictPolicy::Keep)
        .map_err(|_| Error::internal("skipped rows were reported as an error"))
}

/// [`ConflictingRows::find`] for a table in memory, by its hash index.
fn resident_conflicts(
    snapshot: &ReadSnapshot,
    table: &Table,
    key: &Key,
    columns: &KeyColumns,
) -> Result<ConflictingRows> {
    let state = snapshot.resident(table)?;
    let is_of_key = |index: &IndexSpec| index.positions == key.positions && index.nulls_equal == key.nulls_equal;
    let index = state.indexes().iter().position(is_of_key);
    let index = index.ok_or_else(|| Error::internal("a key without an index"))?;
    let groups = Groups::of(std::slice::from_ref(columns), key.nulls_equal)?;
    let row_keys = if key.nulls_equal { RowKeys::with_equal_nulls(columns)? } else { RowKeys::new(columns)? };
    let found = state.find(index, &row_keys);
    let mut locations = vec![None; groups.count()];
    for ((row, part), number) in found.probes.iter().zip(&found.parts).zip(&found.rows) {
        if let Some(location) = groups.group(*row as usize).and_then(|group| locations.get_mut(group as usize)) {
            *location = Some((*part, *number));
        }
    }
    let row_count = columns.first().map_or(0, |array| array.len());
    let group_of_row = (0..row_count).map(|row| groups.group(row)).collect();
    Ok(ConflictingRows { rows: RowSource::Resident(state), group_of_row, locations })
}
