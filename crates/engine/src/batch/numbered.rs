//! The numbers of identity columns that added rows lack. All ways into a table come by here.

use crate::batch::Batch;
use crate::shared::session_numbers::{BatchNumbers, SessionNumbers};
use arrow::array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{Field, Schema};
use atsdb_codec::logical_type;
use atsdb_core::name::same_name;
use atsdb_core::{Error, QualifiedName, Redefinition, Result, Table, TableDefinition, TableId};
use std::borrow::Cow;
use std::sync::Arc;

impl Batch {
    /// Notes the numbers that the batch gives to rows as drawn by a session.
    pub fn with_numbers(mut self, session: &SessionNumbers) -> Self {
        self.numbers = Some(BatchNumbers(session.clone()));
        self
    }

    /// The numbers of the batch's session. A batch without one gets its own.
    fn own_numbers(&mut self) -> &SessionNumbers {
        let shared = &self.handle.shared;
        &self.numbers.get_or_insert_with(|| BatchNumbers(SessionNumbers::new(shared))).0
    }

    fn draw(&self, table: &Table, position: usize, count: usize) -> Result<Vec<i64>> {
        match &self.numbers {
            Some(numbers) => numbers.0.draw(table, position, count),
            None => self.handle.shared.draw_numbers(table, position, count),
        }
    }

    /// Lets the batch's own counters give the numbers of columns that a new definition restarts.
    pub(super) fn note_restarted(&mut self, table: TableId, from: &TableDefinition, to: &TableDefinition) {
        for column in &to.columns {
            let before = from.column_by_id(column.id).and_then(|before| before.identity);
            if let (Some(identity), Some(before)) = (column.identity, before)
                && identity.restarts > before.restarts
            {
                self.own_numbers().restarted().restart(table, column.id, identity.restarts);
            }
        }
    }

    /// Puts into the definitions that the batch commits where its own counters ended.
    pub(super) fn keep_restarted(&mut self) {
        let Some(numbers) = &self.numbers else { return };
        let restarted = numbers.0.restarted();
        for Redefinition { table, to, .. } in self.changes.redefined_mut() {
            for column in &mut to.columns {
                if let Some(identity) = &mut column.identity
                    && let Some(counter) = restarted.counter(*table, column.id, identity.restarts)
                {
                    identity.after = Some(counter.last);
                }
            }
        }
    }

    /// A definition that replaces another one of a table that the batch created: columns count on.
    pub(super) fn continued(&self, table: &Table, mut to: TableDefinition) -> Result<TableDefinition> {
        let store = &self.handle.shared.store;
        let counters = match self.chunks.stage() {
            Some(stage) => store.stage_snapshot(stage)?,
            None => store.snapshot()?,
        };
        to.continue_counters(|column| counters.counter(table.id, column))?;
        Ok(to)
    }

    /// Notes that a table of the batch was created again, with another number.
    pub(super) fn note_recreated(&mut self, table: TableId, to: TableId) {
        self.own_numbers().renumber(table, to);
    }

    /// The sequence that a table takes numbers from.
    fn sequence(&self, table: &Table, name: &QualifiedName) -> Result<Table> {
        let is_it = |other: &TableDefinition| other.sequence && name.is_of(other);
        let found = match self.changes.base() {
            Some(base) => self.changes.find_table(base, is_it),
            None => match self.changes.created().iter().find(|own| is_it(&own.definition)) {
                Some(own) => Some(own.clone()),
                None => {
                    let stored = self.handle.shared.store.snapshot()?.table_named(&name.stored_name())?;
                    stored.filter(|stored| is_it(&stored.definition))
                }
            },
        };
        found.ok_or_else(|| {
            let (table, name) = (&table.definition.name, &name.name);
            Error::not_found(format!("the sequence {name} of table {table} does not exist"))
        })
    }

    /// Adds the identity columns that rows lack, and those with numbers of a sequence. No number is given again if the
    /// rows are not stored after all.
    pub(crate) fn numbered<'a>(&self, table: &Table, rows: &'a RecordBatch) -> Result<Cow<'a, RecordBatch>> {
        let schema = rows.schema();
        let is_given = |name: &str| schema.fields().iter().any(|field| same_name(field.name(), name));
        let mut added: Vec<(Field, ArrayRef)> = Vec::new();
        let columns = table.definition.columns.iter().enumerate();
        for (position, column) in columns.filter(|(_, column)| !is_given(&column.name)) {
            let numbers = match &column.sequence {
                Some(sequence) => self.draw(&self.sequence(table, sequence)?, 0, rows.num_rows())?,
                None if column.identity.is_some() => self.draw(table, position, rows.num_rows())?,
                None => continue,
            };
            let options = CastOptions { safe: false, ..CastOptions::default() };
            let array = cast_with_options(&Int64Array::from(numbers), &logical_type(column), &options);
            let array = array.map_err(|_| {
                let (table, column) = (&table.definition.name, &column.name);
                Error::invalid(format!("table {table}, column {column}: the number of its sequence is out of range"))
            })?;
            added.push((Field::new(&column.name, array.data_type().clone(), false), array));
        }
        if added.is_empty() {
            return Ok(Cow::Borrowed(rows));
        }
        let fields = schema.fields().iter().map(|field| field.as_ref().clone());
        let (new_fields, new_arrays): (Vec<Field>, Vec<ArrayRef>) = added.into_iter().unzip();
        let fields: Vec<Field> = fields.chain(new_fields).collect();
        let arrays: Vec<ArrayRef> = rows.columns().iter().cloned().chain(new_arrays).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        Ok(Cow::Owned(RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)?))
    }
}
