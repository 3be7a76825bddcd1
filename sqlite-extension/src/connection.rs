//! Questions to the host's connection.

#![expect(unsafe_code, reason = "the connection is the host's, a pointer")]

use crate::error::{interrupted, module_error};
use rusqlite::{Connection, Result, ffi};

/// A query that does nothing for about 1,500 steps. While it runs, SQLite checks for interrupts and calls the host's
/// progress handler.
const IDLE: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100) SELECT count(*) FROM n";

/// Makes the module `atsdb_transaction` take part in the open transaction.
const TAKE_PART: &str = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.atsdb_transaction USING atsdb_transaction;
    DELETE FROM temp.atsdb_transaction WHERE ended IS NOT NULL";

/// The host's connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HostConnection(*mut ffi::sqlite3);

// SAFETY: SQLite calls the extension from one thread at a time for each connection, and only then is the pointer used.
unsafe impl Send for HostConnection {}
// SAFETY: the same.
unsafe impl Sync for HostConnection {}

impl HostConnection {
    /// # Safety
    ///
    /// The connection stays open as long as this is used.
    pub(crate) unsafe fn new(db: *mut ffi::sqlite3) -> Self {
        Self(db)
    }

    /// Uses the connection.
    pub(crate) fn with<T>(self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        // SAFETY: the connection is open. The object does not close it.
        let connection = unsafe { Connection::from_handle(self.0) }?;
        work(&connection)
    }

    /// Whether no transaction was begun by BEGIN or SAVEPOINT.
    pub(crate) fn is_autocommit(self) -> bool {
        // SAFETY: the connection is open.
        unsafe { ffi::sqlite3_get_autocommit(self.0) != 0 }
    }

    /// Makes SQLite report the end of the open transaction to the module `atsdb_transaction`.
    pub(crate) fn follow_transaction(self) -> Result<()> {
        self.with(|host| host.execute_batch(TAKE_PART)).map_err(|error| {
            module_error(format!(
                "cannot take part in the transaction: {error} (allow the connection to write to its schema temp, or \
                 read outside of a transaction)"
            ))
        })
    }

    /// An error if the statement that runs was interrupted, or if the progress handler asks for its end.
    pub(crate) fn check_interrupt(self) -> Result<()> {
        let done = self.with(|connection| connection.query_row(IDLE, [], |_| Ok(())));
        match done {
            Err(error) if error.sqlite_error_code() == Some(ffi::ErrorCode::OperationInterrupted) => Err(interrupted()),
            // An authorizer of the host may refuse the query; then nothing is known.
            _ => Ok(()),
        }
    }
}
