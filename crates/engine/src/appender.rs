//! Many rows, many flushes: what a program that measures holds on to.

use crate::batch::{Batch, is_stored_type, map_numbers};
use crate::definitions::carry;
use crate::engine::Engine;
use crate::record::{Record, RowWriter};
use crate::row_buffer::{ColumnBuffer, Values};
use arrow::array::RecordBatch;
use atsdb_core::limits::{CHUNK_ROWS_MAX, CHUNK_TEXT_BYTES_MAX};
use atsdb_core::{BatchId, ColumnType, Error, Outcome, Result, Table};
use std::sync::Arc;

/// Appends to one table. Rows are buffered; [`flush`](Self::flush) acknowledges them, all or none since the last
/// one. Dropped without it, what was not flushed is gone.
pub struct Appender {
    engine: Engine,
    /// The table as the rows are: their columns are its.
    shape: Table,
    /// The table as it is now, as far as this process knows.
    table: Table,
    batch: Batch,
    rows: Rows,
}

/// Rows that came one by one and are no batch yet.
struct Rows {
    columns: Vec<ColumnBuffer>,
    time: Option<usize>,
    /// Where each column of a record stands in the table: all but the time, in order.
    order: Vec<usize>,
    row_count: usize,
    has_text: bool,
    error: Option<Error>,
}

impl Appender {
    pub(crate) fn new(engine: &Engine, table: &Table) -> Self {
        let definition = &table.definition;
        let time =
            definition.time.and_then(|time| definition.columns.iter().position(|column| column.id == time.column));
        let rows = Rows {
            columns: definition.columns.iter().map(ColumnBuffer::new).collect(),
            time,
            order: (0..definition.columns.len()).filter(|position| Some(*position) != time).collect(),
            row_count: 0,
            has_text: definition.columns.iter().any(|column| {
                column.map.is_none() && matches!(column.column_type, ColumnType::Text | ColumnType::Binary)
            }),
            error: None,
        };
        Self { engine: engine.clone(), shape: table.clone(), table: table.clone(), batch: engine.batch(None), rows }
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Adds rows from Arrow; as [`Batch::append`].
    pub fn append(&mut self, rows: &RecordBatch) -> Result<()> {
        self.cut()?;
        self.batch.append(&self.table, rows)
    }

    /// Adds a row to a series table; `time` counts the time column's own unit (days, for a date).
    #[inline]
    pub fn push<R: Record>(&mut self, time: i64, record: &R) -> Result<()> {
        match self.rows.time {
            Some(position) => self.rows.push_time(position, time),
            None => return Err(self.refuse("is a plain table; push_plain adds to it")),
        }
        self.push_record(record)
    }

    /// Adds a row to a plain table.
    pub fn push_plain<R: Record>(&mut self, record: &R) -> Result<()> {
        if self.rows.time.is_some() {
            return Err(self.refuse("is a series table; push adds to it, with a time"));
        }
        self.push_record(record)
    }

    #[inline]
    fn push_record<R: Record>(&mut self, record: &R) -> Result<()> {
        let Rows { columns, order, error, .. } = &mut self.rows;
        record.write(&mut RowWriter { columns, order, error });
        if self.rows.error.is_some() {
            return Err(self.undo_row());
        }
        self.rows.row_count += 1;
        if self.rows.row_count >= CHUNK_ROWS_MAX || (self.rows.has_text && self.rows.is_long()) {
            self.cut()?;
        }
        Ok(())
    }

    /// Makes what was added since the last flush visible and durable, all or none. After an error none of it is
    /// stored.
    pub fn flush(&mut self) -> Result<()> {
        self.flush_batch(None).map(|_| ())
    }

    /// The same as a batch with an id: sent twice, it counts once.
    pub fn flush_as(&mut self, id: BatchId) -> Result<Outcome> {
        self.flush_batch(Some(id))
    }

    fn flush_batch(&mut self, id: Option<BatchId>) -> Result<Outcome> {
        let cut = self.cut();
        let mut batch = std::mem::replace(&mut self.batch, self.engine.batch(None));
        cut?;
        batch.name(id);
        batch.commit()
    }

    /// Hands the buffered rows to the batch.
    fn cut(&mut self) -> Result<()> {
        let row_count = std::mem::take(&mut self.rows.row_count);
        if row_count == 0 {
            return Ok(());
        }
        let shared = Arc::clone(&self.engine.shared);
        if let Some(newer) = shared.definitions.newer_than(&self.table) {
            self.table = Table::clone(&newer);
        }
        let definition = &self.shape.definition;
        let mut arrays = Vec::with_capacity(self.rows.columns.len());
        for (column, buffer) in definition.columns.iter().zip(&mut self.rows.columns) {
            if buffer.len() != row_count {
                let message =
                    format!("the record wrote {} values of {} in {row_count} rows", buffer.len(), column.name);
                self.rows.clear();
                return Err(Error::usage(message));
            }
            let array = match column.map {
                None => buffer.take_array(column)?,
                Some(width) => {
                    let (numbers, nulls) = buffer.take_numbers();
                    let Values::Mapped { interner, .. } = &mut buffer.values else {
                        return Err(Error::internal("a mapped column without an interner"));
                    };
                    let mut map = |table: &Table| {
                        let width = table.definition.column_by_id(column.id).and_then(|now| now.map).unwrap_or(width);
                        map_numbers(&shared, table.id, definition, column, width, interner, &numbers, nulls.clone())
                    };
                    match map(&self.table) {
                        // What does not fit may fit by now.
                        Err(error) => match newer_table(&self.engine, &self.table)? {
                            Some(newer) => {
                                self.table = newer;
                                map(&self.table)?
                            }
                            None => return Err(error),
                        },
                        mapped => mapped?,
                    }
                }
            };
            if !column.nullable && array.null_count() > 0 {
                self.rows.clear();
                return Err(Error::invalid(format!(
                    "table {}, column {}: a value is NULL",
                    definition.name, column.name
                )));
            }
            arrays.push(array);
        }
        if self.table.version != self.shape.version {
            arrays = carry(definition, &self.table, &arrays, row_count)?;
        }
        for (column, array) in self.table.definition.columns.iter().zip(&arrays) {
            assert!(is_stored_type(column, array.data_type()), "column {} became {}", column.name, array.data_type());
        }
        self.batch.push_appended(&self.table, arrays, row_count)
    }

    #[cold]
    fn undo_row(&mut self) -> Error {
        let row_count = self.rows.row_count;
        self.rows.columns.iter_mut().for_each(|column| column.truncate(row_count));
        let error = self.rows.error.take().unwrap_or_else(|| Error::internal("a row failed without an error"));
        error.context(format_args!("table {}", self.table.definition.name))
    }

    #[cold]
    fn refuse(&self, why: &str) -> Error {
        Error::usage(format!("table {} {why}", self.table.definition.name))
    }
}

impl Rows {
    #[inline]
    fn push_time(&mut self, position: usize, time: i64) {
        let column = &mut self.columns[position];
        match &mut column.values {
            Values::Int64(values) => values.push(time),
            Values::Int32(values) => match i32::try_from(time) {
                Ok(time) => values.push(time),
                Err(_) => self.error = Some(out_of_range(time)),
            },
            Values::UInt32(values) => match u32::try_from(time) {
                Ok(time) => values.push(time),
                Err(_) => self.error = Some(out_of_range(time)),
            },
            Values::UInt64(values) => match u64::try_from(time) {
                Ok(time) => values.push(time),
                Err(_) => self.error = Some(out_of_range(time)),
            },
            _ => self.error = Some(Error::internal("a time column that holds no times")),
        }
    }

    fn is_long(&self) -> bool {
        self.columns.iter().map(ColumnBuffer::text_byte_count).sum::<usize>() > CHUNK_TEXT_BYTES_MAX
    }

    fn clear(&mut self) {
        self.row_count = 0;
        self.columns.iter_mut().for_each(|column| column.truncate(0));
    }
}

/// The table as it is now, if its definition has changed.
fn newer_table(engine: &Engine, table: &Table) -> Result<Option<Table>> {
    let now = engine.snapshot()?.table_by_id(table.id).cloned();
    Ok(now.filter(|now| now.version > table.version))
}

#[cold]
fn out_of_range(time: i64) -> Error {
    Error::invalid(format!("time {time} is beyond the time column's type"))
}
