//! The change log of a table that has rollups: which of its times lost or changed rows.
//!
//! What a table *gains* needs no log: fresh chunks have numbers, and a rollup knows up to which one it accounts. But a
//! chunk that is rewritten or goes leaves nothing behind, and one that is sealed changes its number. So whoever removes a
//! chunk adds, in the same commit, a small chunk to the log that says which times it had; sealing does so only for
//! chunks that a rollup has not accounted for yet. Adding never conflicts with anybody. Retention adds nothing: what it
//! drops stays in the rollups.

use crate::batch::Batch;
use crate::encode::encode_fresh;
use crate::engine::Shared;
use crate::scan::ScanRequest;
use crate::slice_buffer::{ChunkRows, internal};
use crate::snapshot::ReadSnapshot;
use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::datatypes::Int64Type;
use atsdb_core::{
    ChunkEntry, ChunkId, ColumnType, NewChunk, Result, Slice, Table, TableDefinition, TableId, TimeRange,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The log of a table.
pub(crate) fn log_definition(table: TableId) -> TableDefinition {
    let name = format!("changes of table {} for its rollups", table.0);
    let definition = TableDefinition::new(name).with_column("first", ColumnType::Int64, None).with_column(
        "last",
        ColumnType::Int64,
        None,
    );
    TableDefinition { logs: Some(table), ..definition }
}

/// A chunk of the log that says these times.
pub(crate) fn log_chunk(shared: &Shared, log: TableId, table: TableId, times: &[(i64, i64)]) -> Result<NewChunk> {
    let column =
        |part: fn(&(i64, i64)) -> i64| -> ArrayRef { Arc::new(times.iter().map(part).collect::<Int64Array>()) };
    let columns = [("first", column(|times| times.0)), ("last", column(|times| times.1))];
    let rows = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)));
    let rows = ChunkRows { rows: rows.map_err(internal)?, slice: Slice::PLAIN, time_min: 0, time_max: 0 };
    encode_fresh(log, &log_definition(table), shared.environment.chunk_uid()?, &rows)
}

/// The times of some chunks, in order, joined where they touch.
pub(crate) fn times_of<'a>(entries: impl IntoIterator<Item = &'a ChunkEntry>) -> Vec<(i64, i64)> {
    joined(entries.into_iter().map(|entry| (entry.time_min, entry.time_max)).collect())
}

/// Times in order, joined where they touch or overlap.
pub fn joined(mut times: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
    times.sort_unstable();
    let mut joined: Vec<(i64, i64)> = Vec::with_capacity(times.len().min(1_024));
    for (first, last) in times {
        match joined.last_mut() {
            Some(before) if before.1.checked_add(1).is_none_or(|next| first <= next) => before.1 = before.1.max(last),
            _ => joined.push((first, last)),
        }
    }
    joined
}

/// What is left of times that are joined when others, joined too, are taken away.
pub fn without(times: &[(i64, i64)], taken: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let mut left = Vec::new();
    for (first, last) in times {
        let mut from = Some(*first);
        for (start, end) in taken.iter().filter(|(start, end)| end >= first && start <= last) {
            match from {
                Some(at) if at < *start => left.push((at, start - 1)),
                _ => {}
            }
            from = end.checked_add(1).filter(|next| next <= last);
        }
        left.extend(from.map(|at| (at, *last)));
    }
    left
}

impl ReadSnapshot {
    /// The log of a table, if it has one.
    pub(crate) fn log_of(&self, table: &Table) -> Option<&Table> {
        let log = table.definition.change_log?;
        self.inner.logs.iter().find(|other| other.id == log)
    }

    /// Whether a chunk came later than a commit that knew of all up to `newest`.
    pub(crate) fn is_later(&self, chunk: ChunkId, newest: ChunkId) -> bool {
        chunk.0 < 0 || chunk > newest || self.inner.staged.contains(&chunk)
    }

    /// The times that the log of a table tells of, in its chunks later than `newest`.
    pub(crate) fn logged_since(&self, log: &Table, newest: ChunkId) -> Result<Vec<(i64, i64)>> {
        let request = ScanRequest { use_cache: true, ..ScanRequest::all(log) };
        let scan = self.scan(log, &request)?;
        let mut times = Vec::new();
        for (position, chunk) in scan.chunks().iter().enumerate() {
            if self.is_later(chunk.entry.id, newest)
                && let Some(rows) = scan.read(position)?
            {
                let ends = |column: usize| rows.column(column).as_primitive::<Int64Type>().values().iter().copied();
                times.extend(ends(0).zip(ends(1)));
            }
        }
        Ok(times)
    }
}

impl Batch {
    /// Notes in the logs what the batch removes, as far as that is not done yet. A chunk that the batch itself added is
    /// nobody's loss.
    pub(crate) fn log_removed(&mut self) -> Result<()> {
        if !self.changes.has_unlogged() {
            return Ok(());
        }
        let base = self.base()?;
        let shared = Arc::clone(&self.engine.shared);
        for (table, chunks) in self.changes.take_unlogged() {
            let Some(table) = base.tables().iter().find(|other| other.id == table) else { continue };
            let Some(log) = base.log_of(table).filter(|log| !self.changes.dropped().contains(&log.id)) else {
                continue;
            };
            let chunks: BTreeSet<ChunkId> = chunks.into_iter().collect();
            let entries = base.inner.store.chunks(table.id, TimeRange::ALL)?;
            let times = times_of(entries.iter().filter(|entry| chunks.contains(&entry.id)));
            if !times.is_empty() {
                self.changes.name_definition(log)?;
                let chunk = log_chunk(&shared, log.id, table.id, &times)?;
                self.keep(chunk)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_joined_where_they_touch() {
        assert_eq!(joined(vec![(5, 6), (1, 2), (3, 3), (9, i64::MAX), (10, 12)]), [(1, 3), (5, 6), (9, i64::MAX)]);
    }

    #[test]
    fn what_is_taken_away_leaves_the_rest() {
        let all = (i64::MIN, i64::MAX);
        assert_eq!(without(&[all], &[(0, 9)]), [(i64::MIN, -1), (10, i64::MAX)]);
        assert_eq!(without(&[(0, 9), (20, 29)], &[(5, 21), (25, 25)]), [(0, 4), (22, 24), (26, 29)]);
        assert_eq!(without(&[(0, 9)], &[all]), []);
        assert_eq!(without(&[(0, 9)], &[(10, 12)]), [(0, 9)]);
    }
}
