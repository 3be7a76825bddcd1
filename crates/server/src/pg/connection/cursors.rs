//! Cursors: DECLARE, FETCH, MOVE, CLOSE. A cursor is a portal that SQL names.

use super::bind::{Plan, Portal, PreparedStatement, Progress};
use super::block::Block;
use super::cursor::{Cursor, RowTarget, only_forward};
use super::execute::{Outcome, tag_of_rows};
use super::session::Connection;
use crate::pg::error::{Failure, PgError};
use crate::pg::statement::cursors::{Declaration, Direction};
use crate::pg::statement::kind::StatementKind;
use crate::pg::types::input::Format;
use crate::pg::wire::outgoing::ResultColumn;
use crate::shared::clock;
use crate::shared::running::ListedStatement;
use datafusion::common::ScalarValue;
use std::sync::Arc;

impl Connection {
    /// Begins a query whose rows are fetched later. `text` is the whole statement.
    pub(super) fn declare(
        &mut self,
        declaration: &Declaration,
        values: &[ScalarValue],
        text: &str,
    ) -> Result<String, Failure> {
        let (cursor, query) = (declaration.cursor.as_str(), declaration.query.as_str());
        if self.block != Block::Explicit && !declaration.is_holdable {
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
        let column_count = rows.columns().len();
        let columns = Some(rows.columns().to_vec());
        let statement = PreparedStatement {
            text: text.to_owned(),
            kind,
            parameter_types: Vec::new(),
            declared_types: Vec::new(),
            columns,
            described: None,
            plan: Plan::Connection,
            prepare: None,
            prepared_ns: clock::wall_ns(),
        };
        let mut opened = Cursor::new(declaration, rows, verb, || self.session.kept_memory())?;
        if self.block == Block::None {
            // The statement is a transaction of its own.
            opened = opened.hold(self.session.kept_memory())?;
        }
        let progress = Progress::Cursor(Box::new(opened));
        let formats = if declaration.is_binary { vec![Format::Binary; column_count] } else { Vec::new() };
        let (values, created_ns) = (Vec::new(), statement.prepared_ns);
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
        direction: Direction,
        is_move: bool,
        formats: &[Format],
    ) -> Result<String, Failure> {
        let is_of_store = match self.portals.get(cursor).map(|portal| &portal.progress) {
            Some(Progress::Cursor(cursor)) => cursor.is_of_store(),
            Some(Progress::Running { rows, .. }) => rows.is_of_store(),
            _ => false,
        };
        if is_of_store {
            self.take_permit()?;
        }
        let Some(portal) = self.portals.get_mut(cursor) else {
            return Err(Self::no_such("cursor", cursor, "34000"));
        };
        let (read, is_finished) = match (&mut portal.progress, direction) {
            (Progress::Cursor(opened), _) if opened.is_failed => {
                return Err(PgError::error("55000", format!("portal \"{cursor}\" cannot be run")).into());
            }
            (Progress::Cursor(opened), _) => {
                let fetched = opened.fetch(direction, &mut RowTarget { io: &mut self.io, formats, is_move });
                opened.is_failed = fetched.is_err();
                (fetched?, false)
            }
            // A portal of the extended protocol.
            (Progress::Running { rows, .. }, Direction::Forward(count)) => {
                let row_max = count.unwrap_or(usize::MAX);
                match is_move {
                    true => rows.visit(row_max, &self.io.holds, |_| Ok(()))?,
                    false => rows.send(&mut self.io, formats, row_max)?,
                }
            }
            (_, Direction::Forward(_)) => (0, true),
            _ => return Err(only_forward()),
        };
        if is_finished && let Progress::Running { verb, .. } = portal.progress {
            portal.progress = Progress::Read { verb };
        }
        Ok(format!("{} {read}", if is_move { "MOVE" } else { "FETCH" }))
    }

    /// Sends up to `row_max` of the next rows of a cursor that is executed as a portal.
    pub(super) fn execute_cursor(
        &mut self,
        cursor: &mut Cursor,
        formats: &[Format],
        row_max: usize,
        listed: &ListedStatement,
    ) -> Result<(), Failure> {
        if cursor.is_of_store() {
            self.take_permit()?;
        }
        let as_text = vec![Format::Text; cursor.columns().len()];
        let formats = if formats.is_empty() { as_text.as_slice() } else { formats };
        let count = cursor.forward(Some(row_max), &mut RowTarget { io: &mut self.io, formats, is_move: false })?;
        if count < row_max {
            self.complete(listed, &tag_of_rows(cursor.verb, count));
        } else {
            listed.add_rows(count as u64);
            self.io.out.portal_suspended();
        }
        Ok(())
    }

    /// Prepares the cursors `WITH HOLD` for the end of an implicit transaction.
    pub(super) fn hold_cursors_of_message(&mut self) -> Result<(), Failure> {
        if self.cursors_to_hold().is_empty() {
            return Ok(());
        }
        let listed = self.list("COMMIT");
        let held = self.hold_cursors();
        self.end(listed, held)
    }

    /// The names of the cursors `WITH HOLD` whose transaction is open.
    fn cursors_to_hold(&self) -> Vec<String> {
        let due = self.portals.iter().filter(|(_, portal)| match &portal.progress {
            Progress::Cursor(cursor) => cursor.is_holdable && !cursor.is_held,
            _ => false,
        });
        due.map(|(name, _)| name.clone()).collect()
    }

    /// Prepares the cursors `WITH HOLD` for the end of their transaction: they read the rows that are left.
    pub(super) fn hold_cursors(&mut self) -> Result<(), Failure> {
        for name in self.cursors_to_hold() {
            let Some(mut portal) = self.portals.remove(&name) else { continue };
            if let Progress::Cursor(cursor) = portal.progress {
                if cursor.is_of_store() {
                    self.take_permit()?;
                }
                let held = cursor.hold(self.session.kept_memory())?;
                portal.progress = Progress::Cursor(Box::new(held));
                self.portals.insert(name, portal);
            }
        }
        Ok(())
    }

    /// Closes the portals and cursors that end with their transaction.
    pub(super) fn close_portals(&mut self) {
        self.portals.retain(|_, portal| matches!(&portal.progress, Progress::Cursor(cursor) if cursor.is_held));
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
