//! The interface through which the catalogue lists connections, and through which its queries end statements and
//! sessions.

use crate::pg::error::PgError;
use crate::pg::wire::outgoing::TransactionStatus;
use std::net::IpAddr;

/// The connection that runs the query, and the others its user may see.
pub(in crate::pg) trait Activity {
    /// The prepared statements of the connection.
    fn prepared_statements(&self) -> Vec<PreparedEntry>;

    /// The cursors and the named portals of the connection.
    fn cursors(&self) -> Vec<CursorEntry>;

    /// The time at which the server started, in nanoseconds since 1970.
    fn started_ns(&self) -> i64;

    /// The databases that the user may know of.
    fn databases(&self) -> Vec<DatabaseEntry>;

    /// The sessions, and the statements of other protocols, that the user may see.
    fn backends(&self) -> Vec<Backend>;

    /// Exports the snapshot of the open transaction, and returns its name.
    ///
    /// Errors: 25P01 without a transaction.
    fn export_snapshot(&self) -> Result<String, PgError>;

    /// Interrupts the statement that runs under a process number. Returns `false` if there is no such process.
    ///
    /// Errors: 42501 if it belongs to another user.
    fn cancel(&self, process: i32) -> Result<bool, PgError>;

    /// Ends the session with a process number; what [`cancel`](Self::cancel) says holds here, too.
    fn terminate(&self, process: i32) -> Result<bool, PgError>;
}

/// A database of the server.
pub(in crate::pg) struct DatabaseEntry {
    pub(in crate::pg) number: i64,
    pub(in crate::pg) name: String,
    /// Whether it is that of the connection.
    pub(in crate::pg) is_own: bool,
}

/// A cursor, or a named portal.
pub(in crate::pg) struct CursorEntry {
    pub(in crate::pg) name: String,
    pub(in crate::pg) text: String,
    /// The time at which it was created, in nanoseconds since 1970.
    pub(in crate::pg) created_ns: i64,
    pub(in crate::pg) is_holdable: bool,
    pub(in crate::pg) is_scrollable: bool,
    pub(in crate::pg) is_binary: bool,
}

/// A prepared statement.
pub(in crate::pg) struct PreparedEntry {
    pub(in crate::pg) name: String,
    pub(in crate::pg) text: String,
    /// The time at which it was prepared, in nanoseconds since 1970.
    pub(in crate::pg) prepared_ns: i64,
    pub(in crate::pg) parameter_types: Vec<u32>,
    pub(in crate::pg) is_from_sql: bool,
}

/// A session, or a statement without a session. Times are in nanoseconds since 1970.
pub(in crate::pg) struct Backend {
    pub(in crate::pg) process: i32,
    pub(in crate::pg) user: Option<String>,
    pub(in crate::pg) application: String,
    pub(in crate::pg) address: Option<IpAddr>,
    pub(in crate::pg) started_ns: Option<i64>,
    /// The state between statements, and since when; `None` for a statement without a session.
    pub(in crate::pg) idle: Option<(TransactionStatus, i64)>,
    /// The text of the statement that runs, and when it began.
    pub(in crate::pg) running: Option<(String, i64)>,
}
