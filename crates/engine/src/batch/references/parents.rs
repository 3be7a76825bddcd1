//! The keys that a parent lacks after a batch has removed or rewritten chunks of it: what becomes of the rows that
//! refer to them.

use crate::batch::Batch;
use crate::batch::keys::key::KeyColumns;
use crate::batch::overlay::{Overlay, StageContents};
use crate::batch::references::children::{own_table, references_to};
use crate::batch::references::lookup::{Side, WantedKeys, scan_of, scan_over, sides};
use crate::batch::references::state::{GoneKeys, KnownTable, Reference, RemovedChunk};
use crate::read::rewrite::Rewrite;
use crate::read::scan::Scan;
use crate::read::snapshot::{Inner, ReadSnapshot};
use arrow::array::{ArrayRef, BooleanArray, UInt32Array, new_null_array};
use atsdb_codec::stored_type;
use atsdb_core::{ChunkEntry, ChunkId, Error, NewChunk, ReferentialAction, Result, Table, TableId, TimeRange};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Batch {
    /// Notes a chunk that the batch is about to remove, if its table is a parent. Returns whether it is.
    pub(crate) fn note_parent_chunk(&mut self, table: TableId, chunk: ChunkId) -> Result<bool> {
        if !self.is_parent(table)? {
            return Ok(false);
        }
        self.know(table)?;
        let is_deletion = self.is_deleting;
        let pending = self.chunks.pending().iter().find(|pending| pending.id == chunk).cloned();
        self.changes.references_mut().note_removed(RemovedChunk { table, chunk, is_deletion, pending });
        Ok(true)
    }

    /// Says whether rows that are removed from now on are deleted, rather than changed, and returns what was said
    /// before. What `ON DELETE` of a foreign key says applies to deleted rows only: a row that others refer to cannot
    /// get another key. By default rows are changed.
    pub fn set_deleting(&mut self, is_deleting: bool) -> bool {
        std::mem::replace(&mut self.is_deleting, is_deleting)
    }

    /// Whether a foreign key refers to a table.
    pub(crate) fn is_parent(&mut self, table: TableId) -> Result<bool> {
        if self.changes.references().parents().is_none() {
            let base = self.base()?;
            let mut parents = BTreeSet::new();
            if self.changes.has_foreign_keys(&base) {
                let tables = self.changes.tables(&base);
                let keys = tables.iter().flat_map(|table| &table.definition.foreign_keys);
                parents.extend(keys.filter_map(|key| {
                    tables.iter().find(|table| key.parent.is_of(&table.definition)).map(|table| table.id)
                }));
            }
            self.changes.references_mut().set_parents(Some(parents));
        }
        Ok(self.changes.references().parents().is_some_and(|parents| parents.contains(&table)))
    }

    /// Keeps the definition of a table of the store, so that the commit can follow its versions.
    pub(crate) fn know(&mut self, table: TableId) -> Result<()> {
        if self.changes.references().known().contains_key(&table) {
            return Ok(());
        }
        let base = self.base()?;
        if let Some(table) = base.table_by_id(table) {
            let referenced_by = references_to(base.tables(), &table.definition);
            let known = KnownTable { table: table.clone(), referenced_by, is_relied_on: false, lacks_keys: false };
            self.changes.references_mut().known_mut().insert(table.id, known);
        }
        Ok(())
    }

    /// Finds the keys that parents lack without the removed chunks, deletes or changes the rows that refer to them
    /// where `ON DELETE` says so, and returns the keys. More chunks of parents may be removed then.
    pub(super) fn follow_removed(&mut self, removed: &[RemovedChunk]) -> Result<Vec<GoneKeys>> {
        let mut gone = Vec::new();
        let changes: BTreeSet<(TableId, bool)> =
            removed.iter().map(|removed| (removed.table, removed.is_deletion)).collect();
        for (id, is_deletion) in changes {
            let view = self.snapshot()?;
            let Some(parent) = own_table(&view, id) else { continue };
            let is_meant = |removed: &&RemovedChunk| removed.table == id && removed.is_deletion == is_deletion;
            let before = self.scan_of_removed(&parent, removed.iter().filter(is_meant))?;
            for reference in references_to(&view.inner.tables, &parent.definition) {
                let keys = self.lacking(&view, &parent, &reference, &before)?;
                if keys.is_empty() {
                    continue;
                }
                self.guard_keys(reference.child)?;
                if let Some(known) = self.changes.references_mut().known_mut().get_mut(&id) {
                    known.lacks_keys = true;
                }
                let keys = GoneKeys { reference, is_deletion, keys };
                if !keys.is_refused() {
                    self.change_children(&parent, &keys)?;
                }
                gone.push(keys);
            }
        }
        Ok(gone)
    }

    /// A scan over the removed chunks of a table.
    fn scan_of_removed<'a>(&mut self, table: &Table, removed: impl Iterator<Item = &'a RemovedChunk>) -> Result<Scan> {
        let base = self.base()?;
        let shared = Arc::clone(&self.handle.shared);
        let own: Vec<&RemovedChunk> = removed.collect();
        let ids: BTreeSet<ChunkId> = own.iter().map(|removed| removed.chunk).collect();
        let pending: Vec<_> = own.iter().filter_map(|removed| removed.pending.clone()).collect();
        let mut entries: Vec<ChunkEntry> = pending.iter().map(|pending| pending.entry()).collect();
        let in_memory: BTreeSet<ChunkId> = pending.iter().map(|pending| pending.id).collect();
        let is_meant = |entry: &ChunkEntry| ids.contains(&entry.id) && !in_memory.contains(&entry.id);
        entries.extend(base.inner.store.chunks(table.id, TimeRange::ALL)?.into_iter().filter(is_meant));
        let stage = match self.chunks.stage() {
            Some(stage) => {
                let staged = shared.store.stage_snapshot(stage)?.chunks(table.id, TimeRange::ALL)?;
                entries.extend(staged.into_iter().filter(is_meant));
                Some(StageContents::read(shared.store.as_ref(), stage, std::slice::from_ref(table))?)
            }
            None => None,
        };
        let (store, tables) = (Arc::clone(&shared.store), vec![table.clone()]);
        let residents = base.inner.residents.clone();
        let overlay = Overlay { store, base, stage, tables: tables.clone(), removed: BTreeSet::new(), pending };
        let (hidden, staged) = (Vec::new(), BTreeSet::new());
        let inner = Inner { store: Box::new(overlay), tables, hidden, staged, shared, residents, past_caches: false };
        scan_over(&ReadSnapshot::of(inner), table, entries)
    }

    /// The keys of removed chunks that a parent does not have in a view of the batch.
    fn lacking(
        &self,
        view: &ReadSnapshot,
        parent: &Table,
        reference: &Reference,
        before: &Scan,
    ) -> Result<Vec<KeyColumns>> {
        let Some(child) = own_table(view, reference.child) else { return Ok(Vec::new()) };
        let (_, side) = sides(&child.definition, &reference.key, &parent.definition)?;
        let present = scan_of(view, parent)?;
        let mut keys = Vec::new();
        side.in_windows(before, |wanted| {
            let (flags, _) = wanted.found_in(&side, &present)?;
            keys.extend(wanted.without(&flags)?);
            Ok(())
        })?;
        Ok(keys)
    }

    /// Deletes the rows that refer to keys that are gone, or sets their columns to NULL.
    fn change_children(&mut self, parent: &Table, gone: &GoneKeys) -> Result<()> {
        let view = self.snapshot()?;
        let Reference { child, key } = &gone.reference;
        let Some(child) = own_table(&view, *child) else { return Ok(()) };
        let (side, _) = sides(&child.definition, key, &parent.definition)?;
        let scan = scan_of(&view, &child)?;
        let wanted = WantedKeys::of(gone.keys.clone())?;
        let sets_null = key.on_delete == ReferentialAction::SetNull;
        let was_deleting = self.set_deleting(!sets_null);
        let done = wanted.rows_in(&side, &scan)?.into_iter().try_for_each(|(position, rows)| {
            let successor = match sets_null {
                true => with_nulls(&scan, &side, position, rows)?,
                false => without_rows(&scan, position, &rows)?,
            };
            self.replace(&child, scan.chunks()[position].entry.id, successor)
        });
        self.set_deleting(was_deleting);
        done
    }

    /// Refuses keys that are gone while rows refer to them.
    ///
    /// Errors: [`ForeignKeyViolation`](atsdb_core::ErrorKind::ForeignKeyViolation).
    pub(super) fn refuse_references(&mut self, gone: &[GoneKeys]) -> Result<()> {
        let mut refused = gone.iter().filter(|gone| gone.is_refused()).peekable();
        if refused.peek().is_none() {
            return Ok(());
        }
        let view = self.snapshot()?;
        refused.try_for_each(|gone| {
            let Some(child) = own_table(&view, gone.reference.child) else { return Ok(()) };
            match referred_to(&view, &child, gone, &scan_of(&view, &child)?)? {
                Some(error) => Err(error),
                None => Ok(()),
            }
        })
    }
}

/// The error for rows of a scan that refer to keys that are gone, if there are any.
pub(super) fn referred_to(view: &ReadSnapshot, child: &Table, gone: &GoneKeys, scan: &Scan) -> Result<Option<Error>> {
    let key = &gone.reference.key;
    let Some(parent) = view.inner.tables.iter().find(|table| key.parent.is_of(&table.definition)) else {
        return Ok(None);
    };
    let (side, other) = sides(&child.definition, key, &parent.definition)?;
    let wanted = WantedKeys::of(gone.keys.clone())?;
    let (flags, _) = wanted.found_in(&side, scan)?;
    let values = wanted.first_text(&other, &flags, true)?;
    Ok(values.map(|values| child.definition.still_referenced(key, &values)))
}

/// The successor of a chunk without some rows.
fn without_rows(scan: &Scan, position: usize, rows: &[u32]) -> Result<Option<NewChunk>> {
    let mut keep = vec![true; scan.chunks()[position].entry.row_count as usize];
    rows.iter().for_each(|row| keep[*row as usize] = false);
    scan.rewrite(position, &Rewrite { keep: Some(BooleanArray::from(keep)), set: Vec::new() })
}

/// The successor of a chunk in which the columns of a foreign key are NULL in some rows.
fn with_nulls(scan: &Scan, side: &Side<'_>, position: usize, rows: Vec<u32>) -> Result<Option<NewChunk>> {
    let (definition, rows) = (&scan.table.definition, UInt32Array::from(rows));
    let set = side.positions.iter().map(|at| {
        let column = &definition.columns[*at];
        if !column.nullable {
            return Err(Error::invalid(format!("table {}, column {}: a value is NULL", definition.name, column.name)));
        }
        let nulls: ArrayRef = new_null_array(&stored_type(column), rows.len());
        Ok((*at, scan.replaced(position, *at, &rows, &nulls)?))
    });
    let set = set.collect::<Result<Vec<_>>>()?;
    scan.rewrite(position, &Rewrite { keep: None, set })
}
