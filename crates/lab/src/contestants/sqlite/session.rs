//! A connection to a database.

use super::file::database_file;
use super::loader::SqliteLoader;
use super::memory;
use crate::contestant::{Dialect, Loader, Session, Workspace};
use crate::data::answer::{Answer, Cell};
use crate::data::digest::{RowDigest, fold, integer_cell, null_cell, text_cell};
use crate::failure::Failure;
use crate::measure::Tier;
use atsdb::{ColumnType, TableDefinition};
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

pub(super) struct SqliteSession {
    /// The connection; `None` only once the session is dropped.
    pub(super) connection: Option<Connection>,
    pub(super) tier: Tier,
    pub(super) settings: Vec<String>,
    /// The workspace of a database in memory, which outlives the session.
    pub(super) keep: Option<PathBuf>,
}

impl SqliteSession {
    fn connection(&self) -> Result<&Connection, Failure> {
        self.connection.as_ref().ok_or_else(|| Failure::wrong("the session is closed"))
    }
}

impl Drop for SqliteSession {
    fn drop(&mut self) {
        if let (Some(workspace), Some(connection)) = (self.keep.take(), self.connection.take()) {
            memory::give_back(workspace, connection);
        }
    }
}

impl Session for SqliteSession {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn tier(&self) -> Tier {
        self.tier
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
                format!("{} {}{null}", Dialect::Sqlite.quote(&column.name), storage_class(column.column_type))
            })
            .collect();
        let create = format!("CREATE TABLE {} ({})", Dialect::Sqlite.quote(&table.name), columns.join(", "));
        self.connection()?.execute_batch(&create).map_err(Failure::broken)
    }

    fn loader<'a>(&'a mut self, table: &TableDefinition) -> Result<Box<dyn Loader + 'a>, Failure> {
        Ok(Box::new(SqliteLoader::new(self.connection()?, table)?))
    }

    fn seal(&mut self) -> Result<(), Failure> {
        Err(Failure::cannot("rows stay as they were inserted"))
    }

    fn prepare_lookups(&mut self, table: &TableDefinition) -> Result<(), Failure> {
        let time = table.time_column().map(|column| Dialect::Sqlite.quote(&column.name));
        let series =
            table.columns.iter().find(|column| column.map.is_some()).map(|column| Dialect::Sqlite.quote(&column.name));
        let table = Dialect::Sqlite.quote(&table.name);
        if let (Some(series), Some(time)) = (&series, &time) {
            let create = format!("CREATE INDEX by_series ON {table} ({series}, {time})");
            self.connection()?.execute_batch(&create).map_err(Failure::broken)?;
        }
        if let Some(time) = &time {
            let create = format!("CREATE INDEX by_time ON {table} ({time})");
            self.connection()?.execute_batch(&create).map_err(Failure::broken)?;
        }
        Ok(())
    }

    fn read_all(&mut self, table: &TableDefinition) -> Result<RowDigest, Failure> {
        let names: Vec<String> = table.columns.iter().map(|column| Dialect::Sqlite.quote(&column.name)).collect();
        let select = format!("SELECT {} FROM {}", names.join(", "), Dialect::Sqlite.quote(&table.name));
        let mut statement = self.connection()?.prepare(&select).map_err(Failure::broken)?;
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
        let mut statement = self.connection()?.prepare(sql).map_err(Failure::broken)?;
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
        let connection = self.connection()?;
        statements.iter().try_for_each(|statement| connection.execute_batch(statement)).map_err(Failure::broken)
    }

    fn transaction(&mut self, statements: &[String]) -> Result<(), Failure> {
        let connection = self.connection()?;
        connection.execute_batch("BEGIN IMMEDIATE").map_err(Failure::broken)?;
        let done = statements.iter().try_for_each(|statement| connection.execute_batch(statement));
        let end = if done.is_ok() { "COMMIT" } else { "ROLLBACK" };
        done.and(connection.execute_batch(end)).map_err(Failure::broken)
    }

    /// Like `.import` of SQLite's shell: a prepared statement for each line, in one transaction.
    fn load_lines(&mut self, table: &str, file: &Path) -> Result<(), Failure> {
        let lines = BufReader::new(File::open(file).map_err(Failure::broken)?).lines();
        let transaction = self.connection()?.unchecked_transaction().map_err(Failure::broken)?;
        let mut insert = transaction.prepare(&format!("INSERT INTO {table} VALUES (?)")).map_err(Failure::broken)?;
        for line in lines {
            insert.execute([line.map_err(Failure::broken)?]).map_err(Failure::broken)?;
        }
        drop(insert);
        transaction.commit().map_err(Failure::broken)
    }

    fn lookups(&mut self, table: &str, column: &str, values: &[String]) -> Result<u64, Failure> {
        let select = format!("SELECT {column} FROM {table} WHERE {column} = ?");
        let mut select = self.connection()?.prepare(&select).map_err(Failure::broken)?;
        let mut found = 0;
        for value in values {
            // Quotes are SQL's; an integer column converts digits to integers.
            let mut rows = select.query([value.trim_matches('\'')]).map_err(Failure::broken)?;
            while rows.next().map_err(Failure::broken)?.is_some() {
                found += 1;
            }
        }
        Ok(found)
    }

    fn attach(&mut self, workspace: &Workspace, name: &str) -> Result<String, Failure> {
        if self.keep.is_some() {
            return Err(Failure::cannot("a database in memory belongs to its connection"));
        }
        let path = database_file(&workspace.directory).display().to_string();
        self.connection()?.execute(&format!("ATTACH ? AS {name}"), [path]).map_err(Failure::broken)?;
        Ok(name.to_owned())
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

fn storage_class(column_type: ColumnType) -> &'static str {
    match column_type {
        ColumnType::Text => "TEXT",
        ColumnType::Binary => "BLOB",
        ColumnType::Float32 | ColumnType::Float64 => "REAL",
        _ => "INTEGER",
    }
}
