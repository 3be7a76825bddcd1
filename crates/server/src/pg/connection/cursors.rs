//! Cursors: DECLARE, FETCH, MOVE, CLOSE. A cursor is a portal that SQL names.

use super::bind::{Plan, Portal, PreparedStatement, Progress};
use super::block::Block;
use super::execute::Outcome;
use super::session::Connection;
use crate::pg::error::{Failure, PgError};
use crate::pg::statement::kind::StatementKind;
use crate::pg::types::input::Format;
use crate::pg::wire::outgoing::ResultColumn;
use crate::shared::clock;
use datafusion::common::ScalarValue;
use std::sync::Arc;

impl Connection {
    /// Begins a query whose rows are fetched later. `text` is the whole statement.
    pub(super) fn declare(
        &mut self,
        cursor: &str,
        query: &str,
        values: &[ScalarValue],
        text: &str,
    ) -> Result<String, Failure> {
        if self.block != Block::Explicit {
            let error = PgError::error("25P01", "DECLARE CURSOR can only be used in transaction blocks");
            return Err(error.with_hint("BEGIN first").into());
        }
        if self.portals.contains_key(cursor) {
            return Err(PgError::error("42P03", format!("cursor \"{cursor}\" already exists")).into());
        }
        let kind = StatementKind::of(query)?;
        if kind != StatementKind::Query {
            return Err(PgError::error("42P11", "a cursor takes a query").into());
        }
        let outcome = match values.is_empty() {
            true => self.execute_text(query, &kind)?,
            false => {
                let prepared = self.prepare(query, &[])?;
                self.execute_bound(&prepared, values)?
            }
        };
        let Outcome::Rows { rows, verb } = outcome else {
            return Err(PgError::error("42P11", "a cursor takes a query").into());
        };
        let columns = Some(rows.columns().to_vec());
        let statement = PreparedStatement {
            text: text.to_owned(),
            kind,
            parameter_types: Vec::new(),
            columns,
            plan: Plan::Connection,
            prepare: None,
            prepared_ns: clock::wall_ns(),
        };
        let progress = Progress::Running { rows: Box::new(rows), verb };
        let (values, formats, created_ns) = (Vec::new(), Vec::new(), statement.prepared_ns);
        let portal = Portal { statement: Arc::new(statement), values, formats, progress, created_ns };
        self.portals.insert(cursor.to_owned(), portal);
        Ok("DECLARE CURSOR".to_owned())
    }

    /// The columns of a cursor.
    pub(super) fn cursor_columns(&self, cursor: &str) -> Result<Vec<ResultColumn>, Failure> {
        match self.portals.get(cursor).map(|portal| &portal.statement.columns) {
            Some(Some(columns)) => Ok(columns.clone()),
            _ => Err(Self::no_such("cursor", cursor, "34000")),
        }
    }

    /// Sends rows of a cursor, or skips them, and returns the command's tag.
    pub(super) fn fetch(
        &mut self,
        cursor: &str,
        count: Option<usize>,
        is_move: bool,
        formats: &[Format],
    ) -> Result<String, Failure> {
        let progress = self.portals.get(cursor).map(|portal| &portal.progress);
        if matches!(progress, Some(Progress::Running { rows, .. }) if rows.is_of_store()) {
            self.take_permit()?;
        }
        let Some(portal) = self.portals.get_mut(cursor) else {
            return Err(Self::no_such("cursor", cursor, "34000"));
        };
        let row_max = count.unwrap_or(usize::MAX);
        let (read, is_finished) = match &mut portal.progress {
            Progress::Running { rows, .. } if is_move => rows.visit(row_max, &self.io.holds, |_| Ok(()))?,
            Progress::Running { rows, .. } => rows.send(&mut self.io, formats, row_max)?,
            Progress::Bound | Progress::Read { .. } | Progress::Finished => (0, true),
        };
        if is_finished && let Progress::Running { verb, .. } = portal.progress {
            portal.progress = Progress::Read { verb };
        }
        Ok(format!("{} {read}", if is_move { "MOVE" } else { "FETCH" }))
    }

    /// Closes one cursor, or all.
    pub(super) fn close_cursor(&mut self, cursor: Option<&str>) -> Result<String, Failure> {
        match cursor {
            None => self.portals.clear(),
            Some(cursor) => {
                if self.portals.remove(cursor).is_none() {
                    return Err(Self::no_such("cursor", cursor, "34000"));
                }
            }
        }
        Ok(if cursor.is_none() { "CLOSE CURSOR ALL" } else { "CLOSE CURSOR" }.to_owned())
    }
}
