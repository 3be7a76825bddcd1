//! Executing one statement: by the connection itself, by the catalogue, or by the store.

use super::answer_at_once::AnswerAtOnce;
use super::bind::{Plan, PreparedStatement};
use super::deadline::Deadline;
use super::session::Connection;
use super::session_values::{CallParameters, calls_of, error_in};
use crate::pg::answer::complete_columns;
use crate::pg::catalogue::value::Value;
use crate::pg::catalogue::{CatalogueQuery, ConnectionContext, is_sequence};
use crate::pg::error::{Failure, PgError, Severity};
use crate::pg::rows::RowSource;
use crate::pg::settings::SEARCH_PATH;
use crate::pg::statement::copy::query_of;
use crate::pg::statement::cursors::Direction;
use crate::pg::statement::discard::Discarded;
use crate::pg::statement::kind::StatementKind;
use crate::pg::statement::storage::ignored_parameters;
use crate::pg::types::known;
use crate::pg::wire::outgoing::{ResultColumn, take_columns};
use arrow::datatypes::SchemaRef;
use atsdb::SearchPath;
use atsdb::sql::{Answer, CopyStatement, SkipNotice};
use datafusion::common::ScalarValue;
use std::time::Duration;

/// The outcome of a statement.
pub(super) enum Outcome {
    /// The statement was empty.
    Empty,
    /// The tag of a completed command.
    Done(String),
    /// Rows, and the first word of the tag.
    Rows {
        rows: RowSource,
        verb: &'static str,
    },
    /// Rows of a cursor.
    Fetched {
        cursor: String,
        rows: Direction,
        is_move: bool,
    },
    CopyIn(Box<CopyStatement>),
    CopyOut(Box<CopyStatement>, RowSource),
}

impl Connection {
    /// Executes a statement without parameters.
    pub(super) fn execute_text(&mut self, text: &str, kind: &StatementKind) -> Result<Outcome, Failure> {
        match kind {
            StatementKind::Query | StatementKind::Report(_) | StatementKind::Change(_) | StatementKind::Other => {
                match self.catalogue_query(text, &[]) {
                    Some(query) => self.run_catalogue(&query, &[]),
                    None => {
                        self.take_permit()?;
                        let calls = calls_of(text, kind);
                        let bound = self.with_session_values(text, kind, &calls, CallParameters::NONE)?;
                        let bound = bound.as_deref();
                        let executed = match (bound, self.at_once.take()) {
                            (None, Some(AnswerAtOnce::Executed(answer))) => Ok(answer),
                            _ => self.session.execute(bound.unwrap_or(text)),
                        };
                        let answer = executed.map_err(|error| error_in(bound, error))?;
                        let mut outcome = self.of_answer(kind, text, answer)?;
                        if let Outcome::Rows { rows, .. } = &mut outcome {
                            complete_columns(text, rows.columns_mut(), &self.session);
                        }
                        Ok(outcome)
                    }
                }
            }
            _ => self.of_connection(kind, text, &[]),
        }
    }

    /// Executes a prepared statement.
    pub(super) fn execute_bound(
        &mut self,
        statement: &PreparedStatement,
        values: &[ScalarValue],
    ) -> Result<Outcome, Failure> {
        match &statement.plan {
            Plan::Empty => Ok(Outcome::Empty),
            Plan::Connection => self.of_connection(&statement.kind, &statement.text, values),
            Plan::Catalogue(query) => self.run_catalogue(query, values),
            Plan::Store(prepared) => {
                self.take_permit()?;
                let answer = match self.at_once.take() {
                    Some(AnswerAtOnce::Executed(answer)) => answer,
                    _ => self.session.execute_prepared(prepared, values, &|found| statement.check_described(found))?,
                };
                self.of_prepared(statement, answer)
            }
            Plan::StoreWithSessionValues => {
                self.take_permit()?;
                let types = statement.declared_types.as_slice();
                let parameters = CallParameters { types, values: Some(values) };
                let calls = calls_of(&statement.text, &statement.kind);
                let bound = self.with_session_values(&statement.text, &statement.kind, &calls, parameters)?;
                let bound = bound.as_deref();
                let prepared = self.session.prepare(bound.unwrap_or(&statement.text), types);
                let prepared = prepared.map_err(|error| error_in(bound, error))?;
                // The store takes the numbers of objects as texts, if it takes them at all.
                let values: Vec<ScalarValue> = values
                    .iter()
                    .enumerate()
                    .map(|(position, value)| match (types.get(position), value) {
                        (Some(id), ScalarValue::Int64(Some(number))) if known::is_named(*id) => {
                            ScalarValue::from(number.to_string())
                        }
                        _ => value.clone(),
                    })
                    .collect();
                let check = |found: &SchemaRef| statement.check_described(found);
                let answer = self.session.execute_prepared(&prepared, &values, &check);
                let answer = answer.map_err(|error| error_in(bound, error))?;
                self.of_prepared(statement, answer)
            }
        }
    }

    /// The outcome of a prepared statement that the store has answered.
    fn of_prepared(&mut self, statement: &PreparedStatement, answer: Answer) -> Result<Outcome, Failure> {
        if let Answer::Rows(rows) = &answer {
            statement.check_names(&rows.schema())?;
        }
        let mut outcome = self.of_answer(&statement.kind, &statement.text, answer)?;
        if let (Outcome::Rows { rows, .. }, Some(columns)) = (&mut outcome, &statement.columns) {
            take_columns(rows.columns_mut(), columns);
        }
        Ok(outcome)
    }

    fn of_answer(&mut self, kind: &StatementKind, text: &str, answer: Answer) -> Result<Outcome, Failure> {
        if *kind == StatementKind::Other {
            for SkipNotice { sqlstate, message } in self.session.take_skipped() {
                self.notice(&PgError::new(Severity::Notice, sqlstate, message));
            }
            for name in ignored_parameters(text) {
                let notice = format!("storage parameter \"{name}\" is ignored: the store chooses how rows are stored");
                self.notice(&PgError::new(Severity::Notice, "00000", notice));
            }
        }
        if let Answer::Done { verb: "CREATE TABLE", .. } = &answer
            && let Some(notice) = self.session.take_notice()
        {
            self.notice(&PgError::new(Severity::Notice, "00000", notice));
        }
        let verb = match kind {
            StatementKind::Report(verb) | StatementKind::Change(verb) => *verb,
            _ => "SELECT",
        };
        Ok(match answer {
            Answer::Rows(rows) => Outcome::Rows { rows: RowSource::store(rows), verb },
            Answer::Done { verb: "INSERT", row_count } => Outcome::Done(format!("INSERT 0 {}", row_count.unwrap_or(0))),
            Answer::Done { verb: "CREATE TABLE" | "CREATE MATERIALIZED VIEW", row_count: Some(count) } => {
                Outcome::Done(format!("SELECT {count}"))
            }
            Answer::Done { verb, row_count: Some(count) } if has_count(verb) => {
                Outcome::Done(format!("{verb} {count}"))
            }
            Answer::Done { verb: "TRUNCATE", .. } => Outcome::Done("TRUNCATE TABLE".to_owned()),
            Answer::Done { verb, .. } => Outcome::Done(verb.to_owned()),
        })
    }

    /// Parses a query about the catalogue; `None` if it is another statement.
    pub(super) fn catalogue_query(&self, text: &str, types: &[u32]) -> Option<CatalogueQuery> {
        CatalogueQuery::read(text, types, &|schema, name| is_sequence(&self.session, schema, name))
    }

    /// The context for queries of the catalogue.
    pub(super) fn connection_context(&self) -> ConnectionContext<'_> {
        ConnectionContext {
            database: &self.database_name,
            user: &self.user,
            process: self.key.process,
            settings: self.settings.clone(),
            session: &self.session,
            access: &self.access,
            activity: self,
        }
    }

    fn run_catalogue(&mut self, query: &CatalogueQuery, values: &[ScalarValue]) -> Result<Outcome, Failure> {
        // It takes no permit, with which the time limit of other statements begins.
        self.deadline = self.begin_deadline();
        let (columns, rows) = self.answered(query, values)?;
        Ok(Outcome::Rows { rows: RowSource::values(columns, rows), verb: "SELECT" })
    }

    /// The columns and rows of a query about the catalogue. Sends its notices, and changes the settings that it sets.
    pub(super) fn answered(
        &mut self,
        query: &CatalogueQuery,
        values: &[ScalarValue],
    ) -> Result<(Vec<ResultColumn>, Vec<Vec<Value>>), Failure> {
        let answer = query.run(values, self.connection_context())?;
        for notice in &answer.notices {
            self.notice(notice);
        }
        for (name, value, is_local) in answer.changed_settings {
            self.set(&name, Some(&value), is_local)?;
        }
        Ok((answer.columns, answer.rows))
    }

    /// Executes a statement that concerns only the connection.
    fn of_connection(&mut self, kind: &StatementKind, text: &str, values: &[ScalarValue]) -> Result<Outcome, Failure> {
        let tag = match kind {
            StatementKind::Begin { .. }
            | StatementKind::Commit { .. }
            | StatementKind::Rollback { .. }
            | StatementKind::RollbackTo
            | StatementKind::Savepoint => self.bracket(kind, text)?,
            StatementKind::Set { name, value, is_local } => self.set_by_sql(name, value.as_deref(), *is_local)?,
            StatementKind::SetTransaction { read_only, is_session } => self.set_transaction(*read_only, *is_session)?,
            StatementKind::SetSnapshot(name) => {
                self.warn_outside_of_block("SET TRANSACTION");
                self.set_snapshot(name)?;
                "SET".to_owned()
            }
            StatementKind::SetConstraints => self.set_constraints(text)?,
            StatementKind::Reset(name) => self.reset_by_sql(name.as_deref())?,
            StatementKind::Show(name) => return self.show(name),
            StatementKind::Discard(discarded) => self.discard(*discarded)?.to_owned(),
            StatementKind::Prepare { name, types, text: statement } => {
                self.prepare_by_sql(name, types, statement, text)?;
                "PREPARE".to_owned()
            }
            StatementKind::Execute { name, values } => return self.execute_by_sql(name, values),
            StatementKind::Deallocate(name) => self.deallocate(name.as_deref())?.to_owned(),
            StatementKind::Declare(declaration) => self.declare(declaration, values, text)?,
            StatementKind::Fetch { cursor, rows, is_move } => {
                return Ok(Outcome::Fetched { cursor: cursor.clone(), rows: *rows, is_move: *is_move });
            }
            StatementKind::CloseCursor(name) => self.close_cursor(name.as_deref())?,
            StatementKind::LockShared(tables) => self.lock_shared(tables)?,
            StatementKind::Unlisten => "UNLISTEN".to_owned(),
            StatementKind::Maintenance(tag) => {
                let notice = "the store seals, merges and frees by itself: nothing is left to do";
                self.notice(&PgError::new(Severity::Notice, "00000", notice));
                (*tag).to_owned()
            }
            StatementKind::Copy(copy) if copy.is_in => return Ok(Outcome::CopyIn(copy.clone())),
            StatementKind::Copy(copy) => return self.rows_to_copy(copy),
            StatementKind::Query | StatementKind::Report(_) | StatementKind::Change(_) | StatementKind::Other => {
                self.take_permit()?;
                return self.of_answer(kind, text, self.session.execute(text)?);
            }
        };
        Ok(Outcome::Done(tag))
    }

    /// Executes the query of a COPY TO.
    fn rows_to_copy(&mut self, copy: &CopyStatement) -> Result<Outcome, Failure> {
        let query = query_of(copy);
        let kind = StatementKind::of(&query)?;
        if kind == StatementKind::Other {
            return Err(PgError::error("0A000", "COPY (SELECT INTO) is not supported").into());
        }
        match self.execute_text(&query, &kind)? {
            Outcome::Rows { rows, .. } => Ok(Outcome::CopyOut(Box::new(copy.clone()), rows)),
            _ => Err(PgError::error("0A000", "COPY TO takes a query that has rows").into()),
        }
    }

    /// Forgets a prepared statement, or all of them. Returns the tag.
    fn deallocate(&mut self, name: Option<&str>) -> Result<&'static str, Failure> {
        let Some(name) = name else {
            self.statements.clear();
            return Ok("DEALLOCATE ALL");
        };
        match self.statements.remove(name) {
            Some(_) => Ok("DEALLOCATE"),
            None => Err(Self::no_such("prepared statement", name, "26000")),
        }
    }

    /// Executes DISCARD. Returns the tag.
    fn discard(&mut self, discarded: Discarded) -> Result<&'static str, Failure> {
        match discarded {
            Discarded::All => {
                if self.session.in_transaction() {
                    return Err(PgError::error("25001", "DISCARD ALL cannot run inside a transaction block").into());
                }
                self.statements.clear();
                self.portals.clear();
                self.reset_settings()?;
                self.session.drop_temporary()?;
                self.session.forget_numbers();
                self.session.unlock_all();
                Ok("DISCARD ALL")
            }
            Discarded::Temporary => {
                self.session.drop_temporary()?;
                Ok("DISCARD TEMP")
            }
            Discarded::Sequences => {
                self.session.forget_numbers();
                Ok("DISCARD SEQUENCES")
            }
            Discarded::Plans => Ok("DISCARD PLANS"),
        }
    }

    /// Looks names up in the schemas that the settings say.
    pub(super) fn follow_search_path(&self) -> Result<(), Failure> {
        let path = self.settings.get(SEARCH_PATH).and_then(SearchPath::parse).unwrap_or_default();
        Ok(self.session.set_search_path(path)?)
    }

    /// Stops the statement when its time is up, unless the guard is dropped before. The client may choose the time, up
    /// to the limit of its role.
    pub(super) fn begin_deadline(&self) -> Deadline {
        let chosen = self.settings.milliseconds("statement_timeout").map(Duration::from_millis);
        let of_role = self.state.statements().of_role(self.caller.role.permission()).time_limit;
        let Some(limit) = chosen.into_iter().chain(of_role).min() else { return Deadline::default() };
        Deadline::start(limit, self.session.interrupt_handle(), self.io.runtime())
    }
}

/// The tag of a command that returned rows.
pub(super) fn tag_of_rows(verb: &str, count: usize) -> String {
    match verb {
        "EXPLAIN" | "SHOW" => verb.to_owned(),
        "INSERT" => format!("INSERT 0 {count}"),
        verb => format!("{verb} {count}"),
    }
}

fn has_count(verb: &str) -> bool {
    ["UPDATE", "DELETE", "COPY", "SELECT", "MERGE"].contains(&verb)
}
