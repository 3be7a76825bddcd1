//! Tables whose rows are computed from those of others: rollups, with the change logs of their sources, and
//! materialized views.
//!
//! The state of a rollup changes in the same commit as its rows, and only if no other writer has changed it: of two
//! processes that refresh a rollup at the same time, one must retry. Not owned: which times are stale
//! ([`read::rollup`](crate::read::rollup)); the query, its buckets, and when to refresh (`sql`).

use crate::batch::Batch;
use crate::chunk::change_log::{log_chunk, log_definition};
use crate::chunk::slice_buffer::times_from;
use crate::chunk::times::{Times, times_of};
use crate::read::rewrite::Rewrite;
use crate::read::rollup::is_rollup_of;
use crate::read::scan::ScanRequest;
use arrow::array::{BooleanArray, RecordBatch};
use atsdb_core::{ChunkId, Error, ErrorKind, Result, RollupState, Table, TableDefinition, TableId, TimeRange};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Batch {
    /// Creates a rollup, which is empty and stale. The definition has the query; this sets its state.
    pub fn create_rollup(&mut self, source: &Table, mut definition: TableDefinition) -> Result<Table> {
        let base = self.base()?;
        let newest = base.newest_chunk()?;
        let Some(rollup) = &mut definition.rollup else {
            return Err(Error::internal(format!("{} is not a rollup", definition.name)));
        };
        rollup.state = RollupState::new(newest);
        let rollup = self.create_table(&definition)?;
        let mut changed = source.definition.clone();
        if changed.change_log.is_none() {
            changed.change_log = Some(self.create_table(&log_definition(source.id))?.id);
        }
        // This is done even if the log exists, so that the commit fails if another writer drops it.
        self.redefine(source, changed)?;
        Ok(rollup)
    }

    /// Replaces the rows of a rollup in some times, and sets its state. The times are whole buckets, joined and in
    /// order. The rows must be computed from the batch's snapshot. Returns the number of new rows.
    pub fn refresh_rollup(
        &mut self,
        table: &Table,
        times: &[Times],
        rows: impl IntoIterator<Item = Result<RecordBatch>>,
        state: RollupState,
    ) -> Result<u64> {
        self.changes.note_refreshed(table.id);
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

    /// Removes the rows in some times, which are in order, from a rollup. A chunk may have rows in several of them.
    fn remove_times(&mut self, table: &Table, times: &[Times]) -> Result<()> {
        let (Some(first), Some(last)) = (times.first(), times.last()) else { return Ok(()) };
        let range = TimeRange { start: Some(first.0), end: last.1.checked_add(1) };
        let base = self.base()?;
        let column = table.definition.time_column().map(|time| table.definition.position(&time.name));
        let columns = vec![column.transpose()?.ok_or_else(|| Error::internal("a rollup without time"))?];
        let request = ScanRequest { columns: columns.clone(), range, predicates: Vec::new(), use_cache: true };
        let scan = base.scan(table, &request)?;
        let is_removed = |time: i64| {
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
            let keep: BooleanArray = stamps.values().iter().map(|time| Some(!is_removed(*time))).collect();
            if keep.true_count() < stamps.len() {
                let successor = scan.rewrite(position, &Rewrite { keep: Some(keep), set: Vec::new() })?;
                self.replace(table, entry.id, successor)?;
            }
        }
        Ok(())
    }

    /// Adds the times of the removed chunks to the change logs of their tables, once for each chunk. Chunks that the
    /// batch itself added are not logged: no rollup has seen them.
    pub(crate) fn log_removed(&mut self) -> Result<()> {
        if !self.changes.has_unlogged() {
            return Ok(());
        }
        let base = self.base()?;
        let shared = Arc::clone(&self.handle.shared);
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
                let chunk = log_chunk(shared.environment.chunk_uid()?, log.id, table.id, &times)?;
                self.keep(chunk)?;
            }
        }
        Ok(())
    }

    /// Removes the chunks of the change log that all rollups of the table have accounted for.
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

    /// Removes all rows of a materialized view. From then on the batch may append others, to the table that this
    /// returns. The definition notes whether they are the rows of the query (`populated`).
    ///
    /// The definition counts this, and so changes with the commit: of two batches that refresh a view at the same time,
    /// the later one is a [`Conflict`](atsdb_core::ErrorKind::Conflict).
    pub fn refill(&mut self, table: &Table, populated: bool) -> Result<Table> {
        let mut to = table.definition.clone();
        let Some(materialized) = &mut to.materialized else {
            return Err(Error::internal(format!("{} is not a materialized view", table.definition.name)));
        };
        let was_populated = std::mem::replace(&mut materialized.populated, populated);
        materialized.refreshes = materialized.refreshes.saturating_add(1);
        self.changes.note_refreshed(table.id);
        self.truncate(table)?;
        // No other batch sees a table that this one has created.
        if self.changes.has_created(table.id) && was_populated == populated {
            return Ok(table.clone());
        }
        let refilled = self.redefine(table, to)?;
        self.changes.note_refreshed(refilled.id);
        Ok(refilled)
    }

    /// Refuses to change the rows of a sequence, and those of a rollup or a materialized view unless the batch
    /// refreshes it. A batch may fill the materialized view that it creates.
    pub(crate) fn check_writable(&self, table: &Table) -> Result<()> {
        if !self.changes.refreshes(table.id) && !self.changes.has_created(table.id) {
            table.definition.refuse_change()?;
        }
        match &table.definition.rollup {
            Some(rollup) if !self.changes.refreshes(table.id) => {
                let message =
                    format!("{} is a rollup: its rows are computed from {}", table.definition.name, rollup.table);
                Err(Error::new(ErrorKind::Sql, message).with_hint(format!("change the rows of {}", rollup.table)))
            }
            None if table.definition.sequence => {
                let message = format!("{} is a sequence and has no rows", table.definition.name);
                Err(Error::new(ErrorKind::Sql, message).with_hint("name a table"))
            }
            _ => Ok(()),
        }
    }

    /// Drops the change log with a table that has one, and that of a source table with its last rollup. A table that
    /// has rollups is refused.
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
