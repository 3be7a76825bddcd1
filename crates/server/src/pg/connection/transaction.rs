//! Transactions as clients see them: idle, open, failed. Several statements of one message, and all statements up to a
//! Sync, form one implicit transaction. It begins with the first statement that changes something.

use super::block::Block;
use super::session::Connection;
use crate::pg::error::{Failure, PgError, Severity};
use crate::pg::statement::kind::StatementKind;
use std::borrow::Cow;

impl Connection {
    /// Prepares for a statement: checks that it may run, and begins the transaction that it needs.
    pub(super) fn enter(&mut self, kind: &StatementKind, is_one_of_several: bool) -> Result<(), Failure> {
        if self.block == Block::Failed && !kind.ends_transaction() {
            return Err(PgError::failed_transaction().into());
        }
        let prepared = self.executed(kind);
        let kind = prepared.as_ref().map_or(kind, |prepared| &prepared.kind);
        self.restrict(kind);
        if self.block == Block::None && is_one_of_several && kind.may_change() {
            self.session.execute("BEGIN")?;
            self.block = Block::Implicit;
        }
        Ok(())
    }

    /// Updates the state of the transaction after an error.
    pub(super) fn fail(&mut self) {
        match self.block {
            Block::Implicit => {
                // Without a transaction there is nothing to roll back.
                let _ = self.session.execute("ROLLBACK");
                self.block = Block::None;
            }
            Block::Explicit => self.block = Block::Failed,
            Block::None | Block::Failed => {}
        }
        if self.block == Block::None {
            self.close_portals();
            // The store accepts every search path outside of a transaction.
            let _ = self.end_settings(false);
        }
    }

    /// Commits an implicit transaction, at the end of a message or at a Sync.
    pub(super) fn settle(&mut self) -> Result<(), Failure> {
        if matches!(self.block, Block::None | Block::Implicit) {
            let held = self.hold_cursors_of_message();
            self.close_portals();
            held?;
        }
        if self.block == Block::Implicit {
            self.block = Block::None;
            self.commit_store()?;
        }
        match self.block {
            Block::None => self.end_settings(true),
            _ => Ok(()),
        }
    }

    /// Executes BEGIN, COMMIT, ROLLBACK and similar commands, and returns the command's tag.
    pub(super) fn bracket(&mut self, kind: &StatementKind, text: &str) -> Result<String, Failure> {
        let tag = match kind {
            StatementKind::Begin { read_only, tag } => {
                self.begin(*read_only)?;
                *tag
            }
            StatementKind::Commit { is_chained: true } => {
                return self.end_and_begin("COMMIT AND CHAIN", &StatementKind::Commit { is_chained: false }, text);
            }
            StatementKind::Rollback { is_chained: true } => {
                return self.end_and_begin("ROLLBACK AND CHAIN", &StatementKind::Rollback { is_chained: false }, text);
            }
            StatementKind::Commit { .. } if self.block != Block::Failed => return self.commit(),
            StatementKind::Commit { .. } | StatementKind::Rollback { .. } => {
                self.close_portals();
                self.warn_without_begin();
                let block = std::mem::replace(&mut self.block, Block::None);
                if block != Block::None {
                    self.session.execute("ROLLBACK")?;
                }
                // Earlier statements of the message may have changed settings, without a transaction of the store.
                self.end_settings(false)?;
                "ROLLBACK"
            }
            _ if self.block == Block::None => {
                let error = PgError::error("25P01", "SAVEPOINT can only be used in transaction blocks");
                return Err(error.with_hint("BEGIN first").into());
            }
            StatementKind::RollbackTo => {
                self.session.execute(text)?;
                self.block = Block::Explicit;
                self.restore_settings()?;
                "ROLLBACK"
            }
            _ => {
                self.session.execute(text)?;
                let is_release = text.trim_start().get(..7).is_some_and(|word| word.eq_ignore_ascii_case("release"));
                if is_release {
                    "RELEASE"
                } else {
                    self.settings.set_savepoint(self.session.savepoint_count().saturating_sub(1));
                    "SAVEPOINT"
                }
            }
        };
        Ok(tag.to_owned())
    }

    /// Lets the transaction read what the one reads that has exported a snapshot with this name.
    pub(super) fn set_snapshot(&self, name: &str) -> Result<(), Failure> {
        let Some(snapshot) = self.snapshots.find(self.database.number(), name) else {
            return Err(PgError::error("22023", format!("invalid snapshot identifier: \"{name}\"")).into());
        };
        if self.has_queried || !self.session.import_snapshot(&snapshot)? {
            return Err(PgError::error("25001", "SET TRANSACTION SNAPSHOT must be called before any query").into());
        }
        Ok(())
    }

    /// Ends a transaction and begins the next one, which is read-only if this one is. `verb` is the whole command.
    fn end_and_begin(&mut self, verb: &str, end: &StatementKind, text: &str) -> Result<String, Failure> {
        if matches!(self.block, Block::None | Block::Implicit) {
            return Err(PgError::error("25P01", format!("{verb} can only be used in transaction blocks")).into());
        }
        let is_read_only = self.is_read_only();
        let tag = self.bracket(end, text)?;
        self.has_queried = false;
        self.begin(Some(is_read_only))?;
        Ok(tag)
    }

    /// Locks tables against changes of their definitions. A transaction reads the definitions and the rows of one
    /// snapshot anyway, so the lock only checks the names.
    pub(super) fn lock_shared(&self, tables: &[Vec<String>]) -> Result<String, Failure> {
        if self.block == Block::None {
            return Err(PgError::error("25P01", "LOCK TABLE can only be used in transaction blocks").into());
        }
        for parts in tables {
            if self.session.table(parts)?.definition.sequence {
                let message = format!("cannot lock relation \"{}\"", parts.last().map_or("", String::as_str));
                let detail = Some("This operation is not supported for sequences.".into());
                return Err(PgError { detail, ..PgError::error("42809", message) }.into());
            }
        }
        Ok("LOCK TABLE".to_owned())
    }

    fn begin(&mut self, read_only: Option<bool>) -> Result<(), Failure> {
        match self.block {
            Block::None => drop(self.session.execute("BEGIN")?),
            Block::Implicit => {}
            Block::Explicit | Block::Failed => self.warn("25001", "there is already a transaction in progress"),
        }
        self.block = Block::Explicit;
        self.settings.begin_transaction();
        if let Some(read_only) = read_only {
            self.set_transaction_read_only(read_only)?;
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<String, Failure> {
        let held = self.hold_cursors();
        self.close_portals();
        self.warn_without_begin();
        // The transaction ends, whether it succeeds or not.
        let block = std::mem::replace(&mut self.block, Block::None);
        if held.is_err() {
            if block != Block::None {
                self.session.execute("ROLLBACK")?;
            }
            self.end_settings(false)?;
            held?;
        } else if block == Block::None {
            self.end_settings(true)?;
        } else {
            let committed = self.commit_store();
            self.end_settings(committed.is_ok())?;
            committed?;
        }
        Ok("COMMIT".to_owned())
    }

    /// Commits the store's transaction. It is over whether this succeeds or not, so that no later statement can become
    /// a part of it.
    fn commit_store(&mut self) -> Result<(), Failure> {
        let committed = self.session.execute("COMMIT");
        if committed.is_err() && self.session.in_transaction() {
            self.session.execute("ROLLBACK")?;
        }
        committed?;
        if let Some(notice) = self.session.take_notice() {
            self.warn("01000", notice);
        }
        Ok(())
    }

    fn warn_without_begin(&mut self) {
        if matches!(self.block, Block::None | Block::Implicit) {
            self.warn("25P01", "there is no transaction in progress");
        }
    }

    /// Restores the settings that the transaction has changed, and takes back its exported snapshot.
    fn end_settings(&mut self, is_committed: bool) -> Result<(), Failure> {
        *self.exported.get_mut() = None;
        if !self.settings.in_transaction() {
            return Ok(());
        }
        for (name, value) in self.settings.end_transaction(is_committed) {
            self.io.out.parameter(name, &value);
        }
        self.follow_search_path()
    }

    /// Restores the settings that have changed since the savepoint to which the session has returned.
    fn restore_settings(&mut self) -> Result<(), Failure> {
        for (name, value) in self.settings.return_to_savepoint(self.session.savepoint_count()) {
            self.io.out.parameter(name, &value);
        }
        self.follow_search_path()
    }

    pub(super) fn warn(&mut self, code: &'static str, message: impl Into<Cow<'static, str>>) {
        self.notice(&PgError::new(Severity::Warning, code, message));
    }
}
