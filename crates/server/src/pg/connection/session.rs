//! A session: the state of one connection.

use super::answer_at_once::AnswerAtOnce;
use super::bind::{Portal, PreparedStatement};
use super::block::Block;
use super::deadline::Deadline;
use super::io::Io;
use crate::access::caller::{Caller, Peer};
use crate::access::state::Access;
use crate::databases::list::{Databases, OpenDatabase};
use crate::pg::error::{Failure, PgError, Severity, Subject};
use crate::pg::sessions::{SessionRegistration, Sessions};
use crate::pg::settings::{SettingChange, Settings};
use crate::pg::shared_snapshots::{ExportedSnapshot, SharedSnapshots};
use crate::pg::store::StoreSession;
use crate::pg::violation::ErrorObject;
use crate::pg::wire::incoming::Incoming;
use crate::shared::holds::HeldBytes;
use crate::shared::log::LogLevel;
use crate::shared::metrics::Counter;
use crate::shared::permits::NoPermit;
use crate::shared::running::{ListedStatement, Sender};
use crate::shared::state::DatabaseState;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The state of one connection.
pub(super) struct Connection {
    pub(super) io: Io,
    pub(super) state: DatabaseState,
    pub(super) access: Access,
    pub(super) databases: Databases,
    pub(super) caller: Caller,
    pub(super) peer: Peer,
    /// The generation of the users from which the caller's role was determined.
    pub(super) generation: u64,
    /// Whether the store's session has restricted rights.
    pub(super) is_restricted: bool,
    /// Whether the open transaction has executed a statement, after which its read-only mode can no longer change.
    pub(super) has_queried: bool,
    pub(super) session: StoreSession,
    pub(super) settings: Settings,
    pub(super) user: String,
    pub(super) database: OpenDatabase,
    /// The name of the database that the client has given.
    pub(super) database_name: String,
    pub(super) key: SessionRegistration,
    /// The sessions of all connections.
    pub(super) sessions: Sessions,
    /// The snapshots that all connections have exported.
    pub(super) snapshots: SharedSnapshots,
    /// The snapshot that the open transaction has exported.
    pub(super) exported: Mutex<Option<ExportedSnapshot>>,
    pub(super) block: Block,
    /// The time limit of the statement that runs.
    pub(super) deadline: Deadline,
    /// Prepared statements by name; the unnamed one is replaced by each Parse.
    pub(super) statements: BTreeMap<String, Arc<PreparedStatement>>,
    /// Portals and cursors by name. Both are treated alike.
    pub(super) portals: BTreeMap<String, Portal>,
    /// The store's answer to the message that is handled next, if it is known already.
    pub(super) at_once: Option<AnswerAtOnce>,
    /// Whether everything up to the next Sync is skipped, because of an error.
    pub(super) skips_to_sync: bool,
    pub(super) queries: Counter,
    pub(super) errors: Counter,
    pub(super) copied_rows: Counter,
}

/// The next step of a connection after it has handled its frames: it waits for more, or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AfterWork {
    Wait,
    End,
}

impl Connection {
    /// Handles all frames that have arrived completely, on a thread that may block.
    pub(super) fn work(&mut self) -> AfterWork {
        if let Err(error) = self.follow_users() {
            return self.fail_with(&error);
        }
        loop {
            if self.key.termination().is_requested() {
                return self.fail_with(&PgError::shutting_down());
            }
            let is_query = matches!(self.io.next_kind(), Ok(Some(b'Q')));
            let message = match self.io.take() {
                Ok(Some(message)) => message,
                Ok(None) => break,
                Err(error) => {
                    // After an unreadable text, further messages can still be read. After a protocol violation they
                    // cannot.
                    if self.fail_with(&error) == AfterWork::End {
                        return AfterWork::End;
                    }
                    self.skips_to_sync = !is_query;
                    if is_query {
                        self.io.out.ready(self.block.status());
                    }
                    continue;
                }
            };
            match self.answer(message) {
                Ok(AfterWork::Wait) => {}
                Ok(AfterWork::End) | Err(Failure::Gone) => return AfterWork::End,
                Err(Failure::Error(error)) => {
                    if self.fail_with(&error) == AfterWork::End {
                        return AfterWork::End;
                    }
                }
            }
        }
        if self.io.flush().is_err() {
            return AfterWork::End;
        }
        self.io.rest();
        self.show_state();
        AfterWork::Wait
    }

    /// Shows in the list of sessions what the connection does between statements.
    pub(super) fn show_state(&self) {
        self.key.show(self.settings.get("application_name").unwrap_or_default(), self.block.status());
    }

    /// Handles one message.
    pub(super) fn answer(&mut self, message: Incoming) -> Result<AfterWork, Failure> {
        let answered = self.answer_message(message);
        // An answer of the store that was not needed, because the message failed before, is none for the next message.
        if self.at_once.take().is_some() {
            (self.io.permit, self.deadline) = (None, Deadline::default());
        }
        answered
    }

    fn answer_message(&mut self, message: Incoming) -> Result<AfterWork, Failure> {
        match message {
            Incoming::Terminate => return Ok(AfterWork::End),
            Incoming::Sync => self.sync()?,
            Incoming::Query(text) => {
                self.skips_to_sync = false;
                self.simple_query(&text)?;
            }
            // These are left over from a failed COPY.
            Incoming::CopyData(_) | Incoming::CopyDone | Incoming::CopyFail(_) => {}
            Incoming::Secret(_) => return Err(PgError::protocol("an unexpected password message").into()),
            Incoming::Flush => self.io.flush()?,
            extended if !self.skips_to_sync => {
                if let Err(failure) = self.extended(extended) {
                    self.skips_to_sync = true;
                    return Err(failure);
                }
            }
            _ => {}
        }
        Ok(AfterWork::Wait)
    }

    /// Sends an error to the client, and rolls back an implicit transaction.
    pub(super) fn fail_with(&mut self, error: &PgError) -> AfterWork {
        self.errors.increment();
        // XX is the server's own fault.
        let level = if error.code.starts_with("XX") { LogLevel::Error } else { LogLevel::Debug };
        self.log("error", level, &[("code", json!(error.code)), ("message", json!(error.message))]);
        self.fail();
        match self.object_of(error) {
            Some(object) => self.io.out.error(&error.clone().about(object)),
            None => self.io.out.error(error),
        }
        match error.severity {
            Severity::Fatal => {
                // The client may have disconnected already.
                let _ = self.io.flush();
                AfterWork::End
            }
            _ => AfterWork::Wait,
        }
    }

    /// Returns the table that an error concerns, as its definition names it.
    fn object_of(&self, error: &PgError) -> Option<ErrorObject> {
        let Some(Subject::Named(violation)) = error.subject.as_deref() else { return None };
        // A failed transaction does not show its tables.
        let tables = self.session.tables().or_else(|_| self.session.engine().tables()).ok()?;
        violation.object(&tables)
    }

    /// Writes a line about this connection to the log.
    pub(super) fn log(&self, event: &str, level: LogLevel, fields: &[(&str, Value)]) {
        let log = self.state.log();
        if !log.writes(level) {
            return;
        }
        let mut all = vec![
            ("protocol", json!("postgresql")),
            ("user", json!(self.user)),
            ("database", json!(self.database_name)),
            ("address", json!(self.peer.address.to_string())),
            ("process", json!(self.key.process)),
        ];
        all.extend_from_slice(fields);
        log.write(level, event, &all);
    }

    /// Tells the client that a statement has ended; its tag says how many rows it had.
    pub(super) fn complete(&mut self, listed: &ListedStatement, tag: &str) {
        let count = tag.rsplit(' ').next().and_then(|count| count.parse().ok());
        listed.add_rows(count.unwrap_or(0));
        self.io.out.complete(tag);
    }

    /// Puts a statement into the list of those that run.
    pub(super) fn list(&self, text: &str) -> ListedStatement {
        let sender = Sender { protocol: "postgresql", user: Some(&self.user), process: Some(self.key.process) };
        self.state.running().begin(sender, text, self.session.interrupt_handle())
    }

    /// Waits for a permit for a statement that the store executes, unless it has one. Its time begins with that.
    pub(super) fn take_permit(&mut self) -> Result<(), Failure> {
        if self.io.permit.is_none() {
            let permission = self.caller.role.permission();
            let taken = self.io.runtime().block_on(self.state.permits().take(permission));
            let permit = taken.map_err(|NoPermit| {
                PgError::error("53300", "too many statements are running").with_hint("retry later")
            })?;
            self.session.use_permit(&permit);
            self.io.permit = Some(permit);
            self.deadline = self.begin_deadline();
        }
        Ok(())
    }

    /// Ends a statement: its permit is free again.
    pub(super) fn end(&mut self, listed: ListedStatement, done: Result<(), Failure>) -> Result<(), Failure> {
        drop(listed);
        (self.io.permit, self.io.holds) = (None, HeldBytes::default());
        let done = std::mem::take(&mut self.deadline).explain(done);
        match done {
            Err(Failure::Error(error)) if error.code == "57014" && self.key.termination().is_requested() => {
                Err(PgError::shutting_down().into())
            }
            done => done,
        }
    }

    /// Sends the messages that result from a change of a setting.
    pub(super) fn report_setting(&mut self, changed: SettingChange) {
        if let Some((name, value)) = changed.report {
            self.io.out.parameter(name, &value);
        }
        if let Some(notice) = changed.notice {
            self.notice(&notice);
        }
    }

    /// Sends a notice or a warning, unless the client wants only graver messages.
    pub(super) fn notice(&mut self, notice: &PgError) {
        let is_wanted = match self.settings.get("client_min_messages") {
            Some("error") => false,
            Some("warning") => notice.severity == Severity::Warning,
            _ => true,
        };
        if is_wanted {
            self.io.out.error(notice);
        }
    }
}
