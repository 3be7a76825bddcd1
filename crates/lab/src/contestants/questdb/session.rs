//! A session: the work of a workload on one connection.

use super::connection::{NO_PARAMETERS, QuestdbConnection};
use super::failure::questdb_failure;
use super::loader::{ParquetLoader, series_table};
use super::program::QuestdbProgram;
use crate::contestant::{Dialect, Loader, Session};
use crate::contestants::postgres::value::Raw;
use crate::contestants::series::{PointLoader, PointServer};
use crate::contestants::time_unit::units_per_second;
use crate::data::answer::Answer;
use crate::data::digest::{RowDigest, fold, integer_cell, null_cell};
use crate::failure::Failure;
use crate::measure::Tier;
use atsdb::time::DAY_SECONDS;
use atsdb::{Column, ColumnType, Durability, TableDefinition, TimeUnit};
use postgres::fallible_iterator::FallibleIterator;
use std::path::Path;

pub(super) struct QuestdbSession {
    connection: QuestdbConnection,
    durability: Durability,
    settings: Vec<String>,
}

impl QuestdbSession {
    pub(super) fn open(program: QuestdbProgram) -> Result<Self, Failure> {
        let connection = QuestdbConnection::open(&program)?;
        let mut settings = program.shown();
        settings.push("tables = PARTITION BY DAY WAL, without DEDUP; symbols for mapped texts".to_owned());
        let lines = QuestdbConnection::LINES;
        settings.push(format!("load = line protocol over HTTP, {lines} rows a request; Parquet without a time"));
        Ok(Self { connection, durability: program.durability, settings })
    }
}

/// A column's type. Integers of one and two bytes have no NULL.
fn column_type(column: &Column) -> Result<&'static str, Failure> {
    Ok(match column.column_type {
        ColumnType::Text if column.map.is_some() => "SYMBOL",
        ColumnType::Text => "VARCHAR",
        ColumnType::Timestamp(TimeUnit::Second | TimeUnit::Millisecond | TimeUnit::Microsecond) => "TIMESTAMP",
        ColumnType::Timestamp(_) => return Err(Failure::cannot("keeps times of a microsecond")),
        ColumnType::Binary => return Err(Failure::cannot("has no bytes in the line protocol")),
        ColumnType::Date => "DATE",
        ColumnType::Float32 => "FLOAT",
        ColumnType::Float64 => "DOUBLE",
        ColumnType::Bool | ColumnType::Int8 | ColumnType::Int16 if !column.nullable => "SHORT",
        ColumnType::Bool | ColumnType::Int8 | ColumnType::Int16 | ColumnType::Int32 => "INT",
        _ => "LONG",
    })
}

/// The number of a value for a digest. A date arrives as a time.
fn digest_cell(value: &Raw<'_>, column: &Column, per_second: i64) -> Result<u64, Failure> {
    match column.column_type {
        ColumnType::Date => Ok(integer_cell(value.digest_cell(1)?.cast_signed() / DAY_SECONDS)),
        _ => value.digest_cell(per_second),
    }
}

impl Session for QuestdbSession {
    fn dialect(&self) -> Dialect {
        Dialect::Questdb
    }

    /// Without `sync` it is unknown when the operating system writes the data.
    fn tier(&self) -> Tier {
        if self.durability == Durability::Full { Tier::Full } else { Tier::Off }
    }

    fn settings(&self) -> Vec<String> {
        self.settings.clone()
    }

    fn create_table(&mut self, table: &TableDefinition) -> Result<(), Failure> {
        let quote = |name: &str| Dialect::Questdb.quote(name);
        let column = |column: &Column| Ok(format!("{} {}", quote(&column.name), column_type(column)?));
        let columns = table.columns.iter().map(column).collect::<Result<Vec<String>, Failure>>()?;
        let time = table.time_column().filter(|time| matches!(time.column_type, ColumnType::Timestamp(_)));
        let partitions = match (time, table.time) {
            (Some(time), _) => format!(" TIMESTAMP({}) PARTITION BY DAY WAL", quote(&time.name)),
            (None, None) => String::new(),
            (None, Some(_)) => return Err(Failure::cannot("has designated timestamps, which are no dates")),
        };
        let create = format!("CREATE TABLE {} ({}){partitions}", quote(&table.name), columns.join(", "));
        self.connection.client.batch_execute(&create).map_err(questdb_failure)
    }

    fn loader<'a>(&'a mut self, table: &TableDefinition) -> Result<Box<dyn Loader + 'a>, Failure> {
        Ok(match table.time {
            Some(_) => Box::new(PointLoader::new(&mut self.connection, series_table(table)?)),
            None => Box::new(ParquetLoader::new(&mut self.connection, table)),
        })
    }

    fn seal(&mut self) -> Result<(), Failure> {
        Err(Failure::cannot("rows stay as they were inserted"))
    }

    fn prepare_lookups(&mut self, table: &TableDefinition) -> Result<(), Failure> {
        let Some(series) = table.columns.iter().find(|column| column.map.is_some()) else {
            return Err(Failure::cannot("has indexes of symbols alone"));
        };
        let quote = |name: &str| Dialect::Questdb.quote(name);
        // Here a name in quotes would be a name with quotes.
        let index = format!("ALTER TABLE {} ALTER COLUMN {} ADD INDEX", quote(&table.name), series.name);
        self.execute(&[index])
    }

    fn read_all(&mut self, table: &TableDefinition) -> Result<RowDigest, Failure> {
        let names: Vec<String> = table.columns.iter().map(|column| Dialect::Questdb.quote(&column.name)).collect();
        let select = format!("SELECT {} FROM {}", names.join(", "), Dialect::Questdb.quote(&table.name));
        let mut rows = self.connection.client.query_typed_raw(&select, NO_PARAMETERS).map_err(questdb_failure)?;
        let (mut digest, per_second) = (RowDigest::default(), units_per_second(table));
        while let Some(row) = rows.next().map_err(questdb_failure)? {
            let mut number = 0;
            for (position, column) in table.columns.iter().enumerate() {
                let value: Option<Raw<'_>> = row.try_get(position).map_err(questdb_failure)?;
                let cell = value.map_or(Ok(null_cell()), |value| digest_cell(&value, column, per_second))?;
                number = fold(number, cell);
            }
            digest.add_row(number);
        }
        Ok(digest)
    }

    fn query(&mut self, sql: &str) -> Result<Answer, Failure> {
        self.connection.query(sql)
    }

    /// They are done when the write-ahead log has been applied.
    fn execute(&mut self, statements: &[String]) -> Result<(), Failure> {
        let done = statements.iter().try_for_each(|statement| self.connection.client.batch_execute(statement));
        done.map_err(|error| self.connection.explained(error))?;
        self.connection.wait_until_applied()
    }

    /// Inserts alone are part of a transaction.
    fn transaction(&mut self, statements: &[String]) -> Result<(), Failure> {
        if !statements.iter().all(|statement| statement.starts_with("INSERT")) {
            return Err(Failure::cannot("has transactions of INSERT statements alone"));
        }
        self.connection.client.batch_execute("BEGIN").map_err(questdb_failure)?;
        let done = statements.iter().try_for_each(|statement| self.connection.client.batch_execute(statement));
        let end = self.connection.client.batch_execute(if done.is_ok() { "COMMIT" } else { "ROLLBACK" });
        done.and(end).map_err(|error| self.connection.explained(error))?;
        self.connection.wait_until_applied()
    }

    fn load_lines(&mut self, _table: &str, _file: &Path) -> Result<(), Failure> {
        Err(Failure::cannot("has indexes of symbols alone, which are for texts that come again and again"))
    }
}
