//! The appender. A program that measures keeps one for a table, adds rows to it and flushes from time to time.
//!
//! The rows added since the last flush become visible together or are dropped together. Owned here: a failure is kept
//! until a flush has reported it. Not owned: adding a single row to all columns or to none (`RowBuffer`).

use crate::batch::Batch;
use crate::batch::record::Record;
use crate::batch::row_buffer::RowBuffer;
use crate::batch::table_writer::MappedColumn;
use crate::read::row_checks::require_lengths;
use crate::read::snapshot::ReadSnapshot;
use crate::shared::Shared;
use crate::shared::definitions::carry;
use crate::shared::handle::Handle;
use crate::shared::interner::Interner;
use arrow::array::RecordBatch;
use arrow::buffer::NullBuffer;
use atsdb_core::{BatchId, Column, CommitOutcome, Error, Result, Table};
use std::sync::Arc;

/// Appends rows to one table. Rows are buffered, and [`flush`](Self::flush) makes all rows since the last flush
/// durable, or none. Rows that are not flushed are lost when the appender is dropped.
///
/// A row that does not fit the table is refused, and the others stay. If accepted rows cannot be kept (one of them
/// violates a CHECK constraint, the store is busy, the disk is full, a dictionary is full), all rows since the last
/// flush are dropped. Further rows are then refused until a flush has reported the failure. After every flush,
/// successful or not, the appender is empty and can be used further; dropped rows must be added again. But once a copy
/// has replaced the table, all single rows are refused: look the table up again, and create another appender.
pub struct Appender {
    handle: Handle,
    /// The table under the definition that the buffered rows have.
    shape: Table,
    /// The table under the newest definition that this process knows.
    table: Table,
    batch: Batch,
    rows: RowBuffer,
    /// The reason why rows since the last flush were dropped.
    failure: Option<Error>,
}

impl Appender {
    pub(crate) fn new(handle: &Handle, table: &Table) -> Self {
        let rows = RowBuffer::new(&table.definition);
        let (shape, table) = (table.clone(), table.clone());
        let (handle, batch) = (handle.clone(), Batch::new(handle.clone(), None));
        Self { handle, shape, table, batch, rows, failure: None }
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Adds rows of an Arrow batch, as [`Batch::append`] does. If a row does not fit the table, all of them are
    /// refused.
    pub fn append(&mut self, rows: &RecordBatch) -> Result<()> {
        self.check_whole()?;
        self.cut()?;
        match self.batch.append(&self.table, rows) {
            Err(error) if self.batch.is_half_done => self.drop_all_if_failed(Err(error)),
            done => done,
        }
    }

    /// Adds a row to a series table. `time` counts the unit of the time column since 1970 (days, for a date).
    #[inline]
    pub fn push<R: Record>(&mut self, time: i64, record: &R) -> Result<()> {
        if !self.rows.has_time() {
            return Err(self.refuse("is a plain table; push_plain adds to it"));
        }
        self.push_row(Some(time), record)
    }

    /// Adds a row to a plain table.
    pub fn push_plain<R: Record>(&mut self, record: &R) -> Result<()> {
        if self.rows.has_time() {
            return Err(self.refuse("is a series table; push adds to it, with a time"));
        }
        self.push_row(None, record)
    }

    #[inline]
    fn push_row<R: Record>(&mut self, time: Option<i64>, record: &R) -> Result<()> {
        self.check_whole()?;
        self.rows.push(time, record).map_err(|error| self.in_table(error))?;
        if self.rows.is_full() { self.cut() } else { Ok(()) }
    }

    /// Makes the rows added since the last flush visible and durable, all or none. After an error none of them is
    /// stored, and the appender is empty.
    pub fn flush(&mut self) -> Result<()> {
        self.flush_batch(None).map(|_| ())
    }

    /// Flushes as a batch with an id: if it is sent again, it counts once.
    pub fn flush_as(&mut self, id: BatchId) -> Result<CommitOutcome> {
        self.flush_batch(Some(id))
    }

    fn flush_batch(&mut self, id: Option<BatchId>) -> Result<CommitOutcome> {
        let cut = self.check_whole().and_then(|()| self.cut());
        self.failure = None;
        let mut batch = std::mem::replace(&mut self.batch, Batch::new(self.handle.clone(), None));
        cut?;
        batch.name(id);
        batch.commit()
    }

    /// Hands the buffered rows to the batch.
    fn cut(&mut self) -> Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let Self { handle, shape, table, batch, rows, .. } = self;
        if let Some(newer) = handle.shared.definitions.newer_than(table) {
            *table = Table::clone(&newer);
        }
        let map = |column: &Column, interner: &mut Interner, numbers: &[u32], nulls: Option<NullBuffer>| {
            let Some(width) = column.map else { return Err(Error::internal("numbers of a column without a map")) };
            let mut attempt = |table: &Table, nulls| {
                let width = table.definition.column_by_id(column.id).and_then(|now| now.map).unwrap_or(width);
                let mapped = MappedColumn { table: table.id, definition: &shape.definition, column, width };
                mapped.indices(&handle.shared, interner, numbers, nulls)
            };
            match attempt(table, nulls.clone()) {
                // The newest definition may have a wider map.
                Err(error) => match newer_table(&handle.shared, table)? {
                    Some(newer) => {
                        *table = newer;
                        attempt(table, nulls)
                    }
                    None => Err(error),
                },
                mapped => mapped,
            }
        };
        let taken = rows.take(&shape.definition, map);
        let done = taken.and_then(|(columns, row_count)| {
            let columns = carry(&shape.definition, table, columns, row_count)?;
            require_lengths(&handle.shared, table, &shape.definition, &columns)?;
            batch.push_appended(table, columns, row_count)
        });
        self.drop_all_if_failed(done)
    }

    /// After a failure, drops all rows since the last flush, so that no part of them is ever stored.
    fn drop_all_if_failed(&mut self, done: Result<()>) -> Result<()> {
        if let Err(error) = &done {
            self.rows = RowBuffer::new(&self.shape.definition);
            self.batch = Batch::new(self.handle.clone(), None);
            self.failure = Some(error.duplicate());
        }
        done
    }

    /// Fails if rows since the last flush were dropped.
    #[inline]
    fn check_whole(&self) -> Result<()> {
        match &self.failure {
            None => Ok(()),
            Some(failure) => Err(failure.duplicate()),
        }
    }

    #[cold]
    fn in_table(&self, error: Error) -> Error {
        error.context(format_args!("table {}", self.table.definition.name))
    }

    #[cold]
    fn refuse(&self, why: &str) -> Error {
        Error::usage(format!("table {} {why}", self.table.definition.name))
    }
}

/// The table under its present definition, if that has changed.
fn newer_table(shared: &Arc<Shared>, table: &Table) -> Result<Option<Table>> {
    let now = ReadSnapshot::take(shared)?.table_by_id(table.id).cloned();
    Ok(now.filter(|now| now.version > table.version))
}
