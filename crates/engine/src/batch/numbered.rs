//! Values that the table supplies to added rows: the numbers of identity columns and sequences, and the results of
//! default functions. All ways into a table use this module.

use crate::batch::Batch;
use crate::shared::session_numbers::{BatchNumbers, SessionNumbers};
use arrow::array::{ArrayRef, Int32Array, Int64Array, RecordBatch, RecordBatchOptions, StringArray};
use arrow::compute::{CastOptions, cast, cast_with_options};
use arrow::datatypes::{DataType, Field, Schema};
use atsdb_codec::logical_type;
use atsdb_core::name::same_name;
use atsdb_core::{
    Column, CurrentTimes, DefaultFunction, Error, QualifiedName, Redefinition, Result, Table, TableDefinition, TableId,
    uuid_text,
};
use std::borrow::Cow;
use std::sync::Arc;

impl Batch {
    /// Records the numbers that the batch gives to rows as drawn by a session.
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

    /// Makes the batch's own counters give the numbers of columns that a new definition restarts.
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

    /// Records in the definitions that the batch commits where its own counters ended.
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

    /// Returns a definition that replaces another one of a table that the batch created: its columns continue counting.
    pub(super) fn continued(&self, table: &Table, mut to: TableDefinition) -> Result<TableDefinition> {
        let store = &self.handle.shared.store;
        let counters = match self.chunks.stage() {
            Some(stage) => store.stage_snapshot(stage)?,
            None => store.snapshot()?,
        };
        to.continue_counters(|column| counters.counter(table.id, column))?;
        Ok(to)
    }

    /// Records that a table of the batch was created again, with another number.
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

    /// Sets the current times for defaults: those of the statement whose rows are added from here on. Without a call,
    /// the batch uses the time at which it first needs one.
    pub fn set_times(&mut self, times: CurrentTimes) {
        self.times = times.into();
    }

    /// Adds the columns that rows lack and that the table fills: identity columns, columns with a sequence, and columns
    /// with a default function. A number is not given again, even if the rows are not stored after all.
    pub(crate) fn numbered<'a>(&self, table: &Table, rows: &'a RecordBatch) -> Result<Cow<'a, RecordBatch>> {
        let schema = rows.schema();
        let is_given = |name: &str| schema.fields().iter().any(|field| same_name(field.name(), name));
        let mut added: Vec<(Field, ArrayRef)> = Vec::new();
        let columns = table.definition.columns.iter().enumerate();
        for (position, column) in columns.filter(|(_, column)| column.is_filled() && !is_given(&column.name)) {
            let array = match (&column.sequence, column.default_function) {
                (Some(sequence), _) => {
                    let numbers = self.draw(&self.sequence(table, sequence)?, 0, rows.num_rows())?;
                    numbers_of(table, column, numbers)?
                }
                (None, Some(function)) => self.computed(table, column, function, rows.num_rows())?,
                (None, None) if column.identity.is_some() => {
                    numbers_of(table, column, self.draw(table, position, rows.num_rows())?)?
                }
                (None, None) => continue,
            };
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

    /// Adds the columns that rows lack and that had a default function under the definition for which the rows were
    /// made, if the table now has another definition. Rows of earlier statements keep the defaults of their time.
    pub(crate) fn with_earlier_defaults<'a>(
        &self,
        made_for: &Table,
        now: &Table,
        rows: &'a RecordBatch,
    ) -> Result<Cow<'a, RecordBatch>> {
        let has_function = made_for.definition.columns.iter().any(|column| column.default_function.is_some());
        if made_for.version == now.version || !has_function {
            return Ok(Cow::Borrowed(rows));
        }
        let mut filled = now.clone();
        for column in &mut filled.definition.columns {
            let before = made_for.definition.column_by_id(column.id);
            (column.identity, column.sequence) = (None, None);
            column.default_function = before.and_then(|before| before.default_function);
        }
        self.numbered(&filled, rows)
    }

    /// The result of a default function for added rows: one current time for all of them, or a UUID for each.
    fn computed(
        &self,
        table: &Table,
        column: &Column,
        function: DefaultFunction,
        row_count: usize,
    ) -> Result<ArrayRef> {
        let environment = &self.handle.shared.environment;
        if function == DefaultFunction::GenRandomUuid {
            let texts = (0..row_count).map(|_| environment.random().map(uuid_text::random));
            return Ok(Arc::new(StringArray::from(texts.collect::<Result<Vec<String>>>()?)));
        }
        let times = *self.times.get_or_init(|| CurrentTimes::at(environment.now_us()));
        let beyond = || {
            let (table, column, default) = (&table.definition.name, &column.name, function.sql());
            Error::invalid(format!("table {table}, column {column}: the time of {default} is out of range"))
        };
        let time = function.time(times, column.column_type).ok_or_else(beyond)?;
        let wanted = logical_type(column);
        let times: ArrayRef = match wanted {
            // Arrow casts 64-bit integers to dates only by way of 32 bits.
            DataType::Date32 => Arc::new(Int32Array::from(vec![i32::try_from(time).map_err(|_| beyond())?; row_count])),
            _ => Arc::new(Int64Array::from(vec![time; row_count])),
        };
        Ok(cast(&times, &wanted)?)
    }
}

/// Numbers as values of a column.
fn numbers_of(table: &Table, column: &Column, numbers: Vec<i64>) -> Result<ArrayRef> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(&Int64Array::from(numbers), &logical_type(column), &options).map_err(|_| {
        let (table, column) = (&table.definition.name, &column.name);
        Error::invalid(format!("table {table}, column {column}: the number of its sequence is out of range"))
    })
}
