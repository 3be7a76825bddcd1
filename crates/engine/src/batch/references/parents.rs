//! The keys that a parent lacks after a batch has removed or rewritten chunks of it: what becomes of the rows that
//! refer to them.

use crate::batch::Batch;
use crate::batch::keys::key::KeyColumns;
use crate::batch::overlay::{Overlay, StageContents};
use crate::batch::references::children::{own_table, references_to};
use crate::batch::references::lookup::{ForeignKeySide, WantedKeys, scan_of, scan_over, sides};
use crate::batch::references::moved::ChangedKeys;
use crate::batch::references::present::PresentReference;
use crate::batch::references::state::{DeletedRows, GoneKeys, KnownTable, MovedRows, Reference, RemovedChunk};
use crate::read::scan::Scan;
use crate::read::snapshot::{Inner, ReadSnapshot};
use atsdb_core::name::same_name;
use atsdb_core::{
    ChunkEntry, ChunkId, ColumnId, Error, ReferentialAction, Result, Snapshot, Table, TableId, TimeRange,
};
use std::collections::{BTreeMap, BTreeSet};
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

    /// Sets whether rows that are removed from now on are deleted, rather than changed, and returns the previous
    /// setting. The action of `ON DELETE` of a foreign key applies to deleted rows only, and that of `ON UPDATE` to
    /// changed ones. By default rows are changed.
    pub fn set_deleting(&mut self, is_deleting: bool) -> bool {
        std::mem::replace(&mut self.is_deleting, is_deleting)
    }

    /// Returns whether a foreign key refers to a table.
    pub(crate) fn is_parent(&mut self, table: TableId) -> Result<bool> {
        if self.changes.references().parents().is_none() {
            let base = self.base()?;
            let mut parents: BTreeMap<TableId, BTreeSet<usize>> = BTreeMap::new();
            if self.changes.has_foreign_keys(&base) {
                let tables = self.changes.tables(&base);
                for key in tables.iter().flat_map(|table| &table.definition.foreign_keys) {
                    let Some(parent) = tables.iter().find(|table| key.parent.is_of(&table.definition)) else {
                        continue;
                    };
                    let followed = parents.entry(parent.id).or_default();
                    if !key.on_update.refuses() {
                        let columns = &parent.definition.columns;
                        let position = |name: &String| columns.iter().position(|column| same_name(&column.name, name));
                        followed.extend(key.parent_columns.iter().filter_map(position));
                    }
                }
            }
            self.changes.references_mut().set_parents(Some(parents));
        }
        Ok(self.changes.references().parents().is_some_and(|parents| parents.contains_key(&table)))
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

    /// Finds the keys that parents lack without the removed chunks, and those that their moved rows have exchanged for
    /// others, deletes or changes the rows that refer to them where the foreign key says so, and returns the keys. More
    /// chunks of parents may be removed then. `deleted` are rows of chunks from which others were moved.
    pub(super) fn follow_removed(
        &mut self,
        removed: &[RemovedChunk],
        moved: &[MovedRows],
        deleted: &[DeletedRows],
    ) -> Result<Vec<GoneKeys>> {
        let mut all_gone = Vec::new();
        let changes: BTreeSet<(TableId, bool)> =
            removed.iter().map(|removed| (removed.table, removed.is_deletion)).collect();
        for (id, is_deletion) in changes {
            let view = self.snapshot()?;
            let Some(parent) = own_table(&view, id) else { continue };
            let is_meant = |removed: &&RemovedChunk| removed.table == id && removed.is_deletion == is_deletion;
            let before = self.scan_of_removed(&parent, removed.iter().filter(is_meant))?;
            // Another foreign key over the same columns would take the keys that rows have just got for former ones.
            let mut followed = BTreeSet::new();
            for reference in references_to(&view.inner.tables, &parent.definition) {
                let Some(child) = own_table(&view, reference.child) else { continue };
                let (_, side) = sides(&child.definition, &reference.key, &parent.definition)?;
                let of_parent = (&parent, &side);
                let lacking = lacking(&view, &parent, &side, &before)?;
                let mut changed = ChangedKeys::default();
                let gone = if is_deletion {
                    gone_keys(&reference, of_parent, true, lacking.clone(), &lacking)?
                } else {
                    if !reference.key.on_update.refuses() {
                        changed = self.changed_keys(&parent, &side, moved)?;
                    }
                    let deleted = self.deleted_keys(&parent, &side, deleted)?;
                    let (of_deleted, of_changed) = split(lacking, &deleted)?;
                    // Deleted rows come first: a changed row may have the key of one now.
                    let mut gone = gone_keys(&reference, of_parent, true, of_deleted, &deleted)?;
                    gone.extend(gone_keys(&reference, of_parent, false, of_changed, &changed.before)?);
                    gone
                };
                if gone.is_empty() {
                    continue;
                }
                self.guard_keys(child.id)?;
                if let Some(known) = self.changes.references_mut().known_mut().get_mut(&id) {
                    known.lacks_keys = true;
                }
                for gone in gone.iter().filter(|gone| !gone.action.refuses()) {
                    let columns = reference.key.columns.iter().copied().zip(gone.parent_columns.iter().copied());
                    if followed.insert((child.id, gone.is_deletion, columns.collect::<BTreeSet<_>>())) {
                        self.change_children(&parent, gone, &changed)?;
                    }
                }
                all_gone.extend(gone);
            }
        }
        Ok(all_gone)
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
        let store: Box<dyn Snapshot> = Box::new(overlay);
        let (tables, hidden, staged, seen) = (tables.into(), Arc::default(), BTreeSet::new(), None);
        let (begun, past_caches) = (None, false);
        let inner = Inner { store, tables, hidden, staged, seen, begun, shared, residents, past_caches };
        scan_over(&ReadSnapshot::of(inner), table, entries)
    }

    /// Refuses keys that are gone while rows refer to them.
    ///
    /// Errors: [`ForeignKeyViolation`](atsdb_core::ErrorKind::ForeignKeyViolation).
    pub(super) fn refuse_references(&mut self, gone: &[GoneKeys]) -> Result<()> {
        let mut refused = gone.iter().filter(|gone| gone.action.refuses()).peekable();
        if refused.peek().is_none() {
            return Ok(());
        }
        let view = self.snapshot()?;
        refused.try_for_each(|gone| {
            let Some(child) = own_table(&view, gone.reference.child) else { return Ok(()) };
            match referred_to(&view, gone, &scan_of(&view, &child)?)? {
                Some(error) => Err(error),
                None => Ok(()),
            }
        })
    }
}

/// The error for rows of the child in a scan that refer to keys that are gone, if there are any.
pub(super) fn referred_to(view: &ReadSnapshot, gone: &GoneKeys, scan: &Scan) -> Result<Option<Error>> {
    let Some(PresentReference { child, key, parent }) = gone.present_in(view) else { return Ok(None) };
    let (side, other) = sides(&child.definition, &key, &parent.definition)?;
    let wanted = side.wanted(&gone.keys)?;
    let (flags, _) = wanted.found_in(&side, scan)?;
    let values = wanted.first_text(&other, &flags, true)?;
    Ok(values.map(|values| child.definition.still_referenced(&key, &values)))
}

/// The keys of removed chunks that a parent does not have in a view of the batch.
fn lacking(view: &ReadSnapshot, parent: &Table, side: &ForeignKeySide<'_>, before: &Scan) -> Result<Vec<KeyColumns>> {
    let (present, mut keys) = (scan_of(view, parent)?, Vec::new());
    side.in_windows(before, |wanted| {
        let (flags, _) = wanted.found_in(side, &present)?;
        keys.extend(wanted.without(&flags)?);
        Ok(())
    })?;
    Ok(keys)
}

/// Splits the keys that a parent lacks into those of deleted rows and the others.
fn split(lacking: Vec<KeyColumns>, deleted: &[KeyColumns]) -> Result<(Vec<KeyColumns>, Vec<KeyColumns>)> {
    if lacking.is_empty() || deleted.is_empty() {
        return Ok((Vec::new(), lacking));
    }
    let lacking = WantedKeys::of(lacking)?;
    Ok((lacking.among(deleted)?, lacking.not_among(deleted)?))
}

/// The keys that a parent, whose side of the foreign key is given, lacks or that its rows have given up, each with what
/// happens to the rows that refer to them.
fn gone_keys(
    reference: &Reference,
    (parent, side): (&Table, &ForeignKeySide<'_>),
    is_deletion: bool,
    lacking: Vec<KeyColumns>,
    released: &[KeyColumns],
) -> Result<Vec<GoneKeys>> {
    use ReferentialAction::{Restrict, SetDefault};
    let action = if is_deletion { reference.key.on_delete } else { reference.key.on_update };
    let (followed, refused) = if action.refuses() {
        (lacking, Vec::new())
    } else if action == SetDefault || lacking.is_empty() {
        // A default may be the key that is gone.
        (released.to_vec(), lacking)
    } else if is_deletion {
        (released.to_vec(), Vec::new())
    } else {
        // A row whose new key is unknown cannot be told from a deleted one, so no row may refer to it.
        (released.to_vec(), WantedKeys::of(lacking)?.not_among(released)?)
    };
    let gone = [(action, followed), (Restrict, refused)].into_iter().filter(|(_, keys)| !keys.is_empty());
    let parent_columns: Vec<ColumnId> = side.columns().map(|column| column.id).collect();
    let of_action = |(action, keys)| {
        let (reference, parent_columns) = (reference.clone(), parent_columns.clone());
        GoneKeys { reference, parent: parent.id, parent_columns, is_deletion, action, keys }
    };
    Ok(gone.map(of_action).collect())
}
