//! Changing tables in memory in a batch, and creating, changing and dropping the temporary ones of its session. The
//! crate `resident` owns how their rows are kept.

use crate::batch::Batch;
use crate::batch::row_checks::check_stored_rows;
use crate::read::resident::{added_values, redefined, types_of, under_other};
use crate::read::row_checks::violated_in_memory;
use crate::read::snapshot::ReadSnapshot;
use crate::shared::definitions::changed_meanwhile;
use crate::shared::preload::compacted;
use crate::shared::temporary::{OnCommit, TemporaryTable, TemporaryTables, check_name, gone, is_temporary};
use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use atsdb_codec::{stored_schema, to_stored};
use atsdb_core::limits::CHUNK_ROWS_MAX;
use atsdb_core::{Column, Error, Redefinition, Result, Table, TableDefinition, TableId, TimeRange};
use atsdb_resident::{TableDraft, TableState};
use std::sync::Arc;

impl Batch {
    /// Removes rows of a table in memory, given as part and number in the part, and adds others. `found_in` is the
    /// state in which the rows were found. After an error the batch cannot be committed.
    ///
    /// Errors: [`Conflict`](atsdb_core::ErrorKind::Conflict) if the table has changed since,
    /// [`CheckViolation`](atsdb_core::ErrorKind::CheckViolation) for a row that violates a constraint.
    pub fn change_resident(
        &mut self,
        table: &Table,
        found_in: &TableState,
        gone: impl IntoIterator<Item = (u32, u32)>,
        rows: Vec<(Vec<ArrayRef>, usize)>,
    ) -> Result<()> {
        for (columns, row_count) in &rows {
            check_stored_rows(&self.handle.shared, table, columns, *row_count)?;
        }
        let done = self.draft(table).and_then(|draft| draft.change(found_in, gone, rows));
        self.note_half_done(done)
    }

    /// The draft of a table in memory. It starts from the state that the batch sees.
    ///
    /// Errors: [`Conflict`](atsdb_core::ErrorKind::Conflict) if the batch has given the table a later definition.
    pub(crate) fn draft(&mut self, table: &Table) -> Result<&mut TableDraft> {
        self.changes.name_definition(table)?;
        let seen = self.changes.base().cloned();
        let is_created = self.changes.has_created(table.id);
        let shared = &self.handle.shared;
        let residents = match &seen {
            Some(base) => base.inner.residents.clone(),
            None => shared.residents.snapshot(),
        };
        let bytes_max = shared.resident_bytes_of(&residents, table);
        let is_new = !self.drafts.has(table.id);
        let draft = self.drafts.table(table.id, bytes_max, || match residents.get(table.id) {
            Some(state) if *state.definition() == table.definition => Ok(state),
            Some(state) if is_temporary(table.id) => Ok(Arc::new(redefined(shared, &state, table)?)),
            _ if is_created || is_temporary(table.id) => {
                Ok(shared.residents.empty(&table.definition, types_of(&table.definition)))
            }
            _ => match seen {
                None => ReadSnapshot::take(shared)?.resident(table),
                Some(base) => {
                    let own = base.table_by_id(table.id).ok_or_else(|| changed_meanwhile(&table.definition))?;
                    base.resident(own)
                }
            },
        })?;
        if *draft.working().definition() != table.definition {
            // All definitions of a batch have the same version.
            if !is_new {
                return Err(changed_meanwhile(&table.definition));
            }
            // The batch has changed the definition before it uses the rows.
            let state = under_other(shared, draft.working(), table)?;
            draft.continue_with(state)?;
        }
        Ok(draft)
    }

    /// Lets the batch see tables in memory at the same moment as all others, with the rows that it has added to them
    /// before that moment. A batch that does more than add rows reads the store first.
    pub(crate) fn rebase_drafts(&mut self, base: &ReadSnapshot) -> Result<()> {
        self.drafts.rebase(|id| match base.table_by_id(id) {
            Some(table) => base.resident(table).map(Some),
            // It is temporary, or the batch has created it.
            None => Ok(None),
        })
    }

    /// Gives the rows of a table in memory a new definition. Rows that this process has not loaded get the definition
    /// that the table has when they are loaded.
    pub(crate) fn redefine_resident(&mut self, table: &Table, to: &TableDefinition) -> Result<()> {
        if table.definition == *to {
            return Ok(());
        }
        let is_used = || self.handle.shared.residents.snapshot().get(table.id).is_some();
        match table.definition.is_in_memory() && (self.drafts.has(table.id) || is_used()) {
            true => {
                let added = |column: &Column, row_count: usize| added_values(to, column, row_count);
                let shared = Arc::clone(&self.handle.shared);
                let draft = self.draft(table)?;
                draft.redefine(to, types_of(to), added)?;
                let redefined = Table { definition: to.clone(), ..table.clone() };
                match violated_in_memory(&shared, &redefined, &table.definition, draft.working())? {
                    Some(check) => Err(to.violated_check(check)),
                    None => Ok(()),
                }
            }
            false => Ok(()),
        }
    }

    /// Begins drafts of tables in memory that have another definition now and that others have begun to use since. The
    /// commit then fails if they have changed the rows, which were not compared with the definition. It also fails if
    /// others begin to use one until it holds the lock of tables in memory.
    pub(crate) fn draft_redefined(&mut self) -> Result<()> {
        let is_other = |change: &&mut Redefinition| change.to.is_in_memory() && change.from != change.to;
        let redefined = self.changes.redefined_mut().filter(is_other);
        let redefined: Vec<(TableId, TableDefinition)> =
            redefined.map(|change| (change.table, change.to.clone())).collect();
        let residents = self.handle.shared.residents.snapshot();
        for (id, definition) in redefined {
            if self.drafts.has(id) {
                continue;
            }
            match self.changes.present_version(id).filter(|_| residents.get(id).is_some()) {
                Some(version) => {
                    self.draft(&Table { id, version, definition })?;
                }
                None => self.drafts.expect_unused(id, definition),
            }
        }
        Ok(())
    }

    /// Replaces the saved rows of a table in memory with the commit, and returns the number of rows. The rows may be
    /// those of another store if its table has the same columns.
    pub fn save_resident(&mut self, table: &Table, state: &TableState) -> Result<u64> {
        if !table.definition.is_in_memory() || !has_same_columns(state.definition(), &table.definition) {
            let message = format!("the rows are not those of table {}, which is in memory", table.definition.name);
            return Err(Error::internal(message));
        }
        if let Some(check) = violated_in_memory(&self.handle.shared, table, state.definition(), state)? {
            return Err(table.definition.check_violation(check));
        }
        let snapshot = self.snapshot()?;
        // If two processes save at once, one of them must retry. Otherwise the rows of both would be stored.
        self.guard_keys(table.id)?;
        for entry in snapshot.inner.store.chunks(table.id, TimeRange::ALL)? {
            self.remove_chunk(table.id, entry.id)?;
        }
        let columns: Vec<usize> = (0..table.definition.columns.len()).collect();
        let schema = stored_schema(&table.definition);
        for (part, rows) in state.row_ranges(CHUNK_ROWS_MAX) {
            let (columns, numbers) = state.read(part, rows, &columns)?;
            let options = RecordBatchOptions::new().with_row_count(Some(numbers.len()));
            let columns: Vec<ArrayRef> = match numbers.len() {
                CHUNK_ROWS_MAX => columns,
                // Rows that wait for their chunk to fill must not hold the memory of the whole array.
                _ => columns.iter().map(compacted).collect(),
            };
            let stored = table.definition.columns.iter().zip(&columns).map(|(column, array)| to_stored(column, array));
            let columns = stored.collect::<Result<_>>()?;
            let rows = RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &options)?;
            self.push_rows(table, rows)?;
        }
        Ok(state.row_count() as u64)
    }

    /// Lets the batch see and change the temporary tables of a session. Its commit changes those of the session.
    pub fn with_temporary(mut self, session: &TemporaryTables) -> Self {
        *self.changes.temporary_mut() = session.committed();
        self.session = Some(session.clone());
        self
    }

    /// Creates a temporary table, which is in memory, or a temporary view. It may have the name of a stored table,
    /// which the session then does not see.
    pub fn create_temporary(&mut self, definition: &TableDefinition, on_commit: OnCommit) -> Result<Table> {
        check_name(self.changes.temporary(), None, &definition.name)?;
        let temporary = TemporaryTable::new(definition, on_commit)?;
        let table = temporary.table.clone();
        self.changes.temporary_mut().push(temporary);
        Ok(table)
    }

    /// The temporary tables that the batch sees.
    pub(crate) fn temporary_tables(&self) -> Vec<Table> {
        self.changes.temporary().iter().map(|temporary| temporary.table.clone()).collect()
    }

    /// Drops a temporary table.
    pub(crate) fn drop_temporary(&mut self, table: &Table) {
        self.drafts.drop_table(table.id);
        self.changes.temporary_mut().retain(|temporary| temporary.table.id != table.id);
    }

    /// Gives a temporary table another definition.
    pub(crate) fn redefine_temporary(&mut self, table: &Table, to: TableDefinition) -> Result<Table> {
        check_name(self.changes.temporary(), Some(table.id), &to.name)?;
        self.changes.name_definition(table)?;
        let done = self.redefine_resident(table, &to);
        self.note_half_done(done)?;
        let mut own = self.changes.temporary_mut().iter_mut();
        let own = own.find(|own| own.table.id == table.id).ok_or_else(|| gone(table))?;
        own.table = Table { id: table.id, version: table.version.next(), definition: to };
        Ok(own.table.clone())
    }

    /// Applies what temporary tables declare for the end of a transaction.
    pub(crate) fn end_temporary(&mut self) -> Result<()> {
        for TemporaryTable { table, on_commit } in self.changes.temporary().to_vec() {
            match on_commit {
                OnCommit::PreserveRows => {}
                OnCommit::DeleteRows => drop(self.draft(&table)?.truncate()?),
                OnCommit::Drop => self.drop_temporary(&table),
            }
        }
        Ok(())
    }
}

/// Returns whether rows of one definition are rows of the other. Where identity columns continue does not matter.
fn has_same_columns(one: &TableDefinition, other: &TableDefinition) -> bool {
    let plain = |definition: &TableDefinition| -> Vec<Column> {
        definition.columns.iter().map(|column| Column { identity: None, sequence: None, ..column.clone() }).collect()
    };
    plain(one) == plain(other)
}
