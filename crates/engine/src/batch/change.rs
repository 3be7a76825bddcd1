//! What a batch does beside adding rows: looking at its own state, replacing and removing chunks, changing tables.
//!
//! What the commit will take away or redefine is kept in `changes`. Rows on their way in are `batch`'s; how the batch's own
//! state is read is `overlay`'s.

use crate::batch::Batch;
use crate::batch::overlay::{Overlay, OwnChunk, Staged};
use crate::read::snapshot::{Inner, ReadSnapshot};
use atsdb_core::limits::MISSING_BYTES_MAX;
use atsdb_core::name::same_name;
use atsdb_core::{
    ChunkId, Column, Error, ErrorKind, NewChunk, Redefinition, Result, Table, TableDefinition, TableId, TimeRange,
    Value,
};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Batch {
    /// The state when the batch first looked, with the batch's own changes, for reading. Rows that wait become chunks
    /// first. What the batch does afterwards does not show in it.
    pub fn snapshot(&mut self) -> Result<ReadSnapshot> {
        self.settle()?;
        let base = self.base()?;
        if self.is_untouched() {
            return Ok(base);
        }
        let shared = Arc::clone(&self.handle.shared);
        let tables = self.changes.tables(&base);
        let stage = match self.stage {
            Some(stage) => {
                let all: Vec<Table> = tables.iter().chain(&base.inner.logs).cloned().collect();
                Some(Staged::look(shared.store.as_ref(), stage, &all)?)
            }
            None => None,
        };
        let (logs, staged) = (base.inner.logs.clone(), stage.as_ref().map(Staged::chunks).cloned().unwrap_or_default());
        // No visible chunk has the number of a staged one.
        let removed: BTreeSet<ChunkId> = self.changes.removed.keys().chain(&self.changes.hidden).copied().collect();
        let own = self.own.clone();
        let store = Arc::clone(&shared.store);
        let residents = self.drafts.over(&base.inner.residents);
        let overlay = Overlay { store, base, stage, tables: tables.clone(), removed, own };
        Ok(ReadSnapshot {
            inner: Arc::new(Inner {
                store: Box::new(overlay),
                tables,
                logs,
                staged,
                shared,
                residents,
                past_caches: false,
            }),
        })
    }

    /// The tables as [`snapshot`](Self::snapshot) would give them; rows that wait go on waiting.
    pub fn tables(&mut self) -> Result<Vec<Table>> {
        let base = self.base()?;
        Ok(self.changes.tables(&base))
    }

    /// Lets the batch look at the store anew, if it has done nothing yet. For who has read nothing of it.
    pub fn look_anew(&mut self) {
        if self.is_untouched() && !self.has_rows() && self.row_count() == 0 {
            self.changes.look_anew();
        }
    }

    /// A chunk of [`snapshot`](Self::snapshot) goes, and its successor comes. If somebody else changes the chunk before
    /// the commit, that is [`ErrorKind::Conflict`].
    pub fn replace(&mut self, table: &Table, chunk: ChunkId, successor: Option<NewChunk>) -> Result<()> {
        self.check_writable(table)?;
        self.changes.name_definition(table)?;
        self.remove_chunk(table.id, chunk)?;
        match successor {
            Some(successor) => self.keep(successor),
            None => Ok(()),
        }
    }

    /// Removes all rows of a table, without reading them, and says how many there were. After an error the batch cannot
    /// be committed.
    pub fn truncate(&mut self, table: &Table) -> Result<u64> {
        let table = self.own_table(table)?;
        self.check_writable(&table)?;
        let done = self.remove_all(&table);
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

    /// Drops a table with all its rows. Its rollups must have gone before. After another error the batch cannot be
    /// committed.
    pub fn drop_table(&mut self, table: &Table) -> Result<()> {
        self.settle()?;
        let table = self.own_table(table)?;
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
        // Of rows that were staged for it nobody takes notice: they would not find their table.
        if let Some(stage) = self.stage {
            let store = Arc::clone(&self.handle.shared.store);
            let chunks = store.stage_snapshot(stage)?.chunks(table.id, TimeRange::ALL)?;
            let chunks: Vec<ChunkId> = chunks.iter().map(|entry| entry.id).collect();
            self.give_up_staged(stage, &chunks)?;
        }
        self.changes.redefined.remove(&table.id);
        self.changes.dropped.push(table.id);
        Ok(())
    }

    /// Gives a table another definition. Rows that were added before keep to the old one.
    pub fn redefine(&mut self, table: &Table, to: TableDefinition) -> Result<Table> {
        to.check()?;
        check_missing(&table.definition, &to)?;
        self.settle()?;
        let base = self.base()?;
        let others = self.changes.tables(&base);
        let taken = |other: &&Table| other.id != table.id && same_name(&other.definition.name, &to.name);
        if let Some(other) = others.iter().find(taken) {
            return Err(exists(&other.definition.name));
        }
        self.forget_writer(table.id);
        if self.changes.created.iter().any(|created| created.id == table.id) {
            return self.recreate(table, &to);
        }
        let visible = base.tables().iter().find(|visible| visible.id == table.id);
        let from = visible.ok_or_else(|| Error::not_found(format!("table {} is gone", table.definition.name)))?;
        self.changes.name_definition(table)?;
        self.redefine_resident(table, &to)?;
        let change = Redefinition { table: table.id, from: from.definition.clone(), to: to.clone() };
        self.changes.redefined.insert(table.id, change);
        Ok(Table { id: table.id, version: from.version.next(), definition: to })
    }

    /// A table as the batch has it, whatever its definition was when it was looked up: for what is done to a table whole.
    fn own_table(&mut self, table: &Table) -> Result<Table> {
        let own = self.tables()?.into_iter().find(|own| own.id == table.id);
        own.ok_or_else(|| Error::not_found(format!("table {} was dropped", table.definition.name)))
    }

    /// The store when the batch first looked.
    pub(crate) fn base(&mut self) -> Result<ReadSnapshot> {
        match &self.changes.base {
            Some(base) => Ok(base.clone()),
            None => {
                let base = ReadSnapshot::take(&self.handle.shared)?;
                self.changes.check_base(&base)?;
                Ok(self.changes.base.insert(base).clone())
            }
        }
    }

    /// Refuses a name that a table has. What the store had at the beginning is not pinned for that.
    pub(crate) fn check_name(&self, name: &str) -> Result<()> {
        let tables = match &self.changes.base {
            Some(base) => self.changes.tables(base),
            None => self.changes.tables(&ReadSnapshot::take(&self.handle.shared)?),
        };
        match tables.iter().find(|table| same_name(&table.definition.name, name)) {
            Some(table) => Err(exists(&table.definition.name)),
            None => Ok(()),
        }
    }

    /// How many strings the dictionary of a mapped column has by now.
    pub fn mapped_count(&self, table: &Table, column: &Column) -> Result<usize> {
        let store = &self.handle.shared.store;
        let snapshot = match self.stage.filter(|_| self.changes.has_created(table.id)) {
            Some(stage) => store.stage_snapshot(stage)?,
            None => store.snapshot()?,
        };
        Ok(snapshot.mapping(table.id, column.id, 0)?.len())
    }

    fn is_untouched(&self) -> bool {
        self.changes.is_empty() && self.stage.is_none() && self.own.is_empty() && self.drafts.is_empty()
    }

    pub(crate) fn remove_chunk(&mut self, table: TableId, chunk: ChunkId) -> Result<()> {
        // Its rows are still in the base: keys that come from here on are compared with the batch's own view.
        self.keyed.note_rewritten(table);
        if chunk.0 < 0 {
            self.own.retain(|own| own.id != chunk);
            return Ok(());
        }
        if let Some(stage) = self.stage {
            let store = &self.handle.shared.store;
            let staged = store.stage_snapshot(stage)?.chunks(table, TimeRange::ALL)?;
            if staged.iter().any(|entry| entry.id == chunk) {
                return self.give_up_staged(stage, &[chunk]);
            }
        }
        self.changes.removed.insert(chunk, table);
        self.changes.unlogged.push((table, chunk));
        Ok(())
    }

    /// Takes a table of the stage away, with its rows; false if the stage holds none of that number.
    fn uncreate(&mut self, table: &Table) -> Result<bool> {
        let created = self.changes.created.iter().position(|created| created.id == table.id);
        let (Some(position), Some(stage)) = (created, self.stage) else { return Ok(false) };
        self.check_unmarked(table.id)?;
        self.handle.shared.store.unstage_table(stage, table.id)?;
        self.changes.created.remove(position);
        Ok(true)
    }

    /// A table that the batch itself made is made again, as long as it is empty.
    fn recreate(&mut self, table: &Table, to: &TableDefinition) -> Result<Table> {
        let snapshot = self.snapshot()?;
        let is_empty = match table.definition.is_in_memory() {
            true => snapshot.resident(table)?.row_count() == 0,
            false => snapshot.inner.store.chunks(table.id, TimeRange::ALL)?.is_empty(),
        };
        if !is_empty {
            let message = format!("table {} was made by the same transaction and holds rows", table.definition.name);
            return Err(Error::new(ErrorKind::Sql, message).with_hint("COMMIT before changing it"));
        }
        self.drafts.drop_table(table.id);
        self.uncreate(table)?;
        self.create_table(to)
    }

    /// Adds an encoded chunk to those in memory.
    pub(crate) fn own_chunk(&mut self, chunk: NewChunk) {
        let id = ChunkId(self.handle.shared.next_own_chunk());
        self.own.push(OwnChunk { id, chunk: Arc::new(chunk) });
    }
}

/// Refuses a new column whose value in older rows is so long that a chunk of them could not be read.
fn check_missing(from: &TableDefinition, to: &TableDefinition) -> Result<()> {
    for column in to.columns.iter().filter(|column| from.column_by_id(column.id).is_none()) {
        let byte_count = match &column.missing {
            Some(Value::Text(text)) if column.map.is_none() => text.len(),
            Some(Value::Bytes(bytes)) => bytes.len(),
            _ => 0,
        };
        if byte_count > MISSING_BYTES_MAX {
            let (table, name) = (&to.name, &column.name);
            let message = format!(
                "table {table}, column {name}: rows that are there would get {byte_count} bytes each; the most is \
                 {MISSING_BYTES_MAX}"
            );
            let hint = "add the column without DEFAULT, give it to new rows with ALTER COLUMN ... SET DEFAULT, and UPDATE \
                        the others";
            return Err(Error::new(ErrorKind::Limit, message).with_hint(hint));
        }
    }
    Ok(())
}

fn exists(name: &str) -> Error {
    Error::new(ErrorKind::Exists, format!("there is a table {name} already"))
}
