//! Values that the table supplies to added rows: the numbers of identity columns and sequences, and defaults. All ways
//! into a table use this module. Not owned: finding the sequence that a column names (`changes`).

use crate::chunk::missing::missing_scalar;
use crate::shared::Shared;
use crate::shared::definitions::has_same_numbers;
use crate::shared::session_numbers::{BatchNumbers, SessionNumbers};
use arrow::array::{
    ArrayRef, DictionaryArray, Int32Array, Int64Array, RecordBatch, RecordBatchOptions, StringArray, UInt32Array,
    new_null_array,
};
use arrow::compute::{CastOptions, cast, cast_with_options, take};
use arrow::datatypes::{DataType, Field, Schema, UInt32Type};
use atsdb_codec::{logical_type, to_logical};
use atsdb_core::name::same_name;
use atsdb_core::{
    Column, CurrentTimes, DefaultFunction, Error, QualifiedName, Redefinition, Result, Table, TableDefinition, TableId,
    Value, uuid_text,
};
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

/// The sources of values that the rows of a batch are not given: the session that draws numbers, and the current times.
#[derive(Default)]
pub(crate) struct SuppliedValues {
    /// The session that draws the numbers of identity columns. A batch without one draws them itself.
    numbers: Option<BatchNumbers>,
    /// The current times for defaults: those of the statement, else of the moment at which they are first needed.
    times: OnceLock<CurrentTimes>,
}

impl SuppliedValues {
    /// Lets a session draw the numbers.
    pub(crate) fn set_numbers(&mut self, session: &SessionNumbers) {
        self.numbers = Some(BatchNumbers(session.clone()));
    }

    /// Sets the current times.
    pub(crate) fn set_times(&mut self, times: CurrentTimes) {
        self.times = times.into();
    }

    /// The session that draws the numbers. A batch without one gets its own.
    fn own_numbers(&mut self, shared: &Arc<Shared>) -> &SessionNumbers {
        &self.numbers.get_or_insert_with(|| BatchNumbers(SessionNumbers::new(shared))).0
    }

    fn draw(&self, shared: &Shared, table: &Table, position: usize, count: usize) -> Result<Vec<i64>> {
        match &self.numbers {
            Some(numbers) => numbers.0.draw(table, position, count),
            None => shared.draw_numbers(table, position, count),
        }
    }

    /// Makes the batch's own counters give the numbers of columns that a new definition restarts.
    pub(crate) fn note_restarted(
        &mut self,
        shared: &Arc<Shared>,
        table: TableId,
        from: &TableDefinition,
        to: &TableDefinition,
    ) {
        for column in &to.columns {
            let before = from.column_by_id(column.id).and_then(|before| before.identity);
            if let (Some(identity), Some(before)) = (column.identity, before)
                && identity.restarts > before.restarts
            {
                self.own_numbers(shared).restarted().restart(table, column.id, identity.restarts);
            }
        }
    }

    /// Records in the definitions that the batch commits where its own counters ended.
    pub(crate) fn keep_restarted<'a>(&self, redefined: impl Iterator<Item = &'a mut Redefinition>) {
        let Some(numbers) = &self.numbers else { return };
        let restarted = numbers.0.restarted();
        for Redefinition { table, to, .. } in redefined {
            for column in &mut to.columns {
                if let Some(identity) = &mut column.identity
                    && let Some(counter) = restarted.counter(*table, column.id, identity.restarts)
                {
                    identity.after = Some(counter.last);
                }
            }
        }
    }

    /// Records that a table of the batch was created again, with another number.
    pub(crate) fn note_recreated(&mut self, shared: &Arc<Shared>, table: TableId, to: TableId) {
        self.own_numbers(shared).renumber(table, to);
    }

    /// Adds the columns that rows lack and that the table fills: identity columns, columns with a sequence, and columns
    /// with a default. `sequence` finds a sequence by its name. A number is not given again, even if the rows are not
    /// stored after all.
    pub(crate) fn add_to<'a>(
        &self,
        shared: &Shared,
        table: &Table,
        rows: &'a RecordBatch,
        sequence: impl Fn(&QualifiedName) -> Result<Table>,
    ) -> Result<Cow<'a, RecordBatch>> {
        if !table.definition.columns.iter().any(Column::is_filled) {
            return Ok(Cow::Borrowed(rows));
        }
        with_lacking(table, rows, |position, _| self.filled(shared, table, position, rows.num_rows(), &sequence))
    }

    /// The values of a column, by position, in rows that lack it; `None` if the table does not fill it. `sequence`
    /// finds a sequence by its name.
    pub(crate) fn filled(
        &self,
        shared: &Shared,
        table: &Table,
        position: usize,
        row_count: usize,
        sequence: impl Fn(&QualifiedName) -> Result<Table>,
    ) -> Result<Option<ArrayRef>> {
        let column = &table.definition.columns[position];
        match &column.sequence {
            Some(name) => {
                let numbers = self.draw(shared, &sequence(name)?, 0, row_count)?;
                numbers_of(table, column, numbers).map(Some)
            }
            None if column.identity.is_some() => {
                numbers_of(table, column, self.draw(shared, table, position, row_count)?).map(Some)
            }
            None => self.defaults(shared, table, column, row_count),
        }
    }

    /// Adds the columns that rows lack and that have a default now, or had one under the definition for which the rows
    /// were made, if the table now has another definition. Rows of earlier statements keep the defaults of their time.
    /// A column that is newer than the rows is left to [`add_to`](Self::add_to), and so are all of them if a copy has
    /// replaced the table.
    pub(crate) fn add_earlier_defaults<'a>(
        &self,
        shared: &Shared,
        made_for: &Table,
        now: &Table,
        rows: &'a RecordBatch,
    ) -> Result<Cow<'a, RecordBatch>> {
        if made_for.version == now.version || !has_same_numbers(&made_for.definition, &now.definition) {
            return Ok(Cow::Borrowed(rows));
        }
        with_lacking(now, rows, |_, column| match made_for.definition.column_by_id(column.id) {
            Some(before) if before.has_default_value() => {
                let (default, default_function) = (before.default.clone(), before.default_function);
                self.defaults(shared, now, &Column { default, default_function, ..column.clone() }, rows.num_rows())
            }
            Some(_) if column.has_default_value() && column.nullable => {
                Ok(Some(new_null_array(&logical_type(column), rows.num_rows())))
            }
            _ => Ok(None),
        })
    }

    /// The default of a column for added rows; `None` if it has none.
    fn defaults(&self, shared: &Shared, table: &Table, column: &Column, row_count: usize) -> Result<Option<ArrayRef>> {
        match (column.default_function, &column.default) {
            (Some(function), _) => self.computed(shared, table, column, function, row_count).map(Some),
            (None, Some(value)) => literals(table, column, value, row_count).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// The result of a default function for added rows: one current time for all of them, or a UUID for each.
    fn computed(
        &self,
        shared: &Shared,
        table: &Table,
        column: &Column,
        function: DefaultFunction,
        row_count: usize,
    ) -> Result<ArrayRef> {
        let environment = &shared.environment;
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

/// Adds to rows the columns of the table that they lack and that `values` has arrays for.
fn with_lacking<'a>(
    table: &Table,
    rows: &'a RecordBatch,
    mut values: impl FnMut(usize, &Column) -> Result<Option<ArrayRef>>,
) -> Result<Cow<'a, RecordBatch>> {
    let schema = rows.schema();
    let is_in_batch = |name: &str| schema.fields().iter().any(|field| same_name(field.name(), name));
    let mut added: Vec<(Field, ArrayRef)> = Vec::new();
    let columns = table.definition.columns.iter().enumerate();
    for (position, column) in columns.filter(|(_, column)| !is_in_batch(&column.name)) {
        if let Some(array) = values(position, column)? {
            added.push((Field::new(&column.name, array.data_type().clone(), true), array));
        }
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

/// A default that is a value, in each of the rows.
fn literals(table: &Table, column: &Column, value: &Value, row_count: usize) -> Result<ArrayRef> {
    let one: Option<ArrayRef> = match (column.map, value) {
        (Some(_), Value::Text(text)) => {
            Some(Arc::new([text.as_str()].into_iter().collect::<DictionaryArray<UInt32Type>>()))
        }
        (Some(_), _) => None,
        (None, value) => missing_scalar(column, value).map(|stored| to_logical(column, &stored)).transpose()?,
    };
    let one = one.ok_or_else(|| {
        let (table, column) = (&table.definition.name, &column.name);
        Error::internal(format!("table {table}, column {column}: the default {value:?} does not fit the column"))
    })?;
    Ok(take(&one, &UInt32Array::from(vec![0; row_count]), None)?)
}

/// Numbers as values of a column.
fn numbers_of(table: &Table, column: &Column, numbers: Vec<i64>) -> Result<ArrayRef> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(&Int64Array::from(numbers), &logical_type(column), &options).map_err(|_| {
        let (table, column) = (&table.definition.name, &column.name);
        Error::invalid(format!("table {table}, column {column}: the number of its sequence is out of range"))
    })
}
