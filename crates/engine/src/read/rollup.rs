//! Which times of a rollup are stale.
//!
//! A rollup accounts for all of its source up to one commit, but for the times that its state names. What came later is
//! known by the numbers of fresh chunks and by the source's log ([`chunk::change_log`](crate::chunk::change_log)), and by
//! nothing else: a sealed chunk is no news.

use crate::chunk::change_log::log_chunk;
use crate::chunk::times::{Times, joined, times_of};
use crate::read::snapshot::ReadSnapshot;
use atsdb_core::{ChunkEntry, ChunkId, Error, NewChunk, Result, Rollup, Table, TableId, TimeRange};

impl ReadSnapshot {
    /// The table that a rollup summarises.
    pub fn source_of(&self, rollup: &Rollup) -> Result<&Table> {
        self.tables().iter().find(|table| table.id == rollup.source).ok_or_else(|| {
            Error::not_found(format!("table {}, which a rollup summarises, is gone", rollup.table))
                .with_hint("DROP ROLLUP drops what is left")
        })
    }

    /// The rollups of a table.
    pub fn rollups_of(&self, source: TableId) -> impl Iterator<Item = &Table> {
        self.tables().iter().filter(move |table| is_rollup_of(table, source))
    }

    /// The times of which a rollup does not have what its source has, in order, joined where they touch. What is closed
    /// is not among them.
    pub fn stale_times(&self, rollup: &Rollup) -> Result<Vec<Times>> {
        let (source, state) = (self.source_of(rollup)?, &rollup.state);
        let mut times = state.stale.clone();
        let entries = self.inner.store.chunks(source.id, TimeRange::ALL)?;
        let news = entries.iter().filter(|entry| !entry.sealed && self.is_later(entry.id, state.accounted));
        times.extend(times_of(news));
        if let Some(log) = self.log_of(source) {
            times.extend(self.logged_since(log, state.accounted)?);
        }
        Ok(joined(times.into_iter().filter_map(|times| state.open_part(times)).collect()))
    }

    /// How many chunks the log of a rollup's source has.
    pub fn log_length(&self, rollup: &Rollup) -> Result<usize> {
        match self.log_of(self.source_of(rollup)?) {
            Some(log) => Ok(self.inner.store.chunks(log.id, TimeRange::ALL)?.len()),
            None => Ok(0),
        }
    }

    /// A chunk number that all of the snapshot is accounted for with.
    pub fn newest_chunk(&self) -> Result<ChunkId> {
        self.inner.store.newest_chunk()
    }
}

/// The log's chunk that goes with sealing: the times of those fresh chunks that a rollup of the table has not accounted
/// for, as what they become is no news.
pub(crate) fn news_of_sealing(
    snapshot: &ReadSnapshot,
    table: &Table,
    group: &[ChunkEntry],
) -> Result<Option<NewChunk>> {
    let Some(log) = snapshot.log_of(table) else { return Ok(None) };
    let states = snapshot.rollups_of(table.id).filter_map(|table| table.definition.rollup.as_ref());
    let Some(accounted) = states.map(|rollup| rollup.state.accounted).min() else { return Ok(None) };
    let times = times_of(group.iter().filter(|entry| !entry.sealed && entry.id > accounted));
    match times.is_empty() {
        true => Ok(None),
        false => log_chunk(snapshot.inner.shared.environment.chunk_uid()?, log.id, table.id, &times).map(Some),
    }
}

pub(crate) fn is_rollup_of(table: &Table, source: TableId) -> bool {
    table.definition.rollup.as_ref().is_some_and(|rollup| rollup.source == source)
}
