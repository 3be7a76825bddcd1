//! Tables whose rows are structs.

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use atsdb_core::{BatchId, CommitOutcome};
use atsdb_core::{
    Column, ColumnType, Error, Result, Retention, SliceWidth, Table, TableDefinition, TimeRange, TimeUnit,
};
use atsdb_engine::{Appender, Engine, Record, RowReader, Scan, ScanRequest};
use std::marker::PhantomData;

/// The options of a typed table besides the record's columns.
#[derive(Debug, Clone)]
pub struct TableOptions {
    /// The name of the time column. `None` makes a plain table.
    pub time: Option<String>,
    /// The unit of the time column.
    pub unit: TimeUnit,
    /// The width of slices.
    pub slice: SliceWidth,
    /// The columns of the series key. If empty, sealing chooses the key that makes the data smallest.
    pub key: Vec<String>,
    /// The period for which rows are kept. `None` keeps them for ever.
    pub retention: Option<Retention>,
    /// The period, back from now, whose rows each process that has the store open keeps decoded in memory. `None` keeps
    /// none.
    pub preload: Option<Retention>,
}

impl Default for TableOptions {
    /// A series table: column `time` in microseconds, sliced by day, kept for ever.
    fn default() -> Self {
        Self {
            time: Some("time".into()),
            unit: TimeUnit::Microsecond,
            slice: SliceWidth::Day,
            key: Vec::new(),
            retention: None,
            preload: None,
        }
    }
}

impl TableOptions {
    /// The table definition for a record: the time column, then the record's columns.
    pub fn definition<R: Record>(&self, name: &str) -> Result<TableDefinition> {
        let mut definition = TableDefinition::new(name);
        if let Some(time) = &self.time {
            definition = definition.with_column(time, ColumnType::Timestamp(self.unit), None);
            definition = definition.with_time(time, self.unit)?;
        }
        for spec in R::columns() {
            definition = definition.with_column(spec.name, spec.column_type, spec.map);
            if let Some(column) = definition.columns.last_mut() {
                column.nullable = spec.nullable;
            }
        }
        definition.slice = self.slice;
        (definition.retention, definition.preload) = (self.retention, self.preload);
        definition.key =
            self.key.iter().map(|name| definition.column(name).map(|column| column.id)).collect::<Result<_>>()?;
        definition.check()?;
        Ok(definition)
    }
}

/// A table whose rows are values of a struct.
pub struct TypedTable<R> {
    engine: Engine,
    table: Table,
    record: PhantomData<fn() -> R>,
}

impl<R: Record> TypedTable<R> {
    pub(crate) fn new(engine: Engine, table: Table, wanted: &TableDefinition) -> Result<Self> {
        if let Some(rollup) = &table.definition.rollup {
            let message = format!("{} is a rollup of {}", table.definition.name, rollup.table);
            return Err(
                Error::usage(message).with_hint("query it with SQL: some of its rows may be computed only then")
            );
        }
        check_same_columns(&table.definition, wanted)?;
        Ok(Self { engine, table, record: PhantomData })
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Creates an appender. It buffers rows until `flush` makes them durable.
    pub fn appender(&self) -> Result<TypedAppender<R>> {
        Ok(TypedAppender { inner: self.engine.appender(&self.table), record: PhantomData })
    }

    /// Streams the rows of a time range with their times, slice by slice, with one chunk in memory at a time. The range
    /// is in the time column's unit. The times of a plain table are 0.
    ///
    /// Errors: [`NotFound`](crate::ErrorKind::NotFound) if the table was dropped, [`Usage`](crate::ErrorKind::Usage) if
    /// a column of the record was dropped or has another type now.
    pub fn stream<T: Into<TimeRange>>(&self, range: T) -> Result<impl Iterator<Item = Result<(i64, R)>> + use<R, T>> {
        let time = self.table.definition.time.map(|_| 0);
        let read = move |batch: Result<RecordBatch>| match batch.and_then(|batch| BatchRows::new(batch, time)) {
            Ok(rows) => (Some(rows), None),
            Err(error) => (None, Some(Err(error))),
        };
        let rows = |(rows, error): (Option<BatchRows<R>>, Option<_>)| rows.into_iter().flatten().chain(error);
        Ok(self.scan(range.into())?.batches().map(read).flat_map(rows))
    }

    /// Streams the rows of a time range as Arrow batches.
    pub fn batches<T: Into<TimeRange>>(
        &self,
        range: T,
    ) -> Result<impl Iterator<Item = Result<RecordBatch>> + use<R, T>> {
        Ok(self.scan(range.into())?.batches())
    }

    fn scan(&self, range: TimeRange) -> Result<Scan> {
        let snapshot = self.engine.snapshot()?;
        let gone = || Error::not_found(format!("table {} was dropped", self.table.definition.name));
        let now = snapshot.table_by_id(self.table.id).ok_or_else(gone)?;
        let request = ScanRequest { range, ..ScanRequest::all(now) };
        match now.version == self.table.version {
            true => snapshot.scan(now, &request),
            false => snapshot.scan(now, &ScanRequest { columns: self.columns_in(&now.definition)?, ..request }),
        }
    }

    /// The positions of the record's columns in a later definition. Columns may have been added, renamed or widened; a
    /// dropped column, or one with another type, is refused.
    fn columns_in(&self, now: &TableDefinition) -> Result<Vec<usize>> {
        let own = &self.table.definition;
        let position = |column: &Column| {
            let found = now.columns.iter().position(|other| other.id == column.id);
            let same = |at: &usize| {
                let other = &now.columns[*at];
                other.column_type == column.column_type && (column.nullable || !other.nullable)
            };
            found.filter(same).ok_or_else(|| {
                Error::usage(format!("column {} of table {} was dropped or changed its type", column.name, own.name))
                    .with_hint("declare the struct as the table is now, and open the table again")
            })
        };
        own.columns.iter().map(position).collect()
    }
}

/// Appends records to one table. Rows that are not flushed are lost when the appender is dropped.
pub struct TypedAppender<R> {
    inner: Appender,
    record: PhantomData<fn(R)>,
}

impl<R: Record> TypedAppender<R> {
    /// Adds a row to a series table. `time` is in the time column's unit. The row is only buffered: it is on disk after
    /// the next `flush`.
    #[inline]
    pub fn push(&mut self, time: i64, record: &R) -> Result<()> {
        self.inner.push(time, record)
    }

    /// Adds a row to a plain table.
    pub fn push_plain(&mut self, record: &R) -> Result<()> {
        self.inner.push_plain(record)
    }

    /// Makes the rows added since the last flush visible and durable, all or none. After an error the appender has
    /// dropped these rows: add them again.
    pub fn flush(&mut self) -> Result<()> {
        self.inner.flush()
    }

    /// Flushes as a batch with an id. If a batch with the same id is sent again, it is stored only once.
    pub fn flush_as(&mut self, id: BatchId) -> Result<CommitOutcome> {
        self.inner.flush_as(id)
    }
}

/// The rows of one batch, read one at a time.
struct BatchRows<R> {
    times: Int64Array,
    columns: Vec<ArrayRef>,
    next: usize,
    record: PhantomData<fn() -> R>,
}

impl<R: Record> BatchRows<R> {
    fn new(batch: RecordBatch, time: Option<usize>) -> Result<Self> {
        let times = times_of(&batch, time)?;
        let columns = batch.columns()[usize::from(time.is_some())..].to_vec();
        Ok(Self { times, columns, next: 0, record: PhantomData })
    }
}

impl<R: Record> Iterator for BatchRows<R> {
    type Item = Result<(i64, R)>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = self.next;
        if row == self.times.len() {
            return None;
        }
        self.next += 1;
        let record = R::read(&RowReader::new(&self.columns, row));
        Some(record.map(|record| (self.times.value(row), record)))
    }
}

fn times_of(batch: &RecordBatch, time: Option<usize>) -> Result<Int64Array> {
    match time {
        None => Ok(Int64Array::from(vec![0; batch.num_rows()])),
        Some(position) => {
            let times: ArrayRef = cast(batch.column(position), &DataType::Int64)
                .map_err(|error| Error::internal(format!("times are not integers: {error}")))?;
            Ok(times.as_primitive::<Int64Type>().clone())
        }
    }
}

/// Checks that a table has the columns of a record's definition: names, types and order, and the same time column.
pub fn check_same_columns(found: &TableDefinition, wanted: &TableDefinition) -> Result<()> {
    let refuse = |why: String| {
        Err(Error::usage(format!("table {} does not have the record's columns: {why}", found.name))
            .with_hint("name another table, or declare the struct as the table is"))
    };
    let column_count = (found.columns.len(), wanted.columns.len());
    if column_count.0 != column_count.1 {
        return refuse(format!("it has {}, the record {}", column_count.0, column_count.1));
    }
    for (found, wanted) in found.columns.iter().zip(&wanted.columns) {
        let same_name = atsdb_core::name::same_name(&found.name, &wanted.name);
        let same_type = found.column_type == wanted.column_type && (wanted.nullable || !found.nullable);
        if !same_name || !same_type {
            let nullable = |column: &atsdb_core::Column| if column.nullable { ", nullable" } else { "" };
            return refuse(format!(
                "the table has {} {}{} where the record has {} {}{}",
                found.name,
                found.column_type,
                nullable(found),
                wanted.name,
                wanted.column_type,
                nullable(wanted)
            ));
        }
    }
    match found.time.map(|time| time.column) == wanted.time.map(|time| time.column) {
        true => Ok(()),
        false => refuse("its time column is another".into()),
    }
}
