//! Rollups: which of a rollup's times are stale, and putting computed rows in the place of stale ones.
//!
//! A rollup accounts for all of its source up to one commit, but for the times that its state names. What came later is
//! known by the numbers of fresh chunks, by the source's log ([`change_log`](crate::change_log)), and by nothing else:
//! a sealed chunk is no news. The state changes in the commit that changes the rows, and only if nobody else has changed
//! it, so that of two that compute a rollup at once one begins anew. Not owned: the query, its buckets, and when to
//! compute (`sql`).

use crate::batch::Batch;
use crate::change_log::{joined, log_chunk, log_definition, times_of};
use crate::rewrite::Rewrite;
use crate::scan::ScanRequest;
use crate::slice_buffer::times_from;
use crate::snapshot::ReadSnapshot;
use arrow::array::{BooleanArray, RecordBatch};
use atsdb_core::{
    ChunkEntry, ChunkId, Error, ErrorKind, NewChunk, Result, Rollup, RollupState, Table, TableDefinition, TableId,
    TimeRange,
};

/// Times, both ends included, in the table's unit.
pub type Times = (i64, i64);

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

impl Batch {
    /// Creates a rollup, empty and stale. Its definition has the query; where it stands is put in here.
    pub fn create_rollup(&mut self, source: &Table, mut definition: TableDefinition) -> Result<Table> {
        let base = self.base()?;
        let newest = base.newest_chunk()?;
        let Some(rollup) = &mut definition.rollup else {
            return Err(Error::internal(format!("{} is no rollup", definition.name)));
        };
        rollup.state = RollupState::new(newest);
        let rollup = self.create_table(&definition)?;
        let mut changed = source.definition.clone();
        if changed.change_log.is_none() {
            changed.change_log = Some(self.create_table(&log_definition(source.id))?.id);
        }
        // Also with the log there: that it stays is part of the commit.
        self.redefine(source, changed)?;
        Ok(rollup)
    }

    /// Puts rows in the place of those that a rollup has for some times, which are whole buckets, joined and in order.
    /// The batch's snapshot is what the rows are computed from; its state then is `state`.
    pub fn refresh_rollup(
        &mut self,
        table: &Table,
        times: &[Times],
        rows: impl IntoIterator<Item = Result<RecordBatch>>,
        state: RollupState,
    ) -> Result<u64> {
        self.changes.refreshed = Some(table.id);
        self.remove_times(table, times)?;
        let mut row_count = 0;
        for rows in rows {
            let rows = rows?;
            row_count += rows.num_rows() as u64;
            self.append(table, &rows)?;
        }
        let mut definition = table.definition.clone();
        if let Some(rollup) = &mut definition.rollup {
            self.trim_log(rollup.source, table.id, state.accounted)?;
            rollup.state = state;
        }
        self.redefine(table, definition)?;
        Ok(row_count)
    }

    /// Takes the rows of some times, in order, out of a rollup. A chunk may have rows of several of them.
    fn remove_times(&mut self, table: &Table, times: &[Times]) -> Result<()> {
        let (Some(first), Some(last)) = (times.first(), times.last()) else { return Ok(()) };
        let range = TimeRange { start: Some(first.0), end: last.1.checked_add(1) };
        let base = self.base()?;
        let column = table.definition.time_column().map(|time| table.definition.position(&time.name));
        let columns = vec![column.transpose()?.ok_or_else(|| Error::internal("a rollup without time"))?];
        let request = ScanRequest { columns: columns.clone(), range, predicates: Vec::new(), use_cache: true };
        let scan = base.scan(table, &request)?;
        let goes = |time: i64| {
            let next = times.partition_point(|(_, last)| *last < time);
            times.get(next).is_some_and(|(first, _)| *first <= time)
        };
        for (position, chunk) in scan.chunks().iter().enumerate() {
            let entry = &chunk.entry;
            if times.iter().any(|(first, last)| *first <= entry.time_min && entry.time_max <= *last) {
                self.replace(table, entry.id, None)?;
                continue;
            }
            let stored = scan.read_stored(position, &columns)?;
            let stamps = times_from(&table.definition, &stored[0])?;
            let keep: BooleanArray = stamps.values().iter().map(|time| Some(!goes(*time))).collect();
            if keep.true_count() < stamps.len() {
                let successor = scan.rewrite(position, &Rewrite { keep: Some(keep), set: Vec::new() })?;
                self.replace(table, entry.id, successor)?;
            }
        }
        Ok(())
    }

    /// Chunks of the log that all rollups of the table account for go.
    fn trim_log(&mut self, source: TableId, refreshed: TableId, accounted: ChunkId) -> Result<()> {
        let base = self.base()?;
        let Some(source) = base.tables().iter().find(|table| table.id == source) else { return Ok(()) };
        let Some(log) = base.log_of(source) else { return Ok(()) };
        let others = base.rollups_of(source.id).filter(|table| table.id != refreshed);
        let others = others.filter_map(|table| table.definition.rollup.as_ref().map(|rollup| rollup.state.accounted));
        let accounted = others.fold(accounted, ChunkId::min);
        let entries = base.inner.store.chunks(log.id, TimeRange::ALL)?;
        let mut done = entries.iter().filter(|entry| entry.id <= accounted);
        done.try_for_each(|entry| self.remove_chunk(log.id, entry.id))
    }

    /// Refuses to change what only the refresh of a rollup changes.
    pub(crate) fn check_writable(&self, table: &Table) -> Result<()> {
        match &table.definition.rollup {
            Some(rollup) if self.changes.refreshed != Some(table.id) => {
                let message =
                    format!("{} is a rollup: its rows are computed from {}", table.definition.name, rollup.table);
                Err(Error::new(ErrorKind::Sql, message).with_hint(format!("change the rows of {}", rollup.table)))
            }
            _ => Ok(()),
        }
    }

    /// What has to go with a table: the log of one that has rollups, and of one whose last rollup goes.
    pub(crate) fn leave_rollups(&mut self, table: &Table) -> Result<()> {
        let source = table.definition.rollup.as_ref().map(|rollup| rollup.source);
        if source.is_none() && table.definition.change_log.is_none() {
            return Ok(());
        }
        let base = self.base()?;
        let tables = self.changes.tables(&base);
        let of_it = source.unwrap_or(table.id);
        let other = tables.iter().find(|other| other.id != table.id && is_rollup_of(other, of_it));
        let holder = tables.iter().find(|other| other.id == of_it);
        match (source, other, holder) {
            (None, Some(rollup), _) => {
                let (name, rollup) = (&table.definition.name, &rollup.definition.name);
                Err(Error::new(ErrorKind::Sql, format!("rollup {rollup} summarises table {name}"))
                    .with_hint(format!("DROP ROLLUP {rollup} first, or DROP TABLE {name} CASCADE")))
            }
            (Some(_), other, Some(holder)) => {
                let (mut changed, log) = (holder.definition.clone(), holder.definition.change_log);
                if other.is_none() {
                    changed.change_log = None;
                    self.drop_log(log);
                }
                self.redefine(&holder.clone(), changed).map(drop)
            }
            (None, None, _) => {
                self.drop_log(table.definition.change_log);
                Ok(())
            }
            (Some(_), _, None) => Ok(()),
        }
    }

    fn drop_log(&mut self, log: Option<TableId>) {
        if let Some(log) = log.filter(|log| !self.changes.dropped().contains(log)) {
            self.changes.note_dropped(log);
        }
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
        false => log_chunk(&snapshot.inner.shared, log.id, table.id, &times).map(Some),
    }
}

fn is_rollup_of(table: &Table, source: TableId) -> bool {
    table.definition.rollup.as_ref().is_some_and(|rollup| rollup.source == source)
}
