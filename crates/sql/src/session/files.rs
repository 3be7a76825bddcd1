//! Files that statements write through a writer supplied by the session's owner. Nothing is opened here: a session
//! without a writer refuses every statement that names a file to write.

use crate::dml::copy::options::CopyLayout;
use crate::run::answer::AnswerRows;
use atsdb_core::Result;
use std::fmt;

/// The target to which rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteTarget<'a> {
    /// The standard output of the program.
    Stdout,
    /// A file, which appears only when it is complete. After an error an existing file with its name is unchanged.
    File {
        /// The path of the file, as in the statement.
        path: &'a str,
        /// Whether an existing file is replaced. Otherwise it is an error.
        may_replace: bool,
    },
}

/// Writes files for a session, with the rights of the program's user.
pub trait FileWriter: fmt::Debug + Send + Sync {
    /// Writes all rows in a format, and returns their number.
    fn write(&self, target: WriteTarget<'_>, layout: &CopyLayout, rows: AnswerRows) -> Result<u64>;
}
