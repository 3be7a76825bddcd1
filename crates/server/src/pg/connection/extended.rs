//! The extended protocol: Parse, Bind, Describe, Execute, Close, Sync.

use super::answer_at_once::AnswerAtOnce;
use super::bind::{self, Plan, Portal, PreparedStatement, Progress};
use super::block::Block;
use super::described::check_columns;
use super::execute::{Outcome, tag_of_rows};
use super::session::Connection;
use super::session_values::{CallParameters, calls_of, error_in};
use crate::pg::answer::complete_columns;
use crate::pg::error::{Failure, PgError};
use crate::pg::rows::columns_of;
use crate::pg::statement::kind::StatementKind;
use crate::pg::types::known;
use crate::pg::wire::incoming::{Bind, Incoming, Target};
use crate::shared::clock;
use crate::shared::running::ListedStatement;
use std::sync::Arc;

/// The maximum number of prepared statements, and of portals, of a connection.
const NAMED_MAX: usize = 10_000;

impl Connection {
    /// Answers a message of the extended protocol.
    pub(super) fn extended(&mut self, message: Incoming) -> Result<(), Failure> {
        match message {
            Incoming::Parse { name, text, types } => self.parse(name, &text, &types).map_err(|failure| match failure {
                Failure::Error(error) => Failure::Error(error.placed_in(&text)),
                Failure::Gone => Failure::Gone,
            }),
            Incoming::Bind(message) => self.bind(message),
            Incoming::Describe(Target::Statement(name)) => self.describe_statement(&name),
            Incoming::Describe(Target::Portal(name)) => self.describe_portal(&name),
            Incoming::Execute { portal, row_max } => self.execute(&portal, row_max),
            Incoming::Close(target) => {
                // Closing something that does not exist is not an error.
                match target {
                    Target::Statement(name) => drop(self.statements.remove(&name)),
                    Target::Portal(name) => drop(self.portals.remove(&name)),
                }
                self.io.out.close_complete();
                Ok(())
            }
            _ => Err(PgError::protocol("no message of the extended protocol").into()),
        }
    }

    /// Handles Sync, the end of a series of messages.
    pub(super) fn sync(&mut self) -> Result<(), Failure> {
        self.skips_to_sync = false;
        match self.settle() {
            Ok(()) => {}
            Err(Failure::Error(error)) => drop(self.fail_with(&error)),
            Err(Failure::Gone) => return Err(Failure::Gone),
        }
        self.io.out.ready(self.block.status());
        Ok(())
    }

    fn parse(&mut self, name: String, text: &str, types: &[u32]) -> Result<(), Failure> {
        self.check_new(&name)?;
        let prepared = self.prepare(text, types)?;
        self.statements.insert(name, Arc::new(prepared));
        self.io.out.parse_complete();
        Ok(())
    }

    /// Checks that there can be another prepared statement, with this name.
    pub(super) fn check_new(&self, name: &str) -> Result<(), Failure> {
        if !name.is_empty() && self.statements.contains_key(name) {
            return Err(PgError::error("42P05", format!("prepared statement \"{name}\" already exists")).into());
        }
        if self.statements.len() >= NAMED_MAX {
            return Err(PgError::error("54000", format!("more than {NAMED_MAX} prepared statements")).into());
        }
        Ok(())
    }

    /// Determines the parameters and the columns of a statement.
    pub(super) fn prepare(&mut self, text: &str, types: &[u32]) -> Result<PreparedStatement, Failure> {
        let statements = match &self.at_once {
            // The text was split when the store was asked.
            Some(AnswerAtOnce::Prepared(plan)) => vec![plan.statement().text().to_owned()],
            _ => self.session.statements(text)?,
        };
        let text = match statements.as_slice() {
            [] => String::new(),
            [one] => one.clone(),
            _ => return Err(PgError::syntax("cannot insert multiple commands into a prepared statement").into()),
        };
        let kind = StatementKind::of(&text)?;
        if self.block == Block::Failed && !kind.ends_transaction() {
            return Err(PgError::failed_transaction().into());
        }
        let mut prepared = PreparedStatement {
            text,
            kind,
            parameter_types: types.to_vec(),
            declared_types: types.to_vec(),
            columns: None,
            described: None,
            plan: Plan::Connection,
            prepare: None,
            prepared_ns: clock::wall_ns(),
        };
        if prepared.text.is_empty() {
            prepared.plan = Plan::Empty;
            return Ok(prepared);
        }
        match &prepared.kind {
            StatementKind::Query | StatementKind::Report(_) | StatementKind::Change(_) | StatementKind::Other => {
                if let Some(query) = self.catalogue_query(&prepared.text, types) {
                    prepared.parameter_types = query.parameter_types.clone();
                    prepared.columns = Some(query.columns(self.connection_context())?);
                    prepared.plan = Plan::Catalogue(Arc::new(query));
                } else {
                    self.plan_on_store(&mut prepared, types)?;
                }
            }
            StatementKind::Show(name) => prepared.columns = Some(self.columns_of_show(name)),
            StatementKind::Fetch { cursor, is_move: false, .. } => {
                prepared.columns = Some(self.cursor_columns(cursor)?)
            }
            StatementKind::Execute { name, .. } => prepared.columns = self.prepared(name)?.columns.clone(),
            _ => {}
        }
        Ok(prepared)
    }

    /// Plans a statement that the store executes.
    fn plan_on_store(&mut self, prepared: &mut PreparedStatement, types: &[u32]) -> Result<(), Failure> {
        let calls = calls_of(&prepared.text, &prepared.kind);
        let types = self.types_with_calls(&prepared.text, &calls, types);
        let parameters = CallParameters { types: &types, values: None };
        let bound = self.with_session_values(&prepared.text, &prepared.kind, &calls, parameters)?;
        let plan = match (&bound, self.at_once.take()) {
            (None, Some(AnswerAtOnce::Prepared(plan))) => Ok(plan),
            _ => self.session.prepare(bound.as_deref().unwrap_or(&prepared.text), &types),
        };
        let plan = plan.map_err(|error| error_in(bound.as_deref(), error))?;
        let types_and_forms = plan.parameter_types().iter().zip(plan.parameter_forms());
        let found =
            types_and_forms.map(|(data_type, form)| form.map_or_else(|| known::of_arrow(data_type), known::of_form));
        let declared = |position: usize| types.get(position).copied().filter(|id| is_declared(*id));
        prepared.parameter_types =
            found.enumerate().map(|(position, found)| declared(position).unwrap_or(found)).collect();
        prepared.described = plan.schema().cloned();
        prepared.columns = plan.schema().map(columns_of);
        if let Some(columns) = &mut prepared.columns {
            complete_columns(&prepared.text, columns, &self.session);
        }
        prepared.declared_types = types;
        prepared.plan = match bound {
            Some(_) => Plan::StoreWithSessionValues,
            None => Plan::Store(plan),
        };
        Ok(())
    }

    fn bind(&mut self, message: Bind) -> Result<(), Failure> {
        let statement = self.prepared(&message.statement)?;
        if self.block == Block::Failed && !statement.kind.ends_transaction() {
            return Err(PgError::failed_transaction().into());
        }
        if !message.portal.is_empty() && self.portals.contains_key(&message.portal) {
            return Err(PgError::error("42P03", format!("cursor \"{}\" already exists", message.portal)).into());
        }
        if self.portals.len() >= NAMED_MAX {
            return Err(PgError::error("54000", format!("more than {NAMED_MAX} portals")).into());
        }
        let portal = bind::bind(&statement, &message)?;
        self.portals.insert(message.portal, portal);
        self.io.out.bind_complete();
        Ok(())
    }

    fn describe_statement(&mut self, name: &str) -> Result<(), Failure> {
        let statement = self.prepared(name)?;
        self.io.out.parameter_description(&statement.parameter_types);
        match &statement.columns {
            Some(columns) => bind::describe(&mut self.io.out, columns, &[]),
            None => self.io.out.no_data(),
        }
        Ok(())
    }

    fn describe_portal(&mut self, name: &str) -> Result<(), Failure> {
        let Some(portal) = self.portals.get(name) else { return Err(Self::no_such("portal", name, "34000")) };
        match &portal.statement.columns {
            Some(columns) => bind::describe(&mut self.io.out, columns, &portal.formats),
            None => self.io.out.no_data(),
        }
        Ok(())
    }

    fn execute(&mut self, name: &str, row_max: usize) -> Result<(), Failure> {
        // The portal is removed while it runs; after an error it stays closed.
        let Some(mut portal) = self.portals.remove(name) else { return Err(Self::no_such("portal", name, "34000")) };
        self.queries.increment();
        let listed = self.list(&portal.statement.text);
        let executed = self.execute_portal(name, &mut portal, row_max, &listed);
        self.end(listed, executed)?;
        let is_open = !matches!(
            portal.statement.kind,
            StatementKind::Commit { .. } | StatementKind::Rollback { .. } | StatementKind::Discard(_)
        );
        if is_open {
            self.portals.insert(name.to_owned(), portal);
        }
        Ok(())
    }

    fn execute_portal(
        &mut self,
        name: &str,
        portal: &mut Portal,
        row_max: usize,
        listed: &ListedStatement,
    ) -> Result<(), Failure> {
        if self.block == Block::Failed && !portal.statement.kind.ends_transaction() {
            return Err(PgError::failed_transaction().into());
        }
        if matches!(portal.progress, Progress::Bound) {
            let statement = Arc::clone(&portal.statement);
            // If a Sync follows immediately, the statement is alone.
            let is_one_of_several = self.io.next_kind()? != Some(b'S');
            self.enter(&statement.kind, is_one_of_several)?;
            portal.progress = Progress::Finished;
            let tag = match self.execute_bound(&statement, &portal.values)? {
                Outcome::Rows { rows, verb } => {
                    check_columns(statement.columns.as_deref(), rows.columns())?;
                    portal.progress = Progress::Running { rows: Box::new(rows), verb };
                    return self.send_rows(portal, row_max, listed);
                }
                Outcome::Empty => {
                    portal.progress = Progress::Bound;
                    self.io.out.empty_query();
                    return Ok(());
                }
                Outcome::Done(tag) => tag,
                Outcome::Fetched { cursor, rows, is_move } => {
                    if !is_move {
                        portal.progress = Progress::Read { verb: "FETCH" };
                    }
                    self.fetch(&cursor, rows, is_move, &portal.formats)?
                }
                Outcome::CopyIn(copy) => self.copy_in(&copy)?,
                Outcome::CopyOut(copy, rows) => self.copy_out(&copy, rows)?,
            };
            self.complete(listed, &tag);
            return Ok(());
        }
        match &mut portal.progress {
            Progress::Bound | Progress::Running { .. } => self.send_rows(portal, row_max, listed),
            Progress::Cursor(cursor) => self.execute_cursor(cursor, &portal.formats, row_max, listed),
            Progress::Read { verb } => {
                self.io.out.complete(&tag_of_rows(verb, 0));
                Ok(())
            }
            Progress::Finished => Err(PgError::error("55000", format!("portal \"{name}\" cannot be run")).into()),
        }
    }

    /// Sends up to `row_max` rows. The tag counts those that are sent now, without those of earlier calls.
    fn send_rows(&mut self, portal: &mut Portal, row_max: usize, listed: &ListedStatement) -> Result<(), Failure> {
        let Progress::Running { rows, verb } = &mut portal.progress else { return Ok(()) };
        if rows.is_of_store() {
            self.take_permit()?;
        }
        let (count, is_finished) = rows.send(&mut self.io, &portal.formats, row_max)?;
        if is_finished {
            let verb = *verb;
            let tag = tag_of_rows(verb, count);
            portal.progress = Progress::Read { verb };
            self.complete(listed, &tag);
        } else {
            listed.add_rows(count as u64);
            self.io.out.portal_suspended();
        }
        Ok(())
    }
}

fn is_declared(id: u32) -> bool {
    id != 0 && id != known::UNKNOWN
}
