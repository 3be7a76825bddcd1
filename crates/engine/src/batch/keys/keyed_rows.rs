//! The rows of one table with keys, before they are settled.

use crate::batch::keys::bounds::KeyBounds;
use crate::batch::keys::clock::SeriesClock;
use crate::batch::keys::greatest::lie_beyond;
use crate::batch::keys::groups::Groups;
use crate::batch::keys::key::{Key, KeyColumns};
use crate::batch::keys::merge::{merged_rows, staying};
use crate::batch::keys::probe::{Candidates, RowsToRewrite};
use crate::batch::keys::resolve::resolve;
use crate::read::rewrite::Rewrite;
use crate::read::snapshot::ReadSnapshot;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch};
use arrow::datatypes::DataType;
use arrow::util::display::array_value_to_string;
use atsdb_codec::to_logical;
use atsdb_core::{
    ChunkId, Column, ConflictPolicy, Error, ErrorKind, NewChunk, Result, Table, TableDefinition, TableId, TimeRange,
};

/// The bounds of all key columns of so few rows cost less than looking at the chunks once more.
const FEW_ROWS: usize = 1_000;

/// The rows of one table with keys that wait, and what is known of its earlier rows.
#[derive(Debug)]
pub(crate) struct KeyedRows {
    keys: Vec<Key>,
    clocks: Vec<SeriesClock>,
    /// Whether the series clocks saw all of the batch's rows grow, including those that wait.
    grows: bool,
    waiting: WaitingRows,
}

/// Rows that are not settled yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct WaitingRows {
    pub(crate) policy: ConflictPolicy,
    pub(crate) rows: Vec<RecordBatch>,
    pub(crate) byte_count: usize,
}

/// The outcome of settling.
#[derive(Default)]
pub(crate) struct SettledRows {
    /// The rows to add.
    pub(crate) rows: Vec<RecordBatch>,
    /// Chunks of the snapshot to remove, each with its successor.
    pub(crate) replaced: Vec<(ChunkId, Option<NewChunk>)>,
    /// The number of waiting rows that are skipped because their key exists.
    pub(crate) skipped: u64,
    /// The number of rows, stored or waiting, that a later row with their key has replaced.
    pub(crate) replaced_rows: u64,
}

impl KeyedRows {
    pub(crate) fn new(definition: &TableDefinition) -> Result<Self> {
        let keys = Key::all_of(definition)?;
        let clocks = keys.iter().map(|key| SeriesClock::new(key.growing(definition))).collect();
        Ok(Self { keys, clocks, grows: true, waiting: WaitingRows::default() })
    }

    /// The policy of the rows that wait, if any do.
    pub(crate) fn policy(&self) -> Option<ConflictPolicy> {
        (!self.waiting.rows.is_empty()).then_some(self.waiting.policy)
    }

    /// Bytes of the rows that wait.
    pub(crate) fn byte_count(&self) -> usize {
        self.waiting.byte_count
    }

    /// Adds rows in stored form, under one policy with those that wait.
    pub(crate) fn push(&mut self, rows: RecordBatch, policy: ConflictPolicy) {
        if rows.num_rows() == 0 {
            return;
        }
        for (key, clock) in self.keys.iter().zip(&mut self.clocks) {
            self.grows &= clock.advance(&key.columns(&rows));
        }
        self.waiting.policy = policy;
        self.waiting.byte_count += rows.get_array_memory_size();
        self.waiting.rows.push(rows);
    }

    /// Takes the waiting rows, and returns whether all rows so far grew. No rows wait afterwards.
    pub(crate) fn take(&mut self) -> (WaitingRows, bool) {
        (std::mem::take(&mut self.waiting), std::mem::replace(&mut self.grows, true))
    }

    /// A copy of the waiting rows, with the number of their table and whether all rows so far grew.
    pub(crate) fn held(&self, table: TableId) -> Option<(TableId, WaitingRows, bool)> {
        Some((table, self.waiting.clone(), self.grows))
    }

    /// Puts rows back that were taken.
    pub(crate) fn put_back(&mut self, waiting: WaitingRows, grows: bool) {
        (self.waiting, self.grows) = (waiting, grows);
    }

    /// Settles rows that were taken. If `grows`, they differ from each other and from all rows of the batch. Otherwise
    /// the snapshot must contain the batch's own earlier rows.
    pub(crate) fn settle(
        &self,
        table: &Table,
        waiting: &WaitingRows,
        grows: bool,
        snapshot: &ReadSnapshot,
    ) -> Result<SettledRows> {
        let columns: Vec<Vec<KeyColumns>> =
            self.keys.iter().map(|key| waiting.rows.iter().map(|rows| key.columns(rows)).collect()).collect();
        let bounds = |narrowest: &dyn Fn(&Key) -> KeyBounds| -> Vec<KeyBounds> {
            let widened = |(key, batches): (&Key, &Vec<KeyColumns>)| {
                let mut bounds = narrowest(key);
                batches.iter().for_each(|columns| bounds.widen(columns));
                bounds
            };
            self.keys.iter().zip(&columns).map(widened).collect()
        };
        let candidates = |bounds: &[KeyBounds]| {
            Candidates::of(snapshot, table, &self.keys, bounds, self.range(&table.definition, bounds))
        };
        let row_count: usize = waiting.rows.iter().map(RecordBatch::num_rows).sum();
        let all_rows = || Ok(SettledRows { rows: waiting.rows.clone(), ..SettledRows::default() });
        // Rows that arrive in order lie beyond all stored ones: the growing column alone shows that.
        if grows {
            let by_growth = bounds(&|key: &Key| KeyBounds::of_one(key.growing(&table.definition).unwrap_or(0), key));
            if lie_beyond(snapshot, table, &self.keys, &by_growth)?
                || (row_count > FEW_ROWS && candidates(&by_growth)?.is_empty())
            {
                return all_rows();
            }
        }
        let candidates = candidates(&bounds(&KeyBounds::new))?;
        if grows && candidates.is_empty() {
            return all_rows();
        }
        let groups = self.keys.iter().zip(&columns).map(|(key, batches)| Groups::of(batches, key.nulls_equal));
        let groups = groups.collect::<Result<Vec<_>>>()?;
        let found = candidates.probe(snapshot, table, &self.keys, &groups, waiting.policy)?;
        let stays = resolve(row_count, &groups, &found.stored, waiting.policy).map_err(|duplicate| {
            let key = &self.keys[duplicate.key];
            duplicate_key(table, key, &waiting.rows, duplicate.row, snapshot)
        })?;
        let left_out = stays.iter().filter(|stays| !**stays).count() as u64;
        let (skipped, replaced_rows) = skipped_and_replaced(waiting.policy, left_out, found.hits.as_ref());
        let rows = match waiting.policy {
            ConflictPolicy::Merge => merged_rows(&waiting.rows, &groups[0], &found, &stays)?,
            _ => staying(&waiting.rows, &stays)?,
        };
        let replaced = match (waiting.policy, found.hits) {
            (ConflictPolicy::Replace | ConflictPolicy::Merge, Some(hits)) => without_rows(hits)?,
            _ => Vec::new(),
        };
        Ok(SettledRows { rows, replaced, skipped, replaced_rows })
    }

    /// The range of times in which rows of the same keys can lie.
    fn range(&self, definition: &TableDefinition, bounds: &[KeyBounds]) -> TimeRange {
        let mut ends: Option<(i64, i64)> = None;
        for (key, bounds) in self.keys.iter().zip(bounds) {
            let Some((first, last)) = key.time.and_then(|time| bounds.integers(time)) else { return TimeRange::ALL };
            ends = Some(ends.map_or((first, last), |(start, end)| (start.min(first), end.max(last))));
        }
        let scaled = |time: i64| time.checked_mul(definition.time_scale());
        match ends {
            Some((first, last)) => {
                TimeRange { start: scaled(first), end: scaled(last).and_then(|last| last.checked_add(1)) }
            }
            None => TimeRange::ALL,
        }
    }
}

/// Returns the number of rows that are skipped, and of rows that a later one has replaced, if `left_out` waiting rows
/// are not stored and `stored` are the stored rows with their keys.
fn skipped_and_replaced(policy: ConflictPolicy, left_out: u64, stored: Option<&RowsToRewrite>) -> (u64, u64) {
    match policy {
        ConflictPolicy::Keep => (left_out, 0),
        ConflictPolicy::Replace | ConflictPolicy::Merge => {
            let stored = stored.into_iter().flat_map(|(_, hits)| hits.iter()).map(|(_, rows)| rows.len() as u64);
            (0, left_out + stored.sum::<u64>())
        }
        ConflictPolicy::Error => (0, 0),
    }
}

/// The chunks with rows to replace, each with its successor, which has its other rows.
fn without_rows((scan, hits): RowsToRewrite) -> Result<Vec<(ChunkId, Option<NewChunk>)>> {
    let without = |(position, rows): (usize, Vec<u32>)| {
        let chunk = &scan.chunks()[position].entry;
        let mut keep = vec![true; chunk.row_count as usize];
        rows.into_iter().for_each(|row| keep[row as usize] = false);
        let rewrite = Rewrite { keep: Some(BooleanArray::from(keep)), set: Vec::new() };
        Ok((chunk.id, scan.rewrite(position, &rewrite)?))
    };
    hits.into_iter().map(without).collect()
}

/// The error for a row whose key exists. `row` counts through all batches.
fn duplicate_key(table: &Table, key: &Key, batches: &[RecordBatch], row: usize, snapshot: &ReadSnapshot) -> Error {
    let mut row = row;
    let mut batches = batches.iter();
    let batch = batches.find(|batch| {
        let here = row < batch.num_rows();
        row -= if here { 0 } else { batch.num_rows() };
        here
    });
    match batch {
        Some(batch) => key_exists(table, key, &key.columns(batch), row, snapshot),
        None => Error::internal("a duplicate is in no batch"),
    }
}

/// The error for a row whose key exists. `columns` are those of the key, in stored form.
pub(crate) fn key_exists(table: &Table, key: &Key, columns: &[ArrayRef], row: usize, snapshot: &ReadSnapshot) -> Error {
    let declared = || key.positions.iter().map(|position| &table.definition.columns[*position]);
    let names: Vec<&str> = declared().map(|column| column.name.as_str()).collect();
    let values = declared().zip(columns).map(|(column, array)| value_text(table, column, array, row, snapshot));
    match values.collect::<Result<Vec<String>>>() {
        Ok(values) => {
            let (name, names, values) = (&table.definition.name, names.join(", "), values.join(", "));
            let message = format!("table {name}, key ({names}): ({values}) already exists");
            Error::new(ErrorKind::DuplicateKey, message)
        }
        Err(error) => error,
    }
}

/// A row's value in a column, given in stored form, as text.
pub(crate) fn value_text(
    table: &Table,
    column: &Column,
    array: &ArrayRef,
    row: usize,
    snapshot: &ReadSnapshot,
) -> Result<String> {
    if column.map.is_none() {
        return Ok(array_value_to_string(&to_logical(column, &array.slice(row, 1))?, 0)?);
    }
    let index = match array.data_type() {
        DataType::UInt8 => array.as_primitive::<arrow::datatypes::UInt8Type>().value(row) as usize,
        DataType::UInt16 => array.as_primitive::<arrow::datatypes::UInt16Type>().value(row) as usize,
        _ => array.as_primitive::<arrow::datatypes::UInt32Type>().value(row) as usize,
    };
    let dictionary = snapshot.inner.shared.dictionaries.get(table.id, column.id);
    // The row's string may have been added after the snapshot was taken.
    let strings = match dictionary.strings(snapshot.inner.store.as_ref(), index + 1) {
        Ok(strings) if strings.len() > index => strings,
        _ => dictionary.strings(snapshot.inner.shared.store.snapshot()?.as_ref(), index + 1)?,
    };
    Ok(if index < strings.len() { strings.value(index).to_owned() } else { format!("string {index}") })
}
