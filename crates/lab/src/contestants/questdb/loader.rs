//! Loading: lines over HTTP for a table with a time, and Parquet files for one without, which the line protocol does
//! not load.

use super::connection::QuestdbConnection;
use super::failure::questdb_failure;
use crate::contestant::{Dialect, Loader};
use crate::contestants::line_protocol::{LineDialect, Role, precision};
use crate::contestants::parquet_files;
use crate::contestants::series::{PointServer, SeriesTable};
use crate::data::rows::RowSet;
use crate::failure::Failure;
use arrow::array::RecordBatch;
use atsdb::{ColumnType, TableDefinition};

/// The columns of a table with a time, as they are in lines.
pub(super) fn series_table(table: &TableDefinition) -> Result<SeriesTable, Failure> {
    SeriesTable::of(table, |column| {
        Ok(match column.column_type {
            ColumnType::Timestamp(_) => Role::Moment,
            ColumnType::Text if column.map.is_some() => Role::Tag,
            ColumnType::Text => Role::Text,
            ColumnType::Date => Role::Date,
            ColumnType::Float32 | ColumnType::Float64 => Role::Float,
            _ => Role::Integer,
        })
    })
}

/// A request is acknowledged once its rows are in the write-ahead log.
impl PointServer for QuestdbConnection {
    const DIALECT: LineDialect = LineDialect::Questdb;
    /// The number of lines that its own clients send.
    const LINES: u64 = 75_000;

    fn write(&mut self, table: &SeriesTable, lines: &[u8]) -> Result<(), Failure> {
        self.post(&format!("/write?precision={}", precision(table.per_second)), lines)
    }

    fn finish(&mut self, _table: SeriesTable) -> Result<(), Failure> {
        self.wait_until_applied()
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
