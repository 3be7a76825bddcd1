//! Simple queries: a text with one or several statements, with results as text but for those of `BINARY` cursors.

use super::bind::{self, Portal, Progress};
use super::execute::Outcome;
use super::session::Connection;
use crate::pg::error::{Failure, PgError};
use crate::pg::statement::cursors::Direction;
use crate::pg::statement::kind::StatementKind;
use crate::pg::types::input::Format;
use crate::shared::running::ListedStatement;

impl Connection {
    /// Answers a message with statements. The answer always ends with ReadyForQuery.
    pub(super) fn simple_query(&mut self, text: &str) -> Result<(), Failure> {
        // The unnamed portal and statement end with each simple query.
        self.portals.remove("");
        self.statements.remove("");
        let done = self.statements_of(text);
        let done = match done {
            Ok(()) => self.settle(),
            Err(failure) => Err(failure),
        };
        match done {
            Ok(()) => {}
            Err(Failure::Error(error)) => {
                let error = error.placed_in(text);
                let is_fatal = error.severity == crate::pg::error::Severity::Fatal;
                if is_fatal {
                    return Err(Failure::Error(error));
                }
                self.fail_with(&error);
            }
            Err(Failure::Gone) => return Err(Failure::Gone),
        }
        self.io.out.ready(self.block.status());
        Ok(())
    }

    fn statements_of(&mut self, text: &str) -> Result<(), Failure> {
        let statements = self.session.statements(text)?;
        if statements.is_empty() {
            self.io.out.empty_query();
        }
        let is_one_of_several = statements.len() > 1;
        for statement in &statements {
            self.statement(statement, is_one_of_several)?;
        }
        Ok(())
    }

    fn statement(&mut self, text: &str, is_one_of_several: bool) -> Result<(), Failure> {
        self.queries.increment();
        let kind = StatementKind::of(text)?;
        self.enter(&kind, is_one_of_several)?;
        let listed = self.list(text);
        let answered = self.answer_statement(text, &kind, &listed);
        self.end(listed, answered)
    }

    fn answer_statement(&mut self, text: &str, kind: &StatementKind, listed: &ListedStatement) -> Result<(), Failure> {
        let outcome = self.execute_text(text, kind)?;
        self.send_outcome(outcome, listed)
    }

    /// Sends the answer of a statement as text.
    fn send_outcome(&mut self, outcome: Outcome, listed: &ListedStatement) -> Result<(), Failure> {
        let tag = match outcome {
            Outcome::Done(tag) => tag,
            Outcome::Empty => {
                self.io.out.empty_query();
                return Ok(());
            }
            Outcome::Rows { mut rows, verb } => {
                let formats = vec![Format::Text; rows.columns().len()];
                bind::describe(&mut self.io.out, rows.columns(), &formats);
                let (count, _) = rows.send(&mut self.io, &formats, usize::MAX)?;
                super::execute::tag_of_rows(verb, count)
            }
            Outcome::Fetched { cursor, rows, is_move } => self.fetch_simply(&cursor, rows, is_move)?,
            Outcome::CopyIn(copy) => self.copy_in(&copy)?,
            Outcome::CopyOut(copy, rows) => self.copy_out(&copy, rows)?,
        };
        self.complete(listed, &tag);
        Ok(())
    }

    /// Sends rows of a cursor as text, or those of a `BINARY` cursor in binary.
    fn fetch_simply(&mut self, cursor: &str, rows: Direction, is_move: bool) -> Result<String, Failure> {
        let columns = self.cursor_columns(cursor)?;
        let formats = match self.portals.get(cursor) {
            Some(Portal { progress: Progress::Cursor(_), formats, .. }) if !formats.is_empty() => formats.clone(),
            _ => vec![Format::Text; columns.len()],
        };
        if !is_move {
            bind::describe(&mut self.io.out, &columns, &formats);
        }
        self.fetch(cursor, rows, is_move, &formats)
    }

    /// The error for a statement that does not exist.
    pub(super) fn no_such(what: &str, name: &str, code: &'static str) -> Failure {
        PgError::error(code, format!("{what} \"{name}\" does not exist")).into()
    }
}
