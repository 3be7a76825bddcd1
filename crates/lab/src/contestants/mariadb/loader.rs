//! Loading: INSERT statements of up to half a megabyte, in one transaction where the engine has them.

use super::session::MariadbSession;
use crate::columns::{BatchRows, RowSink, insert_rows};
use crate::contestant::Loader;
use crate::failure::Failure;
use crate::rows::{Binder, RowSet};
use crate::server::server_failure;
use arrow::array::RecordBatch;
use atsdb::TableDefinition;
use mysql::prelude::Queryable;
use std::fmt::Write;

/// A statement is sent once it is this long.
const STATEMENT_BYTES: usize = 512 << 10;

pub(super) struct MariadbLoader<'a> {
    session: &'a mut MariadbSession,
    begin: String,
    statement: String,
    /// How many of its units make a second of the table's time.
    per_second: i64,
    holds_null: bool,
    finished: bool,
}

impl<'a> MariadbLoader<'a> {
    pub(super) fn new(session: &'a mut MariadbSession, table: &TableDefinition) -> Result<Self, Failure> {
        session.connection.query_drop("START TRANSACTION").map_err(server_failure)?;
        let verb = session.insert_verb();
        let begin = format!("{verb} `{}` VALUES ", table.name.replace('`', "``"));
        let statement = String::with_capacity(STATEMENT_BYTES + 4_096);
        let (per_second, holds_null) = (table.time_scale(), session.holds_null());
        Ok(Self { session, begin, statement, per_second, holds_null, finished: false })
    }

    fn send(&mut self) -> Result<(), Failure> {
        if self.statement.is_empty() {
            return Ok(());
        }
        self.statement.pop();
        self.session.connection.query_drop(&self.statement).map_err(server_failure)?;
        self.statement.clear();
        Ok(())
    }
}

impl Loader for MariadbLoader<'_> {
    fn rows(&mut self, rows: &RowSet) -> Result<(), Failure> {
        insert_rows(rows, self)
    }

    fn batch(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        BatchRows::of(batch)?.insert(self)
    }

    fn finish(mut self: Box<Self>) -> Result<(), Failure> {
        self.send()?;
        self.session.connection.query_drop("COMMIT").map_err(server_failure)?;
        self.finished = true;
        self.session.settle()
    }
}

impl Drop for MariadbLoader<'_> {
    fn drop(&mut self) {
        if !self.finished {
            // The load is given up anyway; what cannot be rolled back goes when the connection closes.
            let _ = self.session.connection.query_drop("ROLLBACK");
        }
    }
}

impl MariadbLoader<'_> {
    fn value(&mut self, value: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.statement.write_fmt(value);
        self.statement.push(',');
    }
}

impl RowSink for MariadbLoader<'_> {
    fn begin(&mut self) -> Result<(), Failure> {
        if self.statement.is_empty() {
            self.statement.push_str(&self.begin);
        }
        self.statement.push('(');
        Ok(())
    }

    fn time(&mut self, value: i64) -> Result<(), Failure> {
        let (seconds, fraction) = (value.div_euclid(self.per_second), value.rem_euclid(self.per_second));
        let text = atsdb::time::format_time(seconds, atsdb::TimeUnit::Second);
        let text = text.trim_end_matches('Z');
        match fraction {
            0 => self.value(format_args!("'{text}'")),
            fraction => {
                let microseconds = fraction * 1_000_000 / self.per_second;
                self.value(format_args!("'{text}.{microseconds:06}'"));
            }
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), Failure> {
        self.statement.pop();
        self.statement.push_str("),");
        if self.statement.len() >= STATEMENT_BYTES { self.send() } else { Ok(()) }
    }
}

impl Binder for MariadbLoader<'_> {
    type Error = Failure;

    fn integer(&mut self, value: i64) -> Result<(), Failure> {
        self.value(format_args!("{value}"));
        Ok(())
    }

    fn text(&mut self, value: &str) -> Result<(), Failure> {
        match value.contains(['\'', '\\']) {
            true => self.value(format_args!("'{}'", value.replace('\\', "\\\\").replace('\'', "''"))),
            false => self.value(format_args!("'{value}'")),
        }
        Ok(())
    }

    fn float(&mut self, value: f64) -> Result<(), Failure> {
        self.value(format_args!("{value:e}"));
        Ok(())
    }

    fn null(&mut self) -> Result<(), Failure> {
        if !self.holds_null {
            return Err(Failure::cannot("tables of this engine hold no NULL"));
        }
        self.value(format_args!("NULL"));
        Ok(())
    }
}
