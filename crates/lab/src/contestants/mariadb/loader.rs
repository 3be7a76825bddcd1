//! Loading: INSERT statements of up to half a megabyte, in one transaction where the engine has them.

use super::connection::MariadbConnection;
use crate::contestant::{Dialect, Loader};
use crate::contestants::insert_text::InsertText;
use crate::data::columns::{BatchRows, insert_rows};
use crate::data::rows::RowSet;
use crate::failure::Failure;
use crate::server::server_failure;
use arrow::array::RecordBatch;
use atsdb::TableDefinition;
use mysql::prelude::Queryable;

/// A statement is sent once it is this long.
const STATEMENT_BYTES: usize = 512 << 10;

pub(super) struct MariadbLoader<'a> {
    server: &'a mut MariadbConnection,
    text: InsertText,
    finished: bool,
}

impl<'a> MariadbLoader<'a> {
    pub(super) fn new(server: &'a mut MariadbConnection, table: &TableDefinition) -> Result<Self, Failure> {
        server.connection.query_drop("START TRANSACTION").map_err(server_failure)?;
        let text = InsertText::new(Dialect::Mysql, server.insert_verb(), table, STATEMENT_BYTES);
        let text = text.without_null((!server.holds_null()).then_some("tables of this engine hold no NULL"));
        Ok(Self { server, text, finished: false })
    }
}

impl Loader for MariadbLoader<'_> {
    fn rows(&mut self, rows: &RowSet) -> Result<(), Failure> {
        let connection = &mut self.server.connection;
        insert_rows(rows, &mut self.text.sink(|statement| connection.query_drop(statement).map_err(server_failure)))
    }

    fn batch(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        let connection = &mut self.server.connection;
        let mut sink = self.text.sink(|statement| connection.query_drop(statement).map_err(server_failure));
        BatchRows::of(batch)?.insert(&mut sink)
    }

    fn finish(mut self: Box<Self>) -> Result<(), Failure> {
        let connection = &mut self.server.connection;
        self.text.finish(|statement| connection.query_drop(statement).map_err(server_failure))?;
        connection.query_drop("COMMIT").map_err(server_failure)?;
        self.finished = true;
        self.server.settle()
    }
}

impl Drop for MariadbLoader<'_> {
    fn drop(&mut self) {
        if !self.finished {
            // The load is abandoned anyway. If it cannot be rolled back, that happens when the connection closes.
            let _ = self.server.connection.query_drop("ROLLBACK");
        }
    }
}
