//! Loading: one prepared INSERT, one transaction.

use crate::contestant::{Dialect, Loader};
use crate::data::columns::{BatchRows, RowSink, insert_rows};
use crate::data::rows::{Binder, RowSet};
use crate::failure::Failure;
use arrow::array::RecordBatch;
use atsdb::TableDefinition;
use rusqlite::types::{Null, ToSql};
use rusqlite::{Connection, Statement};

pub(super) struct SqliteLoader<'a> {
    connection: &'a Connection,
    insert: StatementSink<'a>,
    finished: bool,
}

struct StatementSink<'a> {
    statement: Statement<'a>,
    parameter: usize,
}

impl<'a> SqliteLoader<'a> {
    pub(super) fn new(connection: &'a Connection, table: &TableDefinition) -> Result<Self, Failure> {
        let marks = vec!["?"; table.columns.len()].join(", ");
        let insert = format!("INSERT INTO {} VALUES ({marks})", Dialect::Sqlite.quote(&table.name));
        connection.execute_batch("BEGIN IMMEDIATE").map_err(Failure::broken)?;
        let statement = connection.prepare(&insert).map_err(Failure::broken)?;
        Ok(Self { connection, insert: StatementSink { statement, parameter: 0 }, finished: false })
    }
}

impl Loader for SqliteLoader<'_> {
    fn rows(&mut self, rows: &RowSet) -> Result<(), Failure> {
        insert_rows(rows, &mut self.insert).map_err(Failure::broken)
    }

    fn batch(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        BatchRows::of(batch)?.insert(&mut self.insert).map_err(Failure::broken)
    }

    fn finish(mut self: Box<Self>) -> Result<(), Failure> {
        self.connection.execute_batch("COMMIT").map_err(Failure::broken)?;
        self.finished = true;
        Ok(())
    }
}

impl Drop for SqliteLoader<'_> {
    fn drop(&mut self) {
        if !self.finished {
            // The load is abandoned anyway. If it cannot be rolled back, that happens when the connection closes.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
    }
}

impl StatementSink<'_> {
    #[inline]
    fn value(&mut self, value: impl ToSql) -> rusqlite::Result<()> {
        self.parameter += 1;
        self.statement.raw_bind_parameter(self.parameter, value)
    }
}

impl RowSink for StatementSink<'_> {
    #[inline]
    fn begin(&mut self) -> rusqlite::Result<()> {
        self.parameter = 0;
        Ok(())
    }

    #[inline]
    fn time(&mut self, value: i64) -> rusqlite::Result<()> {
        self.value(value)
    }

    #[inline]
    fn end(&mut self) -> rusqlite::Result<()> {
        self.statement.raw_execute().map(drop)
    }
}

impl Binder for StatementSink<'_> {
    type Error = rusqlite::Error;

    #[inline]
    fn integer(&mut self, value: i64) -> rusqlite::Result<()> {
        self.value(value)
    }

    #[inline]
    fn text(&mut self, value: &str) -> rusqlite::Result<()> {
        self.value(value)
    }

    #[inline]
    fn float(&mut self, value: f64) -> rusqlite::Result<()> {
        self.value(value)
    }

    #[inline]
    fn null(&mut self) -> rusqlite::Result<()> {
        self.value(Null)
    }
}
