//! The rights of a session's statements.

use atsdb_core::{Error, ErrorKind, Result};
use atsdb_dialect::text::verbs::{VerbKind, verb_kind};
use parking_lot::Mutex;

/// The right that a statement needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// It only reads.
    Read,
    /// It also adds, changes and removes rows.
    Change,
    /// It also creates, alters and drops tables, views, indexes and rollups.
    Define,
}

impl Permission {
    /// The right needed by a statement with this verb. A statement that begins with `WITH`, or with no word, may turn
    /// out to be an `INSERT`, which is checked when it is planned.
    pub(crate) fn needed(verb: &str) -> Self {
        match verb_kind(verb) {
            Some(VerbKind::Query | VerbKind::Transaction) => Self::Read,
            Some(VerbKind::Change) => Self::Change,
            Some(VerbKind::Definition) => Self::Define,
            None if verb.is_empty() => Self::Read,
            None => Self::Define,
        }
    }
}

/// The present rights of a session, and the reason why it has no more.
#[derive(Debug)]
pub(crate) struct Restriction(Mutex<(Permission, String)>);

impl Restriction {
    pub(crate) fn new(permission: Permission, reason: impl Into<String>) -> Self {
        Self(Mutex::new((permission, reason.into())))
    }

    pub(crate) fn set(&self, permission: Permission, reason: String) {
        *self.0.lock() = (permission, reason);
    }

    /// Refuses an operation that the session has no right to.
    pub(crate) fn require(&self, needed: Permission) -> Result<()> {
        let restriction = self.0.lock();
        match needed <= restriction.0 {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::ReadOnly, restriction.1.clone())),
        }
    }
}
