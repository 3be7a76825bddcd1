//! A last check before the commit: the chunks that other writers have added since the batch first read the store must
//! have none of the batch's keys. A key that the batch itself adds must hold for them and all other rows, too. Then the
//! guards are raised. If yet another chunk is added between this check and the commit, the store refuses the commit,
//! and the check is repeated for that chunk. The batch then reads the store anew: of the older state only the versions
//! of definitions matter, and these it has kept.
//!
//! A new chunk need not have new rows: others may have sealed or rewritten older ones. Rows of chunks that the batch
//! does not remove have none of its keys, however often they are rewritten. If it does remove the chunk that they come
//! from, that is a conflict, and nothing is compared.

use crate::batch::Batch;
use crate::batch::keys::added::refuse_nulls;
use crate::batch::keys::bounds::may_meet;
use crate::batch::keys::groups::Groups;
use crate::batch::keys::key::{Key, KeyColumns};
use crate::batch::keys::keyed_rows::key_exists;
use crate::chunk::missing::column_statistics;
use crate::read::scan::{Scan, ScanRequest};
use crate::read::scan_chunk::ScanChunk;
use crate::read::snapshot::ReadSnapshot;
use crate::shared::definitions::changed_meanwhile;
use atsdb_core::{
    ChunkGuard, ChunkId, ColumnStatistics, Error, ErrorKind, Result, Table, TableDefinition, TimeRange, refusal,
};
use std::collections::BTreeSet;

/// The maximum number of further checks, each of the chunks that were added during the preceding one.
const RECHECKS_MAX: usize = 20;

impl Batch {
    /// Checks the chunks that are newer than the guards, and raises the guards. Returns whether there were any.
    ///
    /// Errors: [`Conflict`](ErrorKind::Conflict) or [`DuplicateKey`](ErrorKind::DuplicateKey), as the batch reports it,
    /// if another writer has added a row of the same key.
    pub(crate) fn recheck_guards(&mut self) -> Result<bool> {
        for round in 0..RECHECKS_MAX {
            if !self.recheck_newer()? {
                return Ok(round > 0);
            }
        }
        Ok(true)
    }

    /// One check. Returns whether there was something to check.
    fn recheck_newer(&mut self) -> Result<bool> {
        let guards = self.changes.guards().to_vec();
        if guards.is_empty() && self.changes.references().is_empty() {
            return Ok(false);
        }
        let fresh = ReadSnapshot::take(&self.handle.shared)?;
        let has_followed = self.follow_known(&fresh)?;
        let newest = fresh.inner.store.newest_chunk()?;
        if guards.iter().all(|guard| guard.newest >= newest) {
            return Ok(has_followed);
        }
        let (own, base) = (self.snapshot()?, self.base()?);
        for guard in &guards {
            // A table that the batch or another writer has dropped is not compared: the commit decides.
            let table = own.tables().iter().find(|table| table.id == guard.table);
            let (Some(table), Some(before)) = (table, base.table_by_id(guard.table)) else { continue };
            let Some(now) = fresh.table_by_id(table.id) else { continue };
            let is_followed = self.changes.references().known().contains_key(&table.id);
            if now.version != before.version && !(is_followed && now.definition == before.definition) {
                return Err(changed_meanwhile(&before.definition));
            }
            if table.definition.is_in_memory() {
                require_unsaved(table, guard, &fresh)?;
                continue;
            }
            let visible = fresh.inner.store.chunks(table.id, TimeRange::ALL)?;
            let visible: BTreeSet<ChunkId> = visible.iter().map(|entry| entry.id).collect();
            if let Some(replaced) = self.changes.removed_from(table.id).find(|chunk| !visible.contains(chunk)) {
                return Err(refusal::chunk_replaced(&table.definition.name, replaced));
            }
            let removed = self.changes.removed_and_hidden();
            let names_duplicates = self.keyed.names_duplicates_of(table.id);
            let snapshots = (&fresh, &own, &base);
            Recheck::new(table, &before.definition, guard, snapshots, removed, names_duplicates)?.run()?;
            self.recheck_references(table, guard, &fresh)?;
        }
        self.changes.raise_guards(newest);
        Ok(true)
    }
}

/// Refuses to save the rows of a table in memory if another process has saved some since the batch first read the
/// store.
fn require_unsaved(table: &Table, guard: &ChunkGuard, fresh: &ReadSnapshot) -> Result<()> {
    let saved = fresh.inner.store.chunks(table.id, TimeRange::ALL)?;
    match saved.iter().any(|entry| entry.id > guard.newest) {
        true => {
            let message =
                format!("the rows of table {} were saved by another process in the meantime", table.definition.name);
            Err(Error::new(ErrorKind::Conflict, message))
        }
        false => Ok(()),
    }
}

/// The comparison of a table's chunks that are newer than the guard.
struct Recheck<'a> {
    table: &'a Table,
    older: &'a TableDefinition,
    /// The keys, and for each whether the batch adds it.
    keys: Vec<(Key, bool)>,
    /// All chunks that are visible now. Those in `removed`, which the batch removes, are skipped.
    fresh: Scan,
    removed: BTreeSet<ChunkId>,
    newest_checked: ChunkId,
    /// The chunks that the batch sees, including its own.
    own: Scan,
    /// The chunks that the batch sees and that are not its own.
    known: BTreeSet<ChunkId>,
    /// The batch's view of the store, with its own changes.
    snapshot: &'a ReadSnapshot,
    /// Whether a row whose key another writer has added is reported as a duplicate.
    names_duplicates: bool,
}

impl<'a> Recheck<'a> {
    fn new(
        table: &'a Table,
        older: &'a TableDefinition,
        guard: &ChunkGuard,
        (fresh, snapshot, base): (&ReadSnapshot, &'a ReadSnapshot, &ReadSnapshot),
        removed: BTreeSet<ChunkId>,
        names_duplicates: bool,
    ) -> Result<Self> {
        let added = table.definition.keys_added_to(older);
        let keyed = |unique| Ok((Key::of(&table.definition, unique)?, added.contains(&unique)));
        let keys = table.definition.unique.iter().map(keyed).collect::<Result<_>>()?;
        let known = base.inner.store.chunks(table.id, TimeRange::ALL)?;
        let known = known.into_iter().map(|entry| entry.id).collect();
        // The batch may have given the table a definition that a snapshot of the store does not have.
        let request = ScanRequest { columns: Vec::new(), use_cache: true, ..ScanRequest::all(table) };
        let (fresh, own) = (Scan::plan(fresh, table, &request)?, Scan::plan(snapshot, table, &request)?);
        let newest_checked = guard.newest;
        Ok(Self { table, older, keys, fresh, removed, newest_checked, own, known, snapshot, names_duplicates })
    }

    fn run(&self) -> Result<()> {
        let is_newer = |chunk: &ScanChunk| chunk.entry.id > self.newest_checked;
        for (at, chunk) in self.fresh.chunks().iter().enumerate().filter(|(_, chunk)| is_newer(chunk)) {
            let has_no_null = refuse_nulls(&self.table.definition, self.older, chunk);
            has_no_null.map_err(|error| Error::new(ErrorKind::Conflict, error.message()))?;
            if let Some(check) = self.fresh.violated_in(at, self.older)? {
                let error = self.table.definition.violated_check(check);
                return Err(Error::new(ErrorKind::Conflict, error.message()));
            }
            for (key, is_added) in &self.keys {
                self.compare(at, key, *is_added)?;
            }
        }
        Ok(())
    }

    /// Compares a newer chunk with the batch's own chunks, and for a key that the batch adds with itself and with all
    /// other chunks.
    fn compare(&self, at: usize, key: &Key, is_added: bool) -> Result<()> {
        let chunk = &self.fresh.chunks()[at];
        let is_own = |other: &ScanChunk| !self.known.contains(&other.entry.id);
        let is_other = |other: &ScanChunk| other.entry.id != chunk.entry.id && !self.removed.contains(&other.entry.id);
        let own = self.own.chunks().iter().enumerate().filter(|(_, other)| is_own(other));
        let visible = self.fresh.chunks().iter().enumerate().filter(|(_, other)| is_added && is_other(other));
        let others = own.map(|other| (&self.own, other)).chain(visible.map(|other| (&self.fresh, other)));
        let bounds = self.statistics(key, chunk);
        let mut groups = None;
        if is_added {
            let of_chunk = self.groups(at, key)?;
            let keyed = (0..chunk.entry.row_count as usize).filter(|row| of_chunk.group(*row).is_some()).count();
            if of_chunk.count() < keyed {
                return Err(self.conflict());
            }
            groups = Some(of_chunk);
        }
        for (scan, (other_at, other)) in others {
            let other_bounds = self.statistics(key, other);
            if !may_meet(key, (chunk.entry.row_count, &bounds), (other.entry.row_count, &other_bounds)) {
                continue;
            }
            let groups = match &mut groups {
                Some(groups) => groups,
                none => none.insert(self.groups(at, key)?),
            };
            let columns: KeyColumns = scan.read_stored(other_at, &key.positions)?;
            if let Some(row) = groups.find(&columns)?.iter().position(Option::is_some) {
                return Err(match self.names_duplicates && !is_added {
                    true => key_exists(self.table, key, &columns, row, self.snapshot),
                    false => self.conflict(),
                });
            }
        }
        Ok(())
    }

    fn groups(&self, at: usize, key: &Key) -> Result<Groups> {
        Groups::of(&[self.fresh.read_stored(at, &key.positions)?], key.nulls_equal)
    }

    fn statistics(&self, key: &Key, chunk: &ScanChunk) -> Vec<ColumnStatistics> {
        let columns = key.positions.iter().map(|position| &self.table.definition.columns[*position]);
        columns.map(|column| column_statistics(&chunk.descriptor, column)).collect()
    }

    fn conflict(&self) -> Error {
        let message = format!("another writer has added rows of the same key to table {}", self.table.definition.name);
        Error::new(ErrorKind::Conflict, message)
    }
}
