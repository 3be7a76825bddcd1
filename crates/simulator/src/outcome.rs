//! The results of actions.

use crate::compare::{SeenDatabase, SeenTable};
use atsdb_core::{Error, Result};
use atsdb_testkit::faulty::Fails;

/// The result of a successful action.
#[derive(Debug)]
pub(crate) enum Answer {
    Done,
    /// A batch with the same name was committed before.
    Duplicate,
    /// There was nothing to act on: no transaction, no appender, no such column.
    Nothing,
    /// A table or a rollup was read by SQL: the names of its columns, and its rows, sorted.
    Rows(Vec<String>, Vec<Vec<Option<i64>>>),
    /// A table was read.
    Table(Box<SeenTable>),
    /// All tables were read.
    Tables(SeenDatabase),
}

/// The outcome of one action.
#[derive(Debug)]
pub(crate) struct Observed {
    pub(crate) outcome: Result<Answer, Error>,
    /// Whether its process ended during the action.
    pub(crate) has_crashed: bool,
    /// How a call of the store failed, if one did.
    pub(crate) failed: Option<Fails>,
}

impl Observed {
    /// The outcome of an action without a fault.
    pub(crate) fn done(answer: Answer) -> Self {
        Self { outcome: Ok(answer), has_crashed: false, failed: None }
    }
}
