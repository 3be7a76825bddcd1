//! Files that statements write through a writer supplied by the session's owner. Nothing is opened here: a session
//! without a writer refuses every statement that names a file to write.

use crate::dml::copy::options::CopyOptions;
use crate::run::answer::Rows;
use atsdb_core::Result;
use std::fmt;

/// Writes files for a session, with the rights of the program's user.
pub trait FileWriter: fmt::Debug + Send + Sync {
    /// Writes all rows into a file, and returns their number. With `copy`, the rows are written as PostgreSQL's `COPY`
    /// writes them, otherwise in the format that the file's extension names. The file appears only when it is complete;
    /// after an error an existing file with its name is unchanged. An existing file is replaced only with
    /// `may_replace`.
    fn write(&self, path: &str, may_replace: bool, copy: Option<&CopyOptions>, rows: Rows) -> Result<u64>;
}
