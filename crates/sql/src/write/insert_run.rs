//! Repeated statements of one form, `INSERT INTO t (a, b) VALUES (...)`. Their rows are collected in columns before
//! they are passed to the engine together, so a script of a million statements costs little more than reading its text.
//! Each statement is all or nothing, and an error in its values or keys is reported for that statement, not for a later
//! one. Owned here: the waiting rows. Not owned: the batch that they are added to, and when (`session`).

use super::insert::{UnnamedColumns, wrong_width};
use super::insert_text::{InsertText, TextItem};
use super::narrow_maps::NarrowMaps;
use crate::dml::conflict::OnDuplicate;
use crate::dml::target::{Target, first_columns};
use crate::run::interrupt::Interrupt;
use arrow::array::{ArrayRef, BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{Field, Schema, SchemaRef};
use atsdb_core::limits::CHUNK_ROWS_MAX;
use atsdb_core::{Column, ColumnType, ConflictPolicy, DefaultFunction, Error, Result, SearchPath, Table, Value};
use atsdb_dialect::text::literal::Literal;
use atsdb_dialect::text::literal_columns::LiteralColumn;
use atsdb_dialect::text::params::Parameters;
use atsdb_dialect::text::table_names::{TableName, unknown_table};
use atsdb_engine::{Batch, KeyIndex, KeyValue};
use std::sync::Arc;

/// The maximum size of the text of waiting statements in bytes.
const TEXT_BYTES_MAX: usize = 16 << 20;
/// The number of rows of a statement between checks for an interrupt.
const ROWS_BETWEEN_CHECKS: u64 = 1 << 16;

/// The waiting rows of statements that begin with the same words.
pub(crate) struct InsertRun {
    /// The text up to and including `VALUES`.
    head: String,
    table: Table,
    policy: ConflictPolicy,
    /// Whether the statements name the columns. Otherwise, the number of values says which are meant.
    names_columns: bool,
    positions: Vec<usize>,
    columns: Vec<LiteralColumn>,
    schema: SchemaRef,
    keys: Keys,
    maps: NarrowMaps,
    row_count: usize,
    text_bytes: usize,
    /// Waiting rows that will not be stored because their key exists.
    left_out: Vec<usize>,
}

/// How the keys of rows are checked.
enum Keys {
    /// The batch checks all rows together: there are no keys, or new rows replace others, or the statement has its own
    /// commit.
    Later,
    /// An index checks them here, row by row.
    Indexed(Box<KeyIndex>),
    /// The batch checks them statement by statement, with all else that only the batch can refuse.
    AtOnce,
}

/// The outcome of a statement.
pub(crate) enum PushOutcome {
    /// The number of rows, without those that were left out.
    Rows(u64),
    /// Only the parser can read it; nothing was stored.
    NotPlain,
    /// It is invalid; nothing was stored.
    Refused(Error),
}

impl InsertRun {
    /// Begins a run with a statement; `None` if it is not plain. `tables` returns the tables that a name may mean.
    pub(crate) fn begin<T: AsRef<[Table]>>(
        text: &str,
        parameters: &Parameters,
        path: &SearchPath,
        tables: impl FnOnce(&TableName) -> Result<T>,
    ) -> Result<Option<Self>> {
        let Some(mut insert) = InsertText::begin(text, parameters) else { return Ok(None) };
        let head = text[..insert.bytes_read()].to_owned();
        // The first row is checked before the store is accessed.
        let mut row = Vec::new();
        if insert.next(&mut row)? != TextItem::Row {
            return Ok(None);
        }
        let (columns, on_duplicate): (_, OnDuplicate) = (insert.columns.take(), insert.on_duplicate.clone());
        let candidates = tables(&insert.table)?;
        let tables = candidates.as_ref();
        let found = insert.table.find_by(path, tables);
        let table = found.ok_or_else(|| unknown_table(&insert.table, tables))?;
        if table.definition.enumerations().next().is_some() {
            // A wrong label must not be reported by a later statement, nor one refused that was just added.
            return Ok(None);
        }
        let names_columns = columns.is_some();
        let columns = columns.or_else(|| first_columns(table, row.len()));
        let target = Target::new(TableName::of_table(table), columns, on_duplicate);
        let (table, positions) = target.resolve_among(tables)?;
        target.refuse_identity_values(&table, &positions)?;
        let policy = target.on_duplicate.policy(&table)?;
        // The rows wait for later statements, which have other times.
        let is_of_statement = |column: &Column| column.default_function.is_some_and(DefaultFunction::is_of_statement);
        let mut others = table.definition.columns.iter().enumerate().filter(|(at, _)| !positions.contains(at));
        // A default that is too long must not be reported by a later statement either.
        if others.any(|(_, column)| is_of_statement(column) || has_long_default(column)) {
            return Ok(None);
        }
        let columns: Vec<LiteralColumn> =
            positions.iter().map(|position| LiteralColumn::new(&table.definition.columns[*position])).collect();
        let unnamed = UnnamedColumns::of(&table, &positions);
        let fields: Vec<Field> = columns.iter().map(LiteralColumn::field).chain(unnamed.fields()).collect();
        let schema = Arc::new(Schema::new(fields));
        Ok(Some(Self {
            head,
            maps: NarrowMaps::none(),
            table,
            policy,
            names_columns,
            positions,
            columns,
            schema,
            keys: Keys::Later,
            row_count: 0,
            text_bytes: 0,
            left_out: Vec::new(),
        }))
    }

    /// Prepares the run for several statements, each of which reports its own errors. `before` is the index of another
    /// run of the same table.
    pub(crate) fn keep_on(&mut self, batch: &mut Batch, before: Option<Box<KeyIndex>>) -> Result<()> {
        let definition = &self.table.definition;
        let is_named = |id| self.positions.iter().any(|position| definition.columns[*position].id == id);
        // A time of this type may be out of range. The batch reports that, and also that a rollup cannot be written to.
        let is_unsigned = definition.time_column().is_some_and(|time| time.column_type == ColumnType::UInt64);
        let all_named = definition.unique.iter().flat_map(|unique| &unique.columns).all(|id| is_named(*id));
        self.keys = match (definition.has_unique(), self.policy) {
            // Keys of rows in memory are checked by the table in memory; a rollup is refused at its first row.
            _ if is_unsigned || definition.rollup.is_some() => Keys::AtOnce,
            // The batch tests the conditions of CHECK constraints, and looks up the parents of foreign keys.
            _ if !definition.checks.is_empty() || !definition.foreign_keys.is_empty() => Keys::AtOnce,
            _ if definition.is_in_memory() && definition.has_unique() => Keys::AtOnce,
            (false, _) | (true, ConflictPolicy::Replace | ConflictPolicy::Merge) => Keys::Later,
            _ if !all_named => Keys::AtOnce,
            _ => Keys::Indexed(match before {
                Some(index) => index,
                None => Box::new(batch.key_index(&self.table)?),
            }),
        };
        let mapped = self.positions.iter().map(|position| &self.table.definition.columns[*position]);
        self.maps = NarrowMaps::of(&self.table, mapped, batch)?;
        Ok(())
    }

    /// Returns whether the statement has the same form.
    pub(crate) fn takes(&self, text: &str) -> bool {
        text.starts_with(&self.head)
    }

    /// Returns whether it inserts into this table.
    pub(crate) fn is_into(&self, table: &Table) -> bool {
        self.table.id == table.id
    }

    /// The table.
    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    /// The size of the waiting statements in bytes.
    pub(crate) fn text_bytes(&self) -> usize {
        self.text_bytes
    }

    /// The index of the table's keys, which another run can continue to use.
    pub(crate) fn into_index(self) -> Option<Box<KeyIndex>> {
        match self.keys {
            Keys::Indexed(index) => Some(index),
            _ => None,
        }
    }

    /// Adds the rows of a statement that [has the same form](Self::takes). If the outcome is not a number of rows, the
    /// run must be discarded. After an error, so must the batch.
    pub(crate) fn push(
        &mut self,
        text: &str,
        parameters: &Parameters,
        interrupt: &Interrupt,
        batch: &mut Batch,
    ) -> Result<PushOutcome> {
        let (before, left_out) = (self.row_count, self.left_out.len());
        match self.read(text, parameters, interrupt) {
            Ok(Some(ReadRows { is_duplicate: false, .. })) => {}
            Ok(Some(_)) => return Err(self.refuse_duplicate(before, batch)),
            refused => {
                self.hand_over(before, batch)?;
                return Ok(match refused {
                    Err(error) => PushOutcome::Refused(error),
                    Ok(_) => PushOutcome::NotPlain,
                });
            }
        }
        let row_count = (self.row_count - before - (self.left_out.len() - left_out)) as u64;
        self.text_bytes += text.len();
        let is_at_once = matches!(self.keys, Keys::AtOnce);
        if is_at_once || self.row_count >= CHUNK_ROWS_MAX || self.text_bytes > TEXT_BYTES_MAX || self.maps.are_full() {
            let skipped_rows = batch.skipped_rows();
            let skipped_before = skipped_rows.load(std::sync::atomic::Ordering::Relaxed);
            self.flush(batch)?;
            if is_at_once {
                batch.end_statement()?;
                let skipped_rows = skipped_rows.load(std::sync::atomic::Ordering::Relaxed) - skipped_before;
                return Ok(PushOutcome::Rows(row_count.saturating_sub(skipped_rows)));
            }
        }
        Ok(PushOutcome::Rows(row_count))
    }

    /// Passes all waiting rows to the batch.
    pub(crate) fn flush(&mut self, batch: &mut Batch) -> Result<()> {
        self.hand_over(self.row_count, batch)?;
        if let Keys::Indexed(index) = &mut self.keys
            && index.is_full()
        {
            **index = batch.key_index(&self.table)?;
        }
        Ok(())
    }

    /// Reads the rows into the columns; `None` if the statement is not plain.
    fn read(&mut self, text: &str, parameters: &Parameters, interrupt: &Interrupt) -> Result<Option<ReadRows>> {
        let mut insert = InsertText::resume(text, self.head.len(), parameters);
        let mut row: Vec<Literal<'_>> = Vec::with_capacity(self.columns.len());
        let mut read = ReadRows { row_count: 0, is_duplicate: false };
        loop {
            match insert.next(&mut row)? {
                TextItem::Row => {}
                TextItem::End => return Ok(Some(read)),
                TextItem::NotPlain => return Ok(None),
            }
            if read.row_count == 0 && self.is_for_others(row.len()) {
                return Ok(None);
            }
            if self.columns.iter().zip(&row).any(|(column, literal)| !column.takes(literal)) {
                return Ok(None);
            }
            read.row_count += 1;
            if read.row_count.is_multiple_of(ROWS_BETWEEN_CHECKS) {
                interrupt.check()?;
            }
            self.push_row(&row, &mut read)?;
        }
    }

    /// Returns whether a statement with this number of values is for other columns.
    fn is_for_others(&self, width: usize) -> bool {
        !self.names_columns && width != self.columns.len() && width <= self.table.definition.columns.len()
    }

    fn push_row(&mut self, row: &[Literal<'_>], read: &mut ReadRows) -> Result<()> {
        let place = |column: &LiteralColumn| {
            format!("table {}, column {}, row {}", self.table.definition.name, column.name(), read.row_count)
        };
        if row.len() != self.columns.len() {
            let error = wrong_width(&self.table, row.len(), self.columns.len());
            return Err(error.context(format_args!("row {}", read.row_count)));
        }
        for (column, literal) in self.columns.iter_mut().zip(row) {
            if let Err(error) = column.push(literal) {
                return Err(error.context(place(column)));
            }
        }
        self.maps.note(row);
        if let Keys::Indexed(index) = &mut self.keys
            && !read.is_duplicate
        {
            let (columns, positions) = (&self.columns, &self.positions);
            let value = |position: usize| match positions.iter().position(|other| *other == position) {
                Some(at) => columns[at].last(),
                None => KeyValue::Null,
            };
            match (index.add(value)?, self.policy) {
                (true, _) => {}
                (false, ConflictPolicy::Keep) => self.left_out.push(self.row_count),
                (false, _) => read.is_duplicate = true,
            }
        }
        self.row_count += 1;
        Ok(())
    }

    /// Passes the first waiting rows to the batch, and discards the others.
    fn hand_over(&mut self, row_count: usize, batch: &mut Batch) -> Result<()> {
        let arrays = self.finish();
        let rows = self.rows(&arrays, 0, row_count)?;
        self.append(rows, batch)
    }

    fn append(&mut self, mut rows: RecordBatch, batch: &mut Batch) -> Result<()> {
        let left_out = std::mem::take(&mut self.left_out);
        if !left_out.is_empty() {
            let mut stays = vec![true; rows.num_rows()];
            left_out.into_iter().filter(|row| *row < rows.num_rows()).for_each(|row| stays[row] = false);
            rows = filter_record_batch(&rows, &BooleanArray::from(stays))?;
        }
        if rows.num_rows() == 0 {
            return Ok(());
        }
        match &self.keys {
            Keys::Indexed(index) => batch.append_indexed(index, &rows, self.policy),
            Keys::Later | Keys::AtOnce => batch.append_with(&self.table, &rows, self.policy),
        }
    }

    /// The batch's error for a statement with a key that exists.
    fn refuse_duplicate(&mut self, before: usize, batch: &mut Batch) -> Error {
        let row_count = self.row_count;
        let arrays = self.finish();
        let mut compare = || {
            let waiting = self.rows(&arrays, 0, before)?;
            self.append(waiting, batch)?;
            let refused = self.rows(&arrays, before, row_count - before)?;
            batch.append_with(&self.table, &refused, self.policy)?;
            batch.settle_keys()
        };
        compare().err().unwrap_or_else(|| Error::internal("a key that already exists is not found"))
    }

    /// Takes the columns' values. No rows wait afterwards.
    fn finish(&mut self) -> Vec<ArrayRef> {
        (self.row_count, self.text_bytes) = (0, 0);
        self.columns.iter_mut().map(LiteralColumn::finish).collect()
    }

    fn rows(&self, arrays: &[ArrayRef], first: usize, row_count: usize) -> Result<RecordBatch> {
        let mut arrays: Vec<ArrayRef> = arrays.iter().map(|array| array.slice(first, row_count)).collect();
        arrays.extend(UnnamedColumns::of(&self.table, &self.positions).arrays(row_count)?);
        RecordBatch::try_new(Arc::clone(&self.schema), arrays).map_err(Error::from)
    }
}

/// Returns whether the column's default is longer than a text of the column.
fn has_long_default(column: &Column) -> bool {
    match (column.length, &column.default) {
        (Some(length), Some(Value::Text(text))) => length.stored(text).is_err(),
        _ => false,
    }
}

/// The rows that were read from a statement.
struct ReadRows {
    row_count: u64,
    /// Whether one of its rows has a key that exists.
    is_duplicate: bool,
}
