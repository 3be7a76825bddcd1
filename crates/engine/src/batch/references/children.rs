//! The new rows of child tables: their parents have their keys.

use crate::batch::Batch;
use crate::batch::keys::groups::nulls_of;
use crate::batch::keys::key::KeyColumns;
use crate::batch::references::lookup::{WantedKeys, look_up_in_windows, scan_of, scan_over, sides};
use crate::batch::references::state::{AddedRows, Reference};
use crate::read::scan::Scan;
use crate::read::scan_chunk::ScanChunk;
use crate::read::snapshot::ReadSnapshot;
use arrow::array::{Array, ArrayRef, RecordBatch};
use atsdb_codec::decode_descriptor;
use atsdb_core::name::same_name;
use atsdb_core::{
    Amendment, ChunkDescriptor, ChunkEntry, ChunkId, ColumnId, Error, ErrorKind, ForeignKey, NewChunk, Result, Table,
    TableDefinition, TableId, TimeRange,
};

/// Rows of a child table.
#[derive(Clone, Copy)]
pub(super) enum NewRows<'a> {
    /// The columns of the foreign keys, in stored form, of rows that are not in a chunk yet.
    Added(&'a [RecordBatch]),
    /// The rows of chunks.
    Chunks(&'a Scan),
}

impl Batch {
    /// Notes rows in stored form that are added to a child table.
    pub(crate) fn note_added_children(&mut self, table: &Table, rows: &RecordBatch) -> Result<()> {
        let definition = &table.definition;
        let is_of_key = |id: ColumnId| definition.foreign_keys.iter().any(|key| key.columns.contains(&id));
        let positions: Vec<usize> =
            (0..definition.columns.len()).filter(|at| is_of_key(definition.columns[*at].id)).collect();
        match self.changes.references_mut().note_added(table, rows.project(&positions)?) {
            true => self.check_some_added(table.id),
            false => Ok(()),
        }
    }

    /// Notes that a chunk of a table is rewritten, if the table has foreign keys. If only rows are deleted, the others
    /// refer to what they referred to before.
    pub(crate) fn note_rewritten_child(&mut self, table: &Table) {
        if !table.definition.foreign_keys.is_empty() && !self.is_deleting {
            self.changes.references_mut().note_rewritten(table.id);
        }
    }

    /// Looks up the keys of the rows that were added, and those of the chunks that were rewritten.
    pub(super) fn check_children(&mut self) -> Result<()> {
        let added = self.changes.references_mut().take_added();
        // A batch that has read nothing follows the definitions of its tables. The versions of parents change often.
        added.iter().try_for_each(|rows| self.look_for_newer(&rows.table).map(drop))?;
        for AddedRows { table, batches, .. } in added {
            for key in &table.definition.foreign_keys {
                if self.postpones(&table, key) {
                    continue;
                }
                let view = self.view_of_parent(key)?;
                self.require_parents(&view, &table, key, NewRows::Added(&batches))?;
            }
        }
        let rewritten = self.changes.references_mut().take_rewritten();
        if rewritten.is_empty() {
            return Ok(());
        }
        let view = self.snapshot()?;
        for child in rewritten {
            let Some(table) = own_table(&view, child) else { continue };
            let mut chunks = self.own_chunks(child)?;
            chunks.retain(|entry| !self.changes.references().is_checked(entry.id));
            let ids: Vec<_> = chunks.iter().map(|entry| entry.id).collect();
            let scan = scan_over(&view, &table, chunks)?;
            for key in &table.definition.foreign_keys {
                if self.postpones(&table, key) {
                    continue;
                }
                self.require_parents_in(&view, &table, key, &scan)?;
            }
            self.changes.references_mut().note_checked(ids);
        }
        Ok(())
    }

    /// Looks up the keys of the rows that were added to a table so far in the middle of a statement, so that they need
    /// not be kept. Rows whose parents are missing stay unchecked: the statement may still add the parents.
    fn check_some_added(&mut self, child: TableId) -> Result<()> {
        let Some(AddedRows { table, batches, .. }) = self.changes.references_mut().take_added_to(child) else {
            return Ok(());
        };
        let base = self.base()?;
        let view = self.over(base)?;
        if self.have_parents(&view, &table, &batches)? {
            return Ok(());
        }
        for rows in batches {
            if !self.have_parents(&view, &table, std::slice::from_ref(&rows))? {
                self.changes.references_mut().note_added(&table, rows);
            }
        }
        self.changes.references_mut().note_looked_up(child);
        Ok(())
    }

    /// Returns whether all rows that were added to a table have parents in a view of the batch.
    fn have_parents(&mut self, view: &ReadSnapshot, table: &Table, rows: &[RecordBatch]) -> Result<bool> {
        for key in &table.definition.foreign_keys {
            if self.postpones(table, key) {
                continue;
            }
            match self.require_parents(view, table, key, NewRows::Added(rows)) {
                Err(error) if error.kind() == ErrorKind::ForeignKeyViolation => return Ok(false),
                done => done?,
            }
        }
        Ok(true)
    }

    /// A view of the batch that has all rows of the parent of a foreign key.
    fn view_of_parent(&mut self, key: &ForeignKey) -> Result<ReadSnapshot> {
        let base = self.base()?;
        let parent = self.changes.find_table(&base, |other| key.parent.is_of(other));
        // Turning waiting rows into chunks after each statement would make many small ones.
        match parent.is_some_and(|parent| self.chunks.has_waiting(parent.id)) {
            true => self.snapshot(),
            false => self.over(base),
        }
    }

    /// The chunks of a table that the batch has added, as they are visible in it.
    pub(super) fn own_chunks(&self, table: TableId) -> Result<Vec<ChunkEntry>> {
        let pending = self.chunks.pending().iter().filter(|pending| pending.chunk.table == table);
        let mut entries: Vec<ChunkEntry> = pending.map(|pending| pending.entry()).collect();
        if let Some(stage) = self.chunks.stage() {
            let hidden = self.changes.removed_and_hidden();
            let staged = self.handle.shared.store.stage_snapshot(stage)?.chunks(table, TimeRange::ALL)?;
            entries.extend(staged.into_iter().filter(|entry| !hidden.contains(&entry.id)));
        }
        Ok(entries)
    }

    /// Notes which foreign keys the rows in the successor of a chunk need not satisfy: those of the chunk, or for a
    /// chunk of the store all that are not valid.
    pub(crate) fn note_successor(&mut self, table: &Table, chunk: ChunkId, successor: &NewChunk) -> Result<()> {
        if table.definition.foreign_keys.iter().all(|key| !key.not_valid) {
            return Ok(());
        }
        let own = match self.chunks.pending().iter().find(|pending| pending.id == chunk) {
            Some(pending) => Some(pending.chunk.descriptor.uid),
            // Without a stage it is a chunk of the store.
            None if self.chunks.stage().is_none() => None,
            None => match self.own_chunks(table.id)?.into_iter().find(|own| own.id == chunk) {
                Some(staged) => Some(decode_descriptor(&staged.descriptor_bytes)?.uid),
                None => None,
            },
        };
        let references = self.changes.references_mut();
        let is_older = |key: &&ForeignKey| key.not_valid && own.is_none_or(|uid| references.is_exempt(uid, key));
        let keys: Vec<&ForeignKey> = table.definition.foreign_keys.iter().filter(is_older).collect();
        references.note_exempt(successor.descriptor.uid, keys);
        Ok(())
    }

    /// Notes that the batch's own rows in a table are older than the foreign keys that it gets and that are not valid.
    fn note_own_as_older(&mut self, older: &TableDefinition, table: &Table) -> Result<()> {
        let is_held = |key: &ForeignKey| {
            let mut held = older.foreign_keys.iter().filter(|held| held.not_valid);
            held.any(|held| same_name(&held.name, &key.name) && held.columns == key.columns)
        };
        let added = table.definition.foreign_keys.iter().filter(|key| key.not_valid && !is_held(key));
        let added: Vec<&ForeignKey> = added.collect();
        if added.is_empty() {
            return Ok(());
        }
        for entry in self.own_chunks(table.id)? {
            let uid = decode_descriptor(&entry.descriptor_bytes)?.uid;
            self.changes.references_mut().note_exempt(uid, added.iter().copied());
        }
        Ok(())
    }

    /// Looks up the keys of all rows that the batch has added to a child.
    pub(super) fn require_own_parents(&mut self, view: &ReadSnapshot, child: &Table, key: &ForeignKey) -> Result<()> {
        let scan = scan_over(view, child, self.own_chunks(child.id)?)?;
        self.require_parents_in(view, child, key, &scan)
    }

    /// Looks up the keys of the rows in chunks of the batch. If the foreign key is not valid, chunks with rows that are
    /// older than it are left out: changed rows of such a table are never in them.
    fn require_parents_in(&mut self, view: &ReadSnapshot, child: &Table, key: &ForeignKey, scan: &Scan) -> Result<()> {
        if !key.not_valid {
            return self.require_parents(view, child, key, NewRows::Chunks(scan));
        }
        let is_new = |chunk: &&ScanChunk| !self.changes.references().is_exempt(chunk.descriptor.uid, key);
        let entries = scan.chunks().iter().filter(is_new).map(|chunk| chunk.entry.clone()).collect();
        let scan = scan_over(view, child, entries)?;
        self.require_parents(view, child, key, NewRows::Chunks(&scan))
    }

    /// Refuses rows of a child whose keys the parent does not have in a view of the batch. The batch then relies on the
    /// parent's rows.
    ///
    /// Errors: [`ForeignKeyViolation`](ErrorKind::ForeignKeyViolation).
    pub(super) fn require_parents(
        &mut self,
        view: &ReadSnapshot,
        child: &Table,
        key: &ForeignKey,
        rows: NewRows<'_>,
    ) -> Result<()> {
        let parent = parent_in(view, &child.definition, key)?;
        let (own, other) = sides(&child.definition, key, &parent.definition)?;
        let (mut parents, mut relied_on) = (None, Vec::new());
        let look_up = |wanted: WantedKeys| {
            let parents = match &mut parents {
                Some(parents) => parents,
                none => none.insert(scan_of(view, &parent)?),
            };
            let (flags, chunks) = wanted.found_in(&other, parents)?;
            relied_on.extend(chunks);
            match wanted.first_text(&own, &flags, false)? {
                Some(values) => Err(child.definition.reference_missing(key, &values)),
                None => Ok(()),
            }
        };
        let complete = |columns: Result<KeyColumns>| -> Result<KeyColumns> {
            match columns? {
                columns if key.match_full && is_mixed(&columns) => Err(child.definition.reference_mixed(key)),
                columns => Ok(columns),
            }
        };
        match rows {
            NewRows::Chunks(scan) => {
                let batches = (0..scan.chunks().len()).map(|chunk| own.read(scan, chunk));
                look_up_in_windows(batches.map(complete), look_up)?;
            }
            NewRows::Added(batches) => {
                let shared = &self.handle.shared;
                let batches = batches.iter().map(|rows| own.of_added(shared, child, rows));
                look_up_in_windows(batches.map(complete), look_up)?;
            }
        }
        if relied_on.is_empty() { Ok(()) } else { self.rely_on_parent(view, child, key, &parent, &relied_on) }
    }

    /// Makes the commit fail if others meanwhile delete rows of a parent that were found in these chunks.
    fn rely_on_parent(
        &mut self,
        view: &ReadSnapshot,
        child: &Table,
        key: &ForeignKey,
        parent: &Table,
        chunks: &[ScanChunk],
    ) -> Result<()> {
        if self.changes.has_created(parent.id) {
            return Ok(());
        }
        let base = self.base()?;
        let is_public = base
            .table_by_id(child.id)
            .is_some_and(|before| before.definition.foreign_keys.iter().any(|held| held.allows_same_rows(key)));
        if is_public {
            self.changes.name_definition(parent)?;
            self.know(parent.id)?;
            if let Some(known) = self.changes.references_mut().known_mut().get_mut(&parent.id) {
                known.is_relied_on = true;
            }
            return Ok(());
        }
        // Others do not know the foreign key, so they give the parent no new version.
        let is_stored = |chunk: &&ScanChunk| chunk.entry.id.0 >= 0 && !view.inner.staged.contains(&chunk.entry.id);
        for chunk in chunks.iter().filter(is_stored) {
            let bytes = &chunk.entry.descriptor_bytes;
            self.changes.references_mut().pin(Amendment {
                table: parent.id,
                chunk: chunk.entry.id,
                from: bytes.clone(),
                descriptor: ChunkDescriptor::clone(&chunk.descriptor),
                descriptor_bytes: bytes.clone(),
                pages: Vec::new(),
            });
        }
        self.changes.name_definition(parent)
    }

    /// Checks all rows of a table for the foreign keys that it got from this batch, or that this batch makes valid.
    pub(crate) fn check_added_references(&mut self, older: &TableDefinition, table: &Table) -> Result<()> {
        self.note_own_as_older(older, table)?;
        let added = table.definition.foreign_keys_validated_since(older);
        if added.is_empty() {
            return Ok(());
        }
        let view = self.snapshot()?;
        self.guard_keys(table.id)?;
        self.changes.references_mut().note_validated(table.id);
        let scan = scan_of(&view, table)?;
        added.into_iter().try_for_each(|key| self.require_parents(&view, table, key, NewRows::Chunks(&scan)))
    }
}

/// Returns whether a row has a NULL in some columns but not in all.
fn is_mixed(columns: &[ArrayRef]) -> bool {
    let has_null = nulls_of(columns);
    let is_null = |row: usize| columns.iter().all(|array| array.is_null(row));
    has_null.into_iter().enumerate().any(|(row, has_null)| has_null && !is_null(row))
}

/// A table as a view of a batch has it.
pub(super) fn own_table(view: &ReadSnapshot, id: TableId) -> Option<Table> {
    view.inner.tables.iter().find(|table| table.id == id).cloned()
}

/// The parent of a foreign key.
pub(super) fn parent_in(view: &ReadSnapshot, child: &TableDefinition, key: &ForeignKey) -> Result<Table> {
    let found = view.inner.tables.iter().find(|table| key.parent.is_of(&table.definition));
    found.cloned().ok_or_else(|| {
        let message = format!("table {}, which {} refers to, was dropped", key.parent.name, child.name);
        Error::new(ErrorKind::Conflict, message)
    })
}

/// The foreign keys that refer to a table.
pub(super) fn references_to(tables: &[Table], parent: &TableDefinition) -> Vec<Reference> {
    let of_table = |child: &Table| {
        let keys = child.definition.foreign_keys_to(parent);
        keys.map(|key| Reference { child: child.id, key: key.clone() }).collect::<Vec<_>>()
    };
    tables.iter().filter(|table| !table.definition.foreign_keys.is_empty()).flat_map(of_table).collect()
}
