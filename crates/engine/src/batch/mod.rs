//! A batch: any number of rows of any number of tables, which one commit makes visible, all or none.
//!
//! A [`Batch`] keeps its state in parts, each of which owns its fields: `collector` the rows and chunks, `changes` what
//! is removed and redefined and which definitions the batch relies on, `supplied_values` what tables supply to added
//! rows, `keys` the rows whose keys are not checked, and `savepoint` copies of these.
//!
//! The batch itself coordinates them. Its methods are split by what they do:
//!
//! | file | what the batch does there |
//! |---|---|
//! | `mod` | creates tables and takes rows in |
//! | `change` | shows its own state, replaces and removes chunks, redefines and drops tables |
//! | `computed_tables` | refreshes rollups and materialized views |
//! | `in_memory` | changes tables in memory and temporary tables |
//! | `keys` | keeps keys unique |
//! | `references` | keeps foreign keys |
//! | `follow`, `dependencies` | adapts to definitions that others change |
//! | `rollback` | rolls back to a savepoint |
//! | `commit` | commits |
//!
//! Beside it, `row_checks` tests rows against CHECK constraints, `overlay` is the batch's view of the store, and
//! `appender` buffers single rows for a batch.

pub(crate) mod appender;
mod change;
mod changes;
mod collector;
mod column_buffer;
mod commit;
mod computed_tables;
mod dependencies;
mod follow;
mod in_memory;
pub(crate) mod keys;
mod overlay;
pub(crate) mod record;
mod references;
mod rollback;
mod row_buffer;
mod row_checks;
mod savepoint;
mod supplied_values;
mod table_writer;

use crate::batch::changes::Changes;
use crate::batch::collector::ChunkCollector;
use crate::batch::keys::keyed_tables::KeyedTables;
use crate::batch::row_checks::{check_stored_rows, coerce_and_check};
use crate::batch::savepoint::Savepoint;
use crate::batch::supplied_values::SuppliedValues;
use crate::batch::table_writer::TableWriter;
use crate::chunk::coerce::coerce_column;
use crate::chunk::lossless::RowNumbers;
use crate::chunk::plain::{plain, plain_type};
use crate::shared::handle::Handle;
use crate::shared::session_numbers::SessionNumbers;
use crate::shared::temporary::TemporaryTables;
use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Field, Schema};
use atsdb_core::{
    BatchId, ConflictPolicy, CurrentTimes, Error, ErrorKind, NewChunk, QualifiedName, Result, Table, TableDefinition,
    TableId,
};
use atsdb_resident::BatchDrafts;
use std::sync::Arc;

/// Rows and changes that become visible together. If a batch is dropped without [`commit`](Self::commit), it stores
/// nothing except strings in dictionaries.
pub struct Batch {
    /// Dropped first: abandoning a stage needs the threads that the handle keeps.
    chunks: ChunkCollector,
    handle: Handle,
    id: Option<BatchId>,
    /// The ids of its parts, which are recorded with it.
    parts: Vec<BatchId>,
    /// Whether a batch of this id was found to be committed. This one then ignores its rows.
    is_duplicate: bool,
    changes: Changes,
    savepoints: Vec<Savepoint>,
    /// Rows of tables with keys, until their keys are checked.
    keyed: KeyedTables,
    /// The changes of tables in memory.
    drafts: BatchDrafts,
    /// The session whose temporary tables the batch sees.
    session: Option<TemporaryTables>,
    /// The sources of the values of columns that added rows lack.
    supplied: SuppliedValues,
    row_count: u64,
    /// Whether a definition that has changed is a conflict, also for a batch that only appends.
    pins_definitions: bool,
    /// Whether rows that are removed are deleted, rather than changed.
    is_deleting: bool,
    /// Whether an operation failed halfway: the batch can then be dropped or rolled back to a savepoint, not committed.
    is_half_done: bool,
}

impl Batch {
    pub(crate) fn new(handle: Handle, id: Option<BatchId>) -> Self {
        Self {
            chunks: ChunkCollector::new(&handle.shared),
            handle,
            id,
            parts: Vec::new(),
            is_duplicate: false,
            changes: Changes::default(),
            savepoints: Vec::new(),
            keyed: KeyedTables::default(),
            drafts: BatchDrafts::default(),
            session: None,
            supplied: SuppliedValues::default(),
            row_count: 0,
            pins_definitions: false,
            is_deleting: false,
            is_half_done: false,
        }
    }

    /// Records the numbers that the batch gives to rows as drawn by a session.
    pub fn with_numbers(mut self, session: &SessionNumbers) -> Self {
        self.supplied.set_numbers(session);
        self
    }

    /// Sets the current times for defaults: those of the statement whose rows are added from here on. Without a call,
    /// the batch uses the time at which it first needs one.
    pub fn set_times(&mut self, times: CurrentTimes) {
        self.supplied.set_times(times);
    }

    /// Creates a table, which becomes visible with the commit.
    pub fn create_table(&mut self, definition: &TableDefinition) -> Result<Table> {
        self.check_name(&definition.name)?;
        self.hold_dependencies(None, definition)?;
        let stage = self.chunks.open_stage()?;
        let table = self.handle.shared.store.create_table(definition, Some(stage))?;
        self.chunks.note_staged(table.id);
        self.changes.note_created(&table);
        Ok(table)
    }

    /// Adds rows. Columns are matched by name, and types are converted if no value changes. Missing identity columns
    /// get numbers, missing columns with a default get it, and other missing columns must be nullable. Times may be in
    /// any order. If a row does not fit the table, all of them are refused and the batch stays as it was. After any
    /// other error the batch cannot be committed.
    pub fn append(&mut self, table: &Table, rows: &RecordBatch) -> Result<()> {
        self.append_with(table, rows, table.definition.on_conflict)
    }

    /// Adds rows with another policy than the table's for rows whose key exists.
    pub fn append_with(&mut self, table: &Table, rows: &RecordBatch, policy: ConflictPolicy) -> Result<()> {
        if self.is_duplicate {
            return Ok(());
        }
        let done = self.append_present(table, rows, policy);
        self.unless_duplicate(done)
    }

    fn append_present(&mut self, table: &Table, rows: &RecordBatch, policy: ConflictPolicy) -> Result<()> {
        if self.pins_definitions {
            return self.append_under(table, rows, policy);
        }
        let newer = self.present(table)?;
        let present = newer.as_ref().unwrap_or(table);
        let was_half_done = self.is_half_done;
        let complete = self.supplied.add_earlier_defaults(&self.handle.shared, table, present, rows)?;
        match self.append_under(present, complete.as_ref(), policy) {
            // The rows may be valid under a definition that another writer has just set.
            Err(error) => match self.look_for_newer(present)? {
                Some(newer) => {
                    // An append that was refused because of the definition or a full dictionary has added nothing.
                    let is_clean = matches!(error.kind(), ErrorKind::Conflict | ErrorKind::Limit);
                    self.is_half_done &= was_half_done || !is_clean;
                    let complete = self.supplied.add_earlier_defaults(&self.handle.shared, table, &newer, rows)?;
                    self.append_under(&newer, complete.as_ref(), policy)
                }
                None => Err(error),
            },
            done => done,
        }
    }

    fn append_under(&mut self, table: &Table, rows: &RecordBatch, policy: ConflictPolicy) -> Result<()> {
        self.check_writable(table)?;
        let columns = self.coerced(table, rows)?;
        let shared = Arc::clone(&self.handle.shared);
        let stored = self.writer(table).and_then(|writer| writer.map_strings(&shared, columns));
        let stored = self.note_half_done(stored)?;
        self.push_with(table, stored, rows.num_rows(), policy)
    }

    /// The columns that rows will have in a table: complete, of its types, and tested.
    pub(crate) fn coerced(&self, table: &Table, rows: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let shared = &self.handle.shared;
        let sequence = |name: &QualifiedName| self.changes.sequence(shared.store.as_ref(), table, name);
        let rows = self.supplied.add_to(shared, table, rows, sequence)?;
        coerce_and_check(shared, table, &rows)
    }

    /// The values that a table supplies to rows in the column at a position, if they lack it; `None` if it supplies
    /// none.
    pub(crate) fn supplied(&self, table: &Table, position: usize, row_count: usize) -> Result<Option<ArrayRef>> {
        let shared = &self.handle.shared;
        let sequence = |name: &QualifiedName| self.changes.sequence(shared.store.as_ref(), table, name);
        self.supplied.filled(shared, table, position, row_count, sequence)
    }

    /// Completes rows to those that the table will have: all columns in order, of their logical types, but mapped
    /// columns as plain text. Rows that violate a CHECK constraint are refused, whether or not their keys exist.
    pub fn complete(&self, table: &Table, rows: &RecordBatch) -> Result<RecordBatch> {
        let columns = self.coerced(table, rows)?;
        let columns = columns.iter().zip(&table.definition.columns).map(|(array, column)| plain(array, column));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        let fields = table.definition.columns.iter().map(|column| Field::new(&column.name, plain_type(column), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
    }

    /// Values of one column, by position, as [`complete`](Self::complete) returns them. Errors do not name a row.
    pub fn completed(&self, table: &Table, position: usize, values: &ArrayRef) -> Result<ArrayRef> {
        let Some(column) = table.definition.columns.get(position) else {
            return Err(Error::usage(format!("table {} has no column {position}", table.definition.name)));
        };
        plain(&coerce_column(&table.definition, column, values, RowNumbers::Unknown)?, column)
    }

    /// Adds rows whose keys are known to be new.
    pub(crate) fn append_settled(&mut self, table: &Table, rows: &RecordBatch) -> Result<()> {
        let columns = self.coerced(table, rows)?;
        let row_count = rows.num_rows();
        let shared = Arc::clone(&self.handle.shared);
        let columns = self.writer(table)?.map_strings(&shared, columns)?;
        let rows = self.stored_rows(table, columns, row_count)?;
        self.push_settled(table, rows)
    }

    /// Converts values of one column, by position, into stored form. Types are converted if no value changes; strings
    /// of a mapped column are added to its dictionary. Errors do not name a row.
    pub fn stored(&mut self, table: &Table, position: usize, values: &ArrayRef) -> Result<ArrayRef> {
        let Some(column) = table.definition.columns.get(position) else {
            return Err(Error::usage(format!("table {} has no column {position}", table.definition.name)));
        };
        let values = coerce_column(&table.definition, column, values, RowNumbers::Unknown)?;
        let shared = Arc::clone(&self.handle.shared);
        self.writer(table)?.map_column(&shared, position, values)
    }

    /// Adds rows whose columns are in stored form and in the table's order.
    pub fn append_stored(&mut self, table: &Table, columns: Vec<ArrayRef>, row_count: usize) -> Result<()> {
        self.push_stored(table, columns, row_count)
    }

    /// Sets the id of the batch.
    pub(crate) fn name(&mut self, id: Option<BatchId>) {
        self.id = id;
    }

    /// Sets the id of a batch to which no rows have been added yet, for an id that contains the number of the table
    /// that the batch creates.
    pub fn set_id(&mut self, id: BatchId) {
        self.id = Some(id);
    }

    /// Records ids of the batch's parts with it: a part that is sent later by itself is a duplicate, and a part that
    /// was committed before is a conflict.
    pub fn set_parts(&mut self, parts: Vec<BatchId>) {
        self.parts = parts;
    }

    /// Makes a changed definition a [`Conflict`](ErrorKind::Conflict), also if the batch only appends and its rows
    /// would be valid under the new one: the table may have another name now.
    pub fn pin_definitions(&mut self) {
        self.pins_definitions = true;
    }

    /// The number of rows added so far.
    pub fn row_count(&self) -> u64 {
        self.row_count
    }

    /// Adds columns in stored form. Rows that violate a CHECK constraint are refused, and the batch stays as it was.
    pub(crate) fn push_stored(&mut self, table: &Table, columns: Vec<ArrayRef>, row_count: usize) -> Result<()> {
        if !self.is_duplicate {
            check_stored_rows(&self.handle.shared, table, &columns, row_count)?;
        }
        self.push_with(table, columns, row_count, table.definition.on_conflict)
    }

    fn push_with(
        &mut self,
        table: &Table,
        columns: Vec<ArrayRef>,
        row_count: usize,
        policy: ConflictPolicy,
    ) -> Result<()> {
        if self.is_duplicate {
            return Ok(());
        }
        table.definition.check_merge(policy)?;
        let done = self.push_mapped(table, columns, row_count, policy);
        let done = self.unless_duplicate(done);
        self.note_half_done(done)
    }

    fn push_mapped(
        &mut self,
        table: &Table,
        columns: Vec<ArrayRef>,
        row_count: usize,
        policy: ConflictPolicy,
    ) -> Result<()> {
        if table.definition.is_in_memory() {
            self.row_count += row_count as u64;
            // If another process changes the definition, the commit compares it with that of the writer.
            self.writer(table)?;
            return self.draft(table)?.append(columns, row_count, policy);
        }
        let rows = self.stored_rows(table, columns, row_count)?;
        match table.definition.has_unique() {
            true => self.push_keyed(table, rows, policy),
            false => self.push_rows(table, rows),
        }
    }

    fn stored_rows(&mut self, table: &Table, columns: Vec<ArrayRef>, row_count: usize) -> Result<RecordBatch> {
        self.check_writable(table)?;
        self.row_count += row_count as u64;
        let options = RecordBatchOptions::new().with_row_count(Some(row_count));
        let schema = Arc::clone(&self.writer(table)?.schema);
        Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
    }

    /// Notes an error that may have left an operation half done.
    pub(crate) fn note_half_done<T>(&mut self, done: Result<T>) -> Result<T> {
        self.is_half_done |= done.is_err();
        done
    }

    /// Adds rows in stored form to the chunks.
    pub(crate) fn push_rows(&mut self, table: &Table, rows: RecordBatch) -> Result<()> {
        if !table.definition.foreign_keys.is_empty() {
            let noted = self.note_added_children(table, &rows);
            self.note_half_done(noted)?;
        }
        let pushed = self.writer(table).map(drop).and_then(|()| self.chunks.push(table, rows));
        self.note_half_done(pushed)
    }

    /// The writer of a table. The batch then relies on the table's definition.
    fn writer(&mut self, table: &Table) -> Result<&mut TableWriter> {
        self.changes.name_definition(table)?;
        Ok(self.chunks.writer(table))
    }

    /// Checks the keys of all waiting rows, turns the rows into chunks and waits for their encoding.
    fn settle(&mut self) -> Result<()> {
        let done = self.settle_keys().and_then(|()| self.log_removed()).and_then(|()| self.chunks.finish());
        self.note_half_done(done)
    }

    /// Adds an encoded chunk.
    fn keep(&mut self, chunk: NewChunk) -> Result<()> {
        let kept = self.chunks.keep(chunk);
        self.note_half_done(kept)
    }

    /// Discards a table's waiting rows and its chunks in memory.
    fn forget_rows(&mut self, table: TableId) {
        self.keyed.forget(table);
        self.chunks.forget_table(table);
        self.changes.references_mut().take_added_to(table);
    }
}
