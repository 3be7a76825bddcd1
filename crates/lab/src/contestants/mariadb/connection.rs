//! A connection, and sending INSERT statements over it.

use super::engine::Engine;
use crate::failure::Failure;
use crate::measure::clock;
use crate::server::server_failure;
use mysql::Conn;
use mysql::prelude::Queryable;
use std::time::Duration;

/// The interval between checks whether delayed rows have been written.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// A connection whose tables have one engine.
pub(super) struct MariadbConnection {
    pub(super) connection: Conn,
    pub(super) engine: Engine,
    delayed: bool,
}

impl MariadbConnection {
    pub(super) fn new(connection: Conn, engine: Engine, delayed: bool) -> Self {
        Self { connection, engine, delayed }
    }

    /// The first words of an insert statement.
    pub(super) fn insert_verb(&self) -> &'static str {
        if self.delayed { "INSERT DELAYED INTO" } else { "INSERT INTO" }
    }

    pub(super) fn holds_null(&self) -> bool {
        self.engine != Engine::Csv
    }

    /// Waits until delayed rows in the server are in their tables. `FLUSH TABLES` would stop the threads of the server
    /// that write them, those of other connections too, and may return before the last rows are there.
    pub(super) fn settle(&mut self) -> Result<(), Failure> {
        while self.delayed && self.rows_waiting()? > 0 {
            clock::sleep(LOOK_AGAIN);
        }
        Ok(())
    }

    fn rows_waiting(&mut self) -> Result<u64, Failure> {
        let select = "SELECT CAST(variable_value AS UNSIGNED) FROM information_schema.global_status
                      WHERE variable_name = 'NOT_FLUSHED_DELAYED_ROWS'";
        let waiting: Option<u64> = self.connection.query_first(select).map_err(server_failure)?;
        waiting.ok_or_else(|| Failure::wrong("the server does not tell how many delayed rows wait"))
    }

    /// Runs statements one by one; those that insert as this connection inserts.
    pub(super) fn run(&mut self, statements: &[String]) -> Result<(), Failure> {
        for statement in statements {
            match statement.strip_prefix("INSERT INTO").filter(|_| self.delayed) {
                Some(rest) => self.connection.query_drop(format!("INSERT DELAYED INTO{rest}")),
                None => self.connection.query_drop(statement),
            }
            .map_err(server_failure)?;
        }
        self.settle()
    }
}
