//! A last check before the commit: the chunks that other writers have added since the batch first read the store,
//! mostly by sealing, must have none of the batch's keys. Then the guards are raised, so that only a chunk added
//! between this check and the commit is a conflict.

use crate::batch::Batch;
use crate::batch::keys::bounds::may_meet;
use crate::batch::keys::groups::Groups;
use crate::batch::keys::key::{Key, KeyColumns};
use crate::chunk::missing::column_statistics;
use crate::read::scan::{Scan, ScanRequest};
use crate::read::scan_chunk::ScanChunk;
use crate::read::snapshot::ReadSnapshot;
use atsdb_core::{ChunkGuard, ChunkId, ColumnStatistics, Error, ErrorKind, Result, Table, TimeRange};
use std::collections::BTreeSet;

impl Batch {
    /// Checks the chunks that are newer than the guards, and raises the guards.
    ///
    /// Errors: [`Conflict`](ErrorKind::Conflict) if another writer has added a row of the same key.
    pub(crate) fn recheck_guards(&mut self) -> Result<()> {
        let guards = self.changes.guards().to_vec();
        if guards.is_empty() {
            return Ok(());
        }
        let fresh = ReadSnapshot::take(&self.handle.shared)?;
        let newest = fresh.inner.store.newest_chunk()?;
        if guards.iter().all(|guard| guard.newest >= newest) {
            return Ok(());
        }
        let (own, base) = (self.snapshot()?, self.base()?);
        for guard in &guards {
            // A table that the batch or another writer has dropped is not compared: the commit decides.
            let table = own.tables().iter().find(|table| table.id == guard.table).cloned();
            if let Some(table) = table
                && fresh.tables().iter().any(|visible| visible.id == table.id)
            {
                if table.definition.is_in_memory() {
                    require_unsaved(&table, guard, &fresh)?;
                    continue;
                }
                compare(&table, guard, &fresh, &own, &base)?;
            }
        }
        self.changes.raise_guards(newest);
        Ok(())
    }
}

/// Refuses to save rows of a table in memory beside those that somebody else has saved since the batch first looked.
fn require_unsaved(table: &Table, guard: &ChunkGuard, fresh: &ReadSnapshot) -> Result<()> {
    let saved = fresh.inner.store.chunks(table.id, TimeRange::ALL)?;
    match saved.iter().any(|entry| entry.id > guard.newest) {
        true => {
            let message =
                format!("the rows of table {} were saved by another process meanwhile", table.definition.name);
            Err(Error::new(ErrorKind::Conflict, message))
        }
        false => Ok(()),
    }
}

/// Refuses a key that is both in one of the batch's own chunks and in a chunk that is newer than the guard.
fn compare(
    table: &Table,
    guard: &ChunkGuard,
    fresh: &ReadSnapshot,
    own: &ReadSnapshot,
    base: &ReadSnapshot,
) -> Result<()> {
    let keys = Key::all_of(&table.definition)?;
    let (fresh, own) = (scan(fresh, table)?, scan(own, table)?);
    let known = base.inner.store.chunks(table.id, TimeRange::ALL)?;
    let known: BTreeSet<ChunkId> = known.into_iter().map(|entry| entry.id).collect();
    let added = |chunk: &ScanChunk| chunk.entry.id > guard.newest;
    let is_own = |chunk: &ScanChunk| !known.contains(&chunk.entry.id);
    for (new_at, new) in fresh.chunks().iter().enumerate().filter(|(_, chunk)| added(chunk)) {
        for (own_at, mine) in own.chunks().iter().enumerate().filter(|(_, chunk)| is_own(chunk)) {
            for key in &keys {
                let (a, b) = (statistics(table, key, new), statistics(table, key, mine));
                if !may_meet(key, (new.entry.row_count, &a), (mine.entry.row_count, &b)) {
                    continue;
                }
                let mine: KeyColumns = own.read_stored(own_at, &key.positions)?;
                let groups = Groups::of(&[mine], key.nulls_equal)?;
                if groups.find(&fresh.read_stored(new_at, &key.positions)?)?.iter().any(Option::is_some) {
                    let message =
                        format!("another writer has added rows of the same key to table {}", table.definition.name);
                    return Err(Error::new(ErrorKind::Conflict, message));
                }
            }
        }
    }
    Ok(())
}

fn scan(snapshot: &ReadSnapshot, table: &Table) -> Result<Scan> {
    let (range, predicates) = (TimeRange::ALL, Vec::new());
    snapshot.scan(table, &ScanRequest { columns: Vec::new(), range, predicates, use_cache: true })
}

fn statistics(table: &Table, key: &Key, chunk: &ScanChunk) -> Vec<ColumnStatistics> {
    let columns = key.positions.iter().map(|position| &table.definition.columns[*position]);
    columns.map(|column| column_statistics(&chunk.descriptor, column)).collect()
}
