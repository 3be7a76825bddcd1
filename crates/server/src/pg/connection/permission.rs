//! The rights of a session, which depend on its user's role and on whether its transaction is read-only.

use super::block::Block;
use super::session::Connection;
use crate::access::caller::Caller;
use crate::access::role::Role;
use crate::pg::error::{Failure, PgError, Severity};
use crate::pg::settings::TRANSACTION_READ_ONLY;
use crate::pg::statement::kind::StatementKind;
use atsdb::sql::Permission;

/// The setting for whether later transactions are read-only.
pub(super) const DEFAULT_READ_ONLY: &str = "default_transaction_read_only";

impl Connection {
    /// Checks whether users have changed since the last message. An error ends the session: its user was dropped, or
    /// the server has users now and this session has none.
    pub(super) fn follow_users(&mut self) -> Result<(), PgError> {
        let generation = self.access.generation();
        if generation == self.generation {
            return Ok(());
        }
        self.generation = generation;
        let gone = |message: String| Err(PgError::fatal("57P01", format!("terminating connection: {message}")));
        match &self.caller.user {
            None => match self.access.anybody(self.peer) {
                Some(_) => Ok(()),
                None => gone("the server has users now".to_owned()),
            },
            Some(user) => match self.access.role_of(user) {
                None => gone(format!("user \"{user}\" was dropped")),
                Some(role) => {
                    self.caller = Caller { role, ..self.caller.clone() };
                    self.settings.fix("is_superuser", if role == Role::Admin { "on" } else { "off" });
                    Ok(())
                }
            },
        }
    }

    /// Sets the rights of the store's session before a statement.
    pub(super) fn restrict(&mut self, kind: &StatementKind) {
        if self.block == Block::None {
            let default = self.settings.get(DEFAULT_READ_ONLY).unwrap_or("off").to_owned();
            self.settings.fix_now(TRANSACTION_READ_ONLY, &default);
            self.has_queried = false;
        }
        let fixes = matches!(
            kind,
            StatementKind::Query
                | StatementKind::Change(_)
                | StatementKind::Copy(_)
                | StatementKind::Declare(_)
                | StatementKind::Other
        );
        self.has_queried |= fixes;
        let role = self.caller.role;
        let is_read_only = self.is_read_only();
        match (is_read_only, role) {
            (false, Role::Admin) if !self.is_restricted => return,
            (true, Role::Write | Role::Admin) => {
                let what = match kind {
                    StatementKind::Change(verb) => *verb,
                    StatementKind::Copy(_) => "COPY FROM",
                    _ => "the statement",
                };
                let reason = format!("cannot execute {what} in a read-only transaction");
                self.session.restrict(Permission::Read, reason);
            }
            (_, role) => self.session.restrict(role.permission(), role.refusal()),
        }
        self.is_restricted = is_read_only || role != Role::Admin;
    }

    pub(super) fn is_read_only(&self) -> bool {
        self.settings.get(TRANSACTION_READ_ONLY) == Some("on")
    }

    /// `SET TRANSACTION READ ONLY` and its equivalents. Outside of a transaction it has no effect.
    pub(super) fn set_transaction_read_only(&mut self, read_only: bool) -> Result<(), Failure> {
        if matches!(self.block, Block::None) {
            return Ok(());
        }
        if !read_only && self.is_read_only() && self.has_queried {
            let message = "transaction read-write mode must be set before any query";
            return Err(PgError::new(Severity::Error, "25001", message).into());
        }
        self.settings.fix_now(TRANSACTION_READ_ONLY, if read_only { "on" } else { "off" });
        Ok(())
    }

    /// Changes a setting, and sends the resulting messages to the client.
    pub(super) fn set(&mut self, name: &str, value: Option<&str>, is_local: bool) -> Result<(), Failure> {
        if name.eq_ignore_ascii_case(TRANSACTION_READ_ONLY) {
            let value = value.unwrap_or("off");
            let read_only = crate::pg::settings::parse_boolean(value).ok_or_else(|| {
                PgError::error("22023", format!("parameter \"{TRANSACTION_READ_ONLY}\" requires a Boolean value"))
            })?;
            return self.set_transaction_read_only(read_only);
        }
        // The statements of a message are one transaction, too: an error undoes all of it.
        self.settings.begin_transaction();
        let changed = match is_local {
            true => self.settings.set_local(name, value)?,
            false => self.settings.set(name, value)?,
        };
        self.report_setting(changed);
        self.follow_search_path()
    }
}
