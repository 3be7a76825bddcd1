//! `DISCARD`.

use crate::pg::error::PgError;
use atsdb::sql::{Word, Words};

/// The state of a session that `DISCARD` resets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pg) enum Discarded {
    /// Everything that a session has.
    All,
    /// Temporary tables and views.
    Temporary,
    /// The numbers that were drawn from sequences.
    Sequences,
    /// Plans, which are kept by the store.
    Plans,
}

impl Discarded {
    pub(super) fn of(mut words: Words<'_>) -> Result<Self, PgError> {
        let discarded = match words.next() {
            Some(Word::Name(name)) if name == "all" => Self::All,
            Some(Word::Name(name)) if name == "temp" || name == "temporary" => Self::Temporary,
            Some(Word::Name(name)) if name == "plans" => Self::Plans,
            Some(Word::Name(name)) if name == "sequences" => Self::Sequences,
            other => return Err(words.unexpected(other).into()),
        };
        words.end()?;
        Ok(discarded)
    }
}
