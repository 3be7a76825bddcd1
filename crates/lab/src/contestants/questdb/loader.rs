//! Loading: lines over HTTP for a table with a time, and Parquet files for one without, which the line protocol does
//! not load.

use super::connection::QuestdbConnection;
use super::failure::questdb_failure;
use crate::contestant::{Dialect, Loader};
use crate::contestants::line_protocol::{LineDialect, Lines, Role, precision};
use crate::contestants::parquet_files;
use crate::contestants::time_unit::units_per_second;
use crate::data::columns::{BatchRows, RowSink, insert_rows};
use crate::data::rows::{Binder, RowSet};
use crate::failure::Failure;
use arrow::array::RecordBatch;
use atsdb::{Column, ColumnType, TableDefinition};

/// Rows of a request, as its own clients send them.
pub(super) const REQUEST_ROWS: u64 = 75_000;

/// A load by the line protocol: each request is acknowledged once its rows are in the write-ahead log.
pub(super) struct LineLoader<'a> {
    connection: &'a mut QuestdbConnection,
    lines: Lines,
    path: String,
}

impl<'a> LineLoader<'a> {
    pub(super) fn new(connection: &'a mut QuestdbConnection, table: &TableDefinition) -> Self {
        let columns = table.columns.iter().map(|column| (column.name.as_str(), role(table, column)));
        let per_second = units_per_second(table);
        let lines = Lines::new(LineDialect::Questdb, &table.name, columns, per_second);
        Self { connection, lines, path: format!("/write?precision={}", precision(per_second)) }
    }

    fn send(&mut self) -> Result<(), Failure> {
        if self.lines.rows() > 0 {
            self.connection.write(&self.path, self.lines.bytes())?;
            self.lines.clear();
        }
        Ok(())
    }
}

fn role(table: &TableDefinition, column: &Column) -> Role {
    match column.column_type {
        ColumnType::Timestamp(_) if table.time_column().is_some_and(|time| time.id == column.id) => Role::Time,
        ColumnType::Timestamp(_) => Role::Moment,
        ColumnType::Text if column.map.is_some() => Role::Tag,
        ColumnType::Text => Role::Text,
        ColumnType::Date => Role::Date,
        ColumnType::Float32 | ColumnType::Float64 => Role::Float,
        _ => Role::Integer,
    }
}

impl Loader for LineLoader<'_> {
    fn rows(&mut self, rows: &RowSet) -> Result<(), Failure> {
        insert_rows(rows, self)
    }

    fn batch(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        BatchRows::of(batch)?.insert(self)
    }

    fn finish(mut self: Box<Self>) -> Result<(), Failure> {
        self.send()?;
        self.connection.wait_until_applied()
    }
}

impl RowSink for LineLoader<'_> {
    fn begin(&mut self) -> Result<(), Failure> {
        self.lines.begin()
    }

    fn time(&mut self, value: i64) -> Result<(), Failure> {
        self.lines.time(value)
    }

    fn end(&mut self) -> Result<(), Failure> {
        self.lines.end()?;
        if self.lines.rows() >= REQUEST_ROWS { self.send() } else { Ok(()) }
    }
}

impl Binder for LineLoader<'_> {
    type Error = Failure;

    fn integer(&mut self, value: i64) -> Result<(), Failure> {
        self.lines.integer(value)
    }

    fn text(&mut self, value: &str) -> Result<(), Failure> {
        self.lines.text(value)
    }

    fn float(&mut self, value: f64) -> Result<(), Failure> {
        self.lines.float(value)
    }

    fn null(&mut self) -> Result<(), Failure> {
        self.lines.null()
    }
}

/// A load from Parquet files: each is inserted by a statement.
pub(super) struct ParquetLoader<'a> {
    connection: &'a mut QuestdbConnection,
    table: TableDefinition,
    files: u64,
}

impl<'a> ParquetLoader<'a> {
    pub(super) fn new(connection: &'a mut QuestdbConnection, table: &TableDefinition) -> Self {
        Self { connection, table: table.clone(), files: 0 }
    }
}

impl Loader for ParquetLoader<'_> {
    fn rows(&mut self, rows: &RowSet) -> Result<(), Failure> {
        self.batch(&parquet_files::batch_of(rows, &self.table)?)
    }

    fn batch(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        self.files += 1;
        parquet_files::write(&self.connection.import().join(format!("{}.parquet", self.files)), &self.table, batch)
    }

    fn finish(self: Box<Self>) -> Result<(), Failure> {
        let table = Dialect::Questdb.quote(&self.table.name);
        for file in 1..=self.files {
            let insert = format!("INSERT INTO {table} SELECT * FROM read_parquet('{file}.parquet')");
            self.connection.client.batch_execute(&insert).map_err(questdb_failure)?;
        }
        Ok(())
    }
}

impl Drop for ParquetLoader<'_> {
    fn drop(&mut self) {
        for file in 1..=self.files {
            // The run's folder is removed anyway.
            let _ = std::fs::remove_file(self.connection.import().join(format!("{file}.parquet")));
        }
    }
}
