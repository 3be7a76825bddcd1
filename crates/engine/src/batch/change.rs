//! The operations of a batch besides adding rows: reading its own state, replacing and removing chunks, and changing
//! tables.
//!
//! Not owned: the list of what the commit removes and redefines (`changes`), how the batch's own state is read
//! (`overlay`), and incoming rows (`batch`).

use crate::batch::Batch;
use crate::batch::overlay::{Overlay, StageContents};
use crate::batch::references::declared::renamed_in_itself;
use crate::chunk::long_values::LongValues;
use crate::chunk::missing::missing_scalar;
use crate::read::snapshot::{Inner, ReadSnapshot, schema_names};
use crate::shared::temporary::{TemporaryTables, is_temporary};
use atsdb_core::limits::MISSING_BYTES_MAX;
use atsdb_core::name::same_name;
use atsdb_core::refusal;
use atsdb_core::{
    ChunkId, Column, Error, ErrorKind, NewChunk, Redefinition, Result, Snapshot, Table, TableDefinition, TableId,
    TimeRange,
};
use std::sync::Arc;

impl Batch {
    /// The state that the batch sees: the store when the batch first read it, with the batch's own changes. Waiting
    /// rows become chunks first. Later changes of the batch do not show in the snapshot.
    pub fn snapshot(&mut self) -> Result<ReadSnapshot> {
        self.settle()?;
        let base = self.base()?;
        let temporary = self.temporary_tables();
        let search_path = self.session.as_ref().map(TemporaryTables::search_path).unwrap_or_default();
        if self.is_untouched() {
            return Ok(base.with_shown(&temporary, search_path));
        }
        let shown = self.chunks.show();
        self.note_half_done(shown)?;
        Ok(self.over(base)?.with_shown(&temporary, search_path))
    }

    /// A state of the store with the batch's own changes. No rows may wait.
    pub(crate) fn over(&self, base: ReadSnapshot) -> Result<ReadSnapshot> {
        let shared = Arc::clone(&self.handle.shared);
        let tables = self.changes.tables(&base);
        let stage = match self.chunks.stage() {
            Some(stage) => {
                let all: Vec<Table> = tables.iter().chain(base.inner.hidden.iter()).cloned().collect();
                Some(StageContents::read(shared.store.as_ref(), stage, &all)?)
            }
            None => None,
        };
        let others = base.inner.hidden.iter().filter(|table| !table.definition.is_entry()).cloned();
        let hidden = others.chain(self.changes.entries(&base)).collect();
        let staged = stage.as_ref().map(StageContents::chunks).cloned().unwrap_or_default();
        let removed = self.changes.removed_and_hidden();
        let pending = self.chunks.pending().to_vec();
        let store = Arc::clone(&shared.store);
        let residents = self.drafts.over(&base.inner.residents);
        let seen = Some(base.clone());
        let overlay = Overlay { store, base, stage, tables: tables.clone(), removed, pending };
        let store: Box<dyn Snapshot> = Box::new(overlay);
        let (tables, begun, past_caches) = (tables.into(), None, false);
        let inner = Inner { store, tables, hidden, staged, seen, begun, shared, residents, past_caches };
        Ok(ReadSnapshot::of(inner))
    }

    /// The tables that [`snapshot`](Self::snapshot) would have. Waiting rows keep waiting.
    pub fn tables(&mut self) -> Result<Vec<Table>> {
        let mut tables = self.temporary_tables();
        tables.extend(self.stored_tables()?);
        Ok(tables)
    }

    /// The entries of schemas and of enumerated types that [`snapshot`](Self::snapshot) would have.
    pub fn entries(&mut self) -> Result<Vec<Table>> {
        let base = self.base()?;
        Ok(self.changes.entries(&base))
    }

    /// The names of the schemas that [`snapshot`](Self::snapshot) would have.
    pub fn schemas(&mut self) -> Result<Vec<String>> {
        let (tables, entries) = (self.stored_tables()?, self.entries()?);
        Ok(schema_names(tables.iter().chain(&entries)))
    }

    /// The tables of the batch that are in the store, without temporary ones.
    pub(crate) fn stored_tables(&mut self) -> Result<Vec<Table>> {
        let base = self.base()?;
        Ok(self.changes.tables(&base))
    }

    /// Lets the batch see the present state of the store, if it has changed nothing yet, and no savepoint has the state
    /// that it sees. Call this only if nothing has been read from its snapshot.
    pub fn refresh(&mut self) {
        if self.is_new() {
            self.changes.forget_base();
        }
    }

    /// Returns whether the batch has changed nothing and has no rows, and a rollback to a savepoint would not show a
    /// state that it has read before.
    fn is_new(&self) -> bool {
        let has_saved = self.savepoints.iter().any(|savepoint| savepoint.changes.base().is_some());
        self.is_untouched() && !self.chunks.has_rows() && self.row_count() == 0 && !has_saved
    }

    /// The state of the store that the batch sees, without its own changes.
    pub fn seen(&mut self) -> Result<ReadSnapshot> {
        self.base()
    }

    /// Returns whether the batch has read the store.
    pub fn has_seen(&self) -> bool {
        self.changes.base().is_some()
    }

    /// Lets the batch see a state that another one has [`seen`](Self::seen). Returns `false` if it has changed
    /// something. Call this only if nothing has been read from its snapshot.
    pub fn see(&mut self, seen: &ReadSnapshot) -> Result<bool> {
        let is_new = self.is_new();
        if is_new {
            self.changes.set_base(seen)?;
        }
        Ok(is_new)
    }

    /// Replaces a chunk of [`snapshot`](Self::snapshot) by its successor, or removes it. Returns the number by which
    /// the successor can be replaced before the next snapshot; `None` if there is none, or if it is written ahead. If
    /// another writer changes the chunk before the commit, the commit fails with [`ErrorKind::Conflict`].
    pub fn replace(&mut self, table: &Table, chunk: ChunkId, successor: Option<NewChunk>) -> Result<Option<ChunkId>> {
        self.check_writable(table)?;
        self.changes.name_definition(table)?;
        if let Some(successor) = &successor {
            self.note_successor(table, chunk, successor)?;
        }
        self.remove_chunk(table.id, chunk)?;
        match successor {
            Some(successor) => {
                let uid = successor.descriptor.uid;
                self.note_rewritten_child(table);
                self.keep(successor)?;
                let mut pending = self.chunks.pending().iter().rev();
                Ok(pending.find(|pending| pending.chunk.descriptor.uid == uid).map(|pending| pending.id))
            }
            None => Ok(None),
        }
    }

    /// Removes all rows of a table without reading them, and returns how many there were. After an error the batch
    /// cannot be committed.
    pub fn truncate(&mut self, table: &Table) -> Result<u64> {
        let table = self.own_table(table)?;
        self.check_writable(&table)?;
        let was_deleting = self.set_deleting(true);
        let done = self.remove_all(&table);
        self.set_deleting(was_deleting);
        self.note_half_done(done)
    }

    fn remove_all(&mut self, table: &Table) -> Result<u64> {
        if table.definition.is_in_memory() {
            return self.draft(table)?.truncate();
        }
        let snapshot = self.snapshot()?;
        self.changes.name_definition(table)?;
        let mut row_count = 0;
        for entry in snapshot.inner.store.chunks(table.id, TimeRange::ALL)? {
            row_count += u64::from(entry.row_count);
            self.remove_chunk(table.id, entry.id)?;
        }
        Ok(row_count)
    }

    /// Drops a table with all its rows. A table that has rollups, or to which foreign keys of others refer, is refused.
    /// After any other error the batch cannot be committed.
    pub fn drop_table(&mut self, table: &Table) -> Result<()> {
        self.drop_tables(std::slice::from_ref(table))
    }

    /// Drops tables, which may refer to each other, as [`drop_table`](Self::drop_table) drops one.
    pub fn drop_tables(&mut self, tables: &[Table]) -> Result<()> {
        for table in tables {
            self.refuse_drop_of_parent(table, tables)?;
        }
        tables.iter().try_for_each(|table| self.drop_alone(table))
    }

    fn drop_alone(&mut self, table: &Table) -> Result<()> {
        self.settle()?;
        let table = self.own_table(table)?;
        if is_temporary(table.id) {
            self.drop_temporary(&table);
            return Ok(());
        }
        self.leave_rollups(&table)?;
        let done = self.remove_table(&table);
        self.note_half_done(done)
    }

    fn remove_table(&mut self, table: &Table) -> Result<()> {
        self.forget_rows(table.id);
        self.drafts.drop_table(table.id);
        if self.uncreate(table)? {
            return Ok(());
        }
        self.base()?;
        self.changes.name_definition(table)?;
        // Staged chunks of the table would make the commit fail: they would not find their table.
        if let Some(stage) = self.chunks.stage() {
            let chunks = self.handle.shared.store.stage_snapshot(stage)?.chunks(table.id, TimeRange::ALL)?;
            let chunks: Vec<ChunkId> = chunks.iter().map(|entry| entry.id).collect();
            self.unstage(stage, &chunks)?;
        }
        self.changes.note_dropped(table.id);
        Ok(())
    }

    /// Gives a table another definition. Rows added before keep the old one. If it adds a key, a CHECK or a foreign
    /// key, or forbids NULL, all rows are checked. The commit is a [`Conflict`](ErrorKind::Conflict) if another writer
    /// meanwhile adds rows that break it. After a [`DuplicateKey`](ErrorKind::DuplicateKey), a
    /// [`CheckViolation`](ErrorKind::CheckViolation), a [`ForeignKeyViolation`](ErrorKind::ForeignKeyViolation) or an
    /// [`InvalidValue`](ErrorKind::InvalidValue) because of such rows, the batch cannot be committed. Foreign keys that
    /// refer to the table get its new names; a definition that they cannot refer to is refused.
    pub fn redefine(&mut self, table: &Table, to: TableDefinition) -> Result<Table> {
        let to = renamed_in_itself(&table.definition, to)?;
        to.check()?;
        check_missing(&table.definition, &to)?;
        self.settle()?;
        if is_temporary(table.id) {
            return self.redefine_temporary(table, to);
        }
        if to != table.definition {
            self.refuse_pending(table)?;
        }
        let base = self.base()?;
        let mut others = self.changes.tables(&base);
        others.extend(self.changes.entries(&base));
        let taken = |other: &&Table| other.id != table.id && same_name(&other.definition.name, &to.name);
        if let Some(other) = others.iter().find(taken) {
            return Err(refusal::table_exists(&other.definition.name));
        }
        self.hold_dependencies(Some(&table.definition), &to)?;
        self.forget_writer(table.id);
        if self.changes.has_created(table.id) {
            let created = self.recreate(table, &to)?;
            let kept = self.keep_references(&table.definition, &created);
            return self.note_half_done(kept).map(|()| created);
        }
        let visible = base.tables().iter().chain(base.entries()).find(|visible| visible.id == table.id);
        let from = visible.ok_or_else(|| Error::not_found(format!("table {} was dropped", table.definition.name)))?;
        self.changes.name_definition(table)?;
        let older = others.iter().find(|own| own.id == table.id).unwrap_or(from).definition.clone();
        let redefined = Table { id: table.id, version: from.version.next(), definition: to.clone() };
        let change = Redefinition { table: table.id, from: from.definition.clone(), to };
        self.supplied.note_restarted(&self.handle.shared, table.id, &older, &change.to);
        let done = self.redefine_resident(table, &change.to).and_then(|()| {
            self.changes.note_redefined(change);
            self.keep_references(&older, &redefined)?;
            self.check_added_to(&older, &redefined)?;
            self.check_added_references(&older, &redefined)
        });
        self.note_half_done(done)?;
        Ok(redefined)
    }

    /// Makes later rows of a table follow the definition that comes with them. No rows may wait.
    pub(crate) fn forget_writer(&mut self, table: TableId) {
        self.keyed.forget(table);
        self.chunks.take_writer(table);
        self.changes.references_mut().reread_added(table);
    }

    /// The table as the batch sees it, under any definition that the caller has: for operations on a whole table.
    fn own_table(&mut self, table: &Table) -> Result<Table> {
        let tables = if table.definition.is_entry() { self.entries()? } else { self.tables()? };
        let own = tables.into_iter().find(|own| own.id == table.id);
        own.ok_or_else(|| Error::not_found(format!("table {} was dropped", table.definition.name)))
    }

    /// The state of the store when the batch first read it. If it has not read yet, that is now.
    pub(crate) fn base(&mut self) -> Result<ReadSnapshot> {
        if let Some(base) = self.changes.base() {
            return Ok(base.clone());
        }
        let base = ReadSnapshot::take(&self.handle.shared)?;
        self.changes.set_base(&base)?;
        let rebased = self.rebase_drafts(&base);
        self.note_half_done(rebased)?;
        Ok(base)
    }

    /// Refuses the name of an existing table. This does not fix the state that the batch sees.
    pub(crate) fn check_name(&self, name: &str) -> Result<()> {
        let taken = |base: &ReadSnapshot| [self.changes.tables(base), self.changes.entries(base)].concat();
        let tables = match self.changes.base() {
            Some(base) => taken(base),
            None => taken(&ReadSnapshot::take(&self.handle.shared)?),
        };
        match tables.iter().find(|table| same_name(&table.definition.name, name)) {
            Some(table) => Err(refusal::table_exists(&table.definition.name)),
            None => Ok(()),
        }
    }

    /// The number of strings that the dictionary of a mapped column has now.
    pub fn mapped_count(&self, table: &Table, column: &Column) -> Result<usize> {
        let store = &self.handle.shared.store;
        let snapshot = match self.chunks.stage().filter(|_| self.changes.has_created(table.id)) {
            Some(stage) => store.stage_snapshot(stage)?,
            None => store.snapshot()?,
        };
        Ok(snapshot.mapping(table.id, column.id, 0)?.len())
    }

    fn is_untouched(&self) -> bool {
        self.changes.is_empty() && self.chunks.has_no_chunks() && self.drafts.is_empty()
    }

    pub(crate) fn remove_chunk(&mut self, table: TableId, chunk: ChunkId) -> Result<()> {
        // The base still has the chunk's rows: later keys are compared with the batch's own view instead.
        self.keyed.note_rewritten(table);
        let is_of_parent = self.note_parent_chunk(table, chunk)?;
        if chunk.0 < 0 {
            return match self.chunks.remove_pending(chunk) {
                true => Ok(()),
                false => {
                    let message = "the statement changes rows that another part of it has already changed or stored";
                    Err(Error::new(ErrorKind::Limit, message).with_hint("COMMIT before it, or write two statements"))
                }
            };
        }
        if let Some(stage) = self.chunks.stage() {
            let staged = self.handle.shared.store.stage_snapshot(stage)?.chunks(table, TimeRange::ALL)?;
            if staged.iter().any(|entry| entry.id == chunk) {
                if is_of_parent {
                    // Its keys are read when foreign keys are checked. The commit removes it.
                    self.changes.hide(&[chunk]);
                    return Ok(());
                }
                return self.unstage(stage, &[chunk]);
            }
        }
        self.changes.note_removed(table, chunk);
        Ok(())
    }

    /// Removes a table that the batch itself created, with its rows. False if the batch did not create it.
    fn uncreate(&mut self, table: &Table) -> Result<bool> {
        let stage = self.chunks.stage().filter(|_| self.changes.has_created(table.id));
        let Some(stage) = stage else { return Ok(false) };
        self.check_not_saved(table.id)?;
        self.handle.shared.store.unstage_table(stage, table.id)?;
        self.handle.shared.forget(table.id);
        self.changes.forget_created(table.id);
        Ok(true)
    }

    /// Replaces an empty table that the batch itself created by one with another definition.
    fn recreate(&mut self, table: &Table, to: &TableDefinition) -> Result<Table> {
        let snapshot = self.snapshot()?;
        let is_empty = match table.definition.is_in_memory() {
            true => snapshot.resident(table)?.row_count() == 0,
            false => snapshot.inner.store.chunks(table.id, TimeRange::ALL)?.is_empty(),
        };
        if !is_empty {
            let message = format!("table {} was created by the same transaction and holds rows", table.definition.name);
            return Err(Error::new(ErrorKind::Sql, message).with_hint("COMMIT before changing it"));
        }
        let to = self.chunks.continued(table.id, to.clone())?;
        self.drafts.drop_table(table.id);
        self.uncreate(table)?;
        let created = self.create_table(&to)?;
        self.supplied.note_recreated(&self.handle.shared, table.id, created.id);
        Ok(created)
    }
}

/// Refuses a new column whose value in existing rows is so long that a chunk of them could not be read.
fn check_missing(from: &TableDefinition, to: &TableDefinition) -> Result<()> {
    for column in to.columns.iter().filter(|column| from.column_by_id(column.id).is_none()) {
        // The text of an array does not show the size of its elements.
        let value = column.missing.as_ref().and_then(|value| missing_scalar(column, value));
        let byte_count = value.as_ref().and_then(LongValues::of).map_or(0, |values| values.total());
        if byte_count > MISSING_BYTES_MAX {
            let (table, name, column_type) = (&to.name, &column.name, column.column_type);
            let message = format!(
                "table {table}, column {name}: each existing row would get a value of type {column_type} with \
                 {byte_count} bytes; the maximum is {MISSING_BYTES_MAX}"
            );
            let hint = "add the column without DEFAULT, set it for new rows with ALTER COLUMN ... SET DEFAULT, and UPDATE \
                        the existing rows";
            return Err(Error::new(ErrorKind::Limit, message).with_hint(hint));
        }
    }
    Ok(())
}
