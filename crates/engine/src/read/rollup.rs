//! The stale times of a rollup.
//!
//! A rollup accounts for all rows of its source up to one commit, except for the stale times in its state. Later
//! changes are found by the numbers of fresh chunks and by the source's change log
//! ([`chunk::change_log`](crate::chunk::change_log)). Sealed chunks are not news.

use crate::chunk::change_log::log_chunk;
use crate::chunk::times::{Times, joined, times_of};
use crate::read::snapshot::ReadSnapshot;
use atsdb_core::{ChunkEntry, ChunkId, Error, NewChunk, Result, Rollup, Table, TableId, TimeRange};

impl ReadSnapshot {
    /// The table that a rollup summarises.
    pub fn source_of(&self, rollup: &Rollup) -> Result<&Table> {
        self.tables().iter().find(|table| table.id == rollup.source).ok_or_else(|| {
            Error::not_found(format!("table {}, the source of a rollup, was dropped", rollup.table))
                .with_hint("drop the rollup with DROP ROLLUP")
        })
    }

    /// The rollups of a table.
    pub fn rollups_of(&self, source: TableId) -> impl Iterator<Item = &Table> {
        self.tables().iter().filter(move |table| is_rollup_of(table, source))
    }

    /// The times in which a rollup does not match its source, as ordered intervals, joined where they touch. Closed
    /// times are not included.
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

    /// The number of chunks in the change log of a rollup's source.
    pub fn log_length(&self, rollup: &Rollup) -> Result<usize> {
        match self.log_of(self.source_of(rollup)?) {
            Some(log) => Ok(self.inner.store.chunks(log.id, TimeRange::ALL)?.len()),
            None => Ok(0),
        }
    }

    /// A chunk number that no chunk of the snapshot exceeds, and all later chunks do.
    pub fn newest_chunk(&self) -> Result<ChunkId> {
        self.inner.store.newest_chunk()
    }
}

/// The change log entry that a commit of sealed chunks needs: the times of the fresh chunks that a rollup of the table
/// has not accounted for. Without it the rollup would miss them, as sealed chunks are not news.
pub(crate) fn log_of_sealing(snapshot: &ReadSnapshot, table: &Table, group: &[ChunkEntry]) -> Result<Option<NewChunk>> {
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
