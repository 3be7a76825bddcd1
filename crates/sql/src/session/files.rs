//! Files that statements write, as the session's owner does it. Nothing is opened here: a session without a writer
//! refuses every statement that names a file to write.

use crate::run::answer::Rows;
use atsdb_core::Result;
use std::fmt;

/// Writes files for a session: whoever runs the program may name them.
pub trait FileWriter: fmt::Debug + Send + Sync {
    /// Writes all rows into a file, in the format that its ending says, and says how many they were. The file is there
    /// when all of it is; after an error whatever had its name still has. A file that is there is replaced only with
    /// `may_replace`.
    fn write(&self, path: &str, may_replace: bool, rows: Rows) -> Result<u64>;
}
