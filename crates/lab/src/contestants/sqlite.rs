//! Plain SQLite, as a careful user runs it: one table with the rows as they are, strings as TEXT, times as
//! INTEGER, prepared statements, one transaction for a load. Strings that a user replaces by integers by hand, in
//! tables of their own, would make it smaller and faster; that is another contestant than the plain one.

use crate::answer::{Answer, Cell};
use crate::contestant::{Contestant, Dialect, Loader, Place, Session};
use crate::digest::{RowDigest, fold, integer_cell, null_cell, text_cell};
use crate::failure::Failure;
use crate::rows::{Binder, LabRow, RowSet, RowVisitor, Timed};
use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type, UInt32Type};
use atsdb::{ColumnType, Durability, TableDefinition};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Statement};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

const FILE: &str = "plain.db";

/// Plain SQLite.
pub(crate) struct Sqlite;

struct SqliteSession {
    connection: Connection,
    settings: Vec<String>,
}

struct SqliteLoader<'a> {
    connection: &'a Connection,
    insert: Statement<'a>,
    finished: bool,
}

impl Contestant for Sqlite {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn summary(&self) -> &'static str {
        "plain SQLite: one table, prepared statements, one transaction"
    }

    fn version(&self) -> Result<String, Failure> {
        Ok(format!("SQLite {}", rusqlite::version()))
    }

    fn open(&self, place: &Place) -> Result<Box<dyn Session>, Failure> {
        let connection = Connection::open(place.directory.join(FILE)).map_err(Failure::broken)?;
        let synchronous = match place.durability {
            Durability::Full => "FULL",
            Durability::Normal => "NORMAL",
            Durability::Off => "OFF",
        };
        let pragmas = [("journal_mode", "WAL"), ("synchronous", synchronous), ("cache_size", "-65536")];
        for (name, value) in pragmas {
            connection.pragma_update(None, name, value).map_err(Failure::broken)?;
        }
        let settings = pragmas.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        Ok(Box::new(SqliteSession { connection, settings }))
    }

    fn has_program(&self) -> Result<(), Failure> {
        Err(Failure::cannot("a library; starting is its program's"))
    }
}

impl Session for SqliteSession {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn settings(&self) -> Vec<String> {
        self.settings.clone()
    }

    fn create_table(&mut self, table: &TableDefinition) -> Result<(), Failure> {
        let columns: Vec<String> = table
            .columns
            .iter()
            .map(|column| {
                let null = if column.nullable { "" } else { " NOT NULL" };
                format!("{} {}{null}", quote(&column.name), storage_class(column.column_type))
            })
            .collect();
        let create = format!("CREATE TABLE {} ({})", quote(&table.name), columns.join(", "));
        self.connection.execute_batch(&create).map_err(Failure::broken)
    }

    fn loader<'a>(&'a mut self, table: &TableDefinition) -> Result<Box<dyn Loader + 'a>, Failure> {
        let marks = vec!["?"; table.columns.len()].join(", ");
        let insert = format!("INSERT INTO {} VALUES ({marks})", quote(&table.name));
        self.connection.execute_batch("BEGIN IMMEDIATE").map_err(Failure::broken)?;
        let insert = self.connection.prepare(&insert).map_err(Failure::broken)?;
        Ok(Box::new(SqliteLoader { connection: &self.connection, insert, finished: false }))
    }

    fn seal(&mut self) -> Result<(), Failure> {
        Err(Failure::cannot("rows stay as they were inserted"))
    }

    fn prepare_lookups(&mut self, table: &TableDefinition) -> Result<(), Failure> {
        let time = table.time_column().map(|column| quote(&column.name));
        let series = table.columns.iter().find(|column| column.map.is_some()).map(|column| quote(&column.name));
        let table = quote(&table.name);
        if let (Some(series), Some(time)) = (&series, &time) {
            let create = format!("CREATE INDEX by_series ON {table} ({series}, {time})");
            self.connection.execute_batch(&create).map_err(Failure::broken)?;
        }
        if let Some(time) = &time {
            let create = format!("CREATE INDEX by_time ON {table} ({time})");
            self.connection.execute_batch(&create).map_err(Failure::broken)?;
        }
        Ok(())
    }

    fn read_all(&mut self, table: &TableDefinition) -> Result<RowDigest, Failure> {
        let names: Vec<String> = table.columns.iter().map(|column| quote(&column.name)).collect();
        let select = format!("SELECT {} FROM {}", names.join(", "), quote(&table.name));
        let mut statement = self.connection.prepare(&select).map_err(Failure::broken)?;
        let mut rows = statement.query(()).map_err(Failure::broken)?;
        let mut digest = RowDigest::default();
        while let Some(row) = rows.next().map_err(Failure::broken)? {
            let mut number = 0;
            for position in 0..names.len() {
                let cell = match row.get_ref(position).map_err(Failure::broken)? {
                    ValueRef::Integer(value) => integer_cell(value),
                    ValueRef::Text(text) => text_cell(text),
                    ValueRef::Blob(bytes) => text_cell(bytes),
                    ValueRef::Real(value) => value.to_bits(),
                    ValueRef::Null => null_cell(),
                };
                number = fold(number, cell);
            }
            digest.add_row(number);
        }
        Ok(digest)
    }

    fn query(&mut self, sql: &str) -> Result<Answer, Failure> {
        let mut statement = self.connection.prepare(sql).map_err(Failure::broken)?;
        let width = statement.column_count();
        let mut rows = statement.query(()).map_err(Failure::broken)?;
        let mut answer = Answer::default();
        while let Some(row) = rows.next().map_err(Failure::broken)? {
            let cells = (0..width).map(|position| row.get_ref(position).map(cell)).collect::<Result<_, _>>();
            answer.rows.push(cells.map_err(Failure::broken)?);
        }
        Ok(answer)
    }

    fn execute(&mut self, statements: &[String]) -> Result<(), Failure> {
        let done = statements.iter().try_for_each(|statement| self.connection.execute_batch(statement));
        done.map_err(Failure::broken)
    }

    fn transaction(&mut self, statements: &[String]) -> Result<(), Failure> {
        self.connection.execute_batch("BEGIN IMMEDIATE").map_err(Failure::broken)?;
        let done = statements.iter().try_for_each(|statement| self.connection.execute_batch(statement));
        let end = if done.is_ok() { "COMMIT" } else { "ROLLBACK" };
        done.and(self.connection.execute_batch(end)).map_err(Failure::broken)
    }

    /// As `.import` of SQLite's program: a prepared statement a line, one transaction.
    fn load_lines(&mut self, table: &str, file: &Path) -> Result<(), Failure> {
        let lines = BufReader::new(File::open(file).map_err(Failure::broken)?).lines();
        let transaction = self.connection.transaction().map_err(Failure::broken)?;
        let mut insert = transaction.prepare(&format!("INSERT INTO {table} VALUES (?)")).map_err(Failure::broken)?;
        for line in lines {
            insert.execute([line.map_err(Failure::broken)?]).map_err(Failure::broken)?;
        }
        drop(insert);
        transaction.commit().map_err(Failure::broken)
    }

    fn lookups(&mut self, table: &str, column: &str, values: &[String]) -> Result<u64, Failure> {
        let select = format!("SELECT {column} FROM {table} WHERE {column} = ?");
        let mut select = self.connection.prepare(&select).map_err(Failure::broken)?;
        let mut found = 0;
        for value in values {
            // Quotes are SQL's; an integer column turns digits into integers by itself.
            let mut rows = select.query([value.trim_matches('\'')]).map_err(Failure::broken)?;
            while rows.next().map_err(Failure::broken)?.is_some() {
                found += 1;
            }
        }
        Ok(found)
    }

    fn attach(&mut self, place: &Place, name: &str) -> Result<(), Failure> {
        let path = place.directory.join(FILE).display().to_string();
        self.connection.execute(&format!("ATTACH ? AS {name}"), [path]).map_err(Failure::broken)?;
        Ok(())
    }
}

impl Loader for SqliteLoader<'_> {
    fn rows(&mut self, rows: &RowSet) -> Result<(), Failure> {
        rows.visit(InsertRows(&mut self.insert)).map_err(Failure::broken)
    }

    fn batch(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        let columns = batch.columns().iter().map(BatchColumn::of).collect::<Result<Vec<_>, _>>()?;
        (0..batch.num_rows()).try_for_each(|row| self.insert_row(&columns, row)).map_err(Failure::broken)
    }

    fn finish(mut self: Box<Self>) -> Result<(), Failure> {
        self.connection.execute_batch("COMMIT").map_err(Failure::broken)?;
        self.finished = true;
        Ok(())
    }
}

impl SqliteLoader<'_> {
    fn insert_row(&mut self, columns: &[BatchColumn], row: usize) -> rusqlite::Result<()> {
        for (position, column) in columns.iter().enumerate() {
            let parameter = position + 1;
            match column {
                BatchColumn::Integers(values) if values.is_valid(row) => {
                    self.insert.raw_bind_parameter(parameter, values.value(row))?;
                }
                BatchColumn::Texts { keys, texts } if !keys.is_null(row) => {
                    self.insert.raw_bind_parameter(parameter, texts[keys.value(row) as usize].as_str())?;
                }
                _ => self.insert.raw_bind_parameter(parameter, rusqlite::types::Null)?,
            }
        }
        self.insert.raw_execute().map(drop)
    }
}

impl Drop for SqliteLoader<'_> {
    fn drop(&mut self) {
        if !self.finished {
            // The load is given up anyway; what cannot be rolled back goes when the connection closes.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }
}

struct InsertRows<'a, 'b>(&'a mut Statement<'b>);

impl RowVisitor for InsertRows<'_, '_> {
    type Output = rusqlite::Result<()>;

    fn visit<R: LabRow>(self, rows: &[Timed<R>]) -> Self::Output {
        for row in rows {
            self.0.raw_bind_parameter(1, row.time)?;
            row.record.bind(&mut StatementBinder { statement: &mut *self.0, parameter: 1 })?;
            self.0.raw_execute()?;
        }
        Ok(())
    }
}

struct StatementBinder<'a, 'b> {
    statement: &'a mut Statement<'b>,
    parameter: usize,
}

impl Binder for StatementBinder<'_, '_> {
    type Error = rusqlite::Error;

    #[inline]
    fn integer(&mut self, value: i64) -> rusqlite::Result<()> {
        self.parameter += 1;
        self.statement.raw_bind_parameter(self.parameter, value)
    }

    #[inline]
    fn text(&mut self, value: &str) -> rusqlite::Result<()> {
        self.parameter += 1;
        self.statement.raw_bind_parameter(self.parameter, value)
    }
}

/// A column of a batch, looked at once, so that the loop over rows does not ask for types.
enum BatchColumn {
    Integers(Int64Array),
    Texts { keys: arrow::array::UInt32Array, texts: Vec<String> },
}

impl BatchColumn {
    fn of(column: &ArrayRef) -> Result<Self, Failure> {
        if let DataType::Dictionary(_, _) | DataType::Utf8 = column.data_type() {
            let dictionary = DataType::Dictionary(Box::new(DataType::UInt32), Box::new(DataType::Utf8));
            let dictionary = cast(column, &dictionary).map_err(Failure::broken)?;
            let dictionary = dictionary.as_dictionary::<UInt32Type>();
            let texts = dictionary.values().as_string::<i32>();
            let texts = (0..texts.len()).map(|position| texts.value(position).to_owned()).collect();
            return Ok(Self::Texts { keys: dictionary.keys().clone(), texts });
        }
        let integers = cast(column, &DataType::Int64).map_err(Failure::broken)?;
        Ok(Self::Integers(integers.as_primitive::<Int64Type>().clone()))
    }
}

fn cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(value) => Cell::Integer(value),
        ValueRef::Real(value) => Cell::Float(value),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Cell::Text(String::from_utf8_lossy(bytes).into_owned()),
    }
}

fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn storage_class(column_type: ColumnType) -> &'static str {
    match column_type {
        ColumnType::Text => "TEXT",
        ColumnType::Binary => "BLOB",
        ColumnType::Float32 | ColumnType::Float64 => "REAL",
        _ => "INTEGER",
    }
}
