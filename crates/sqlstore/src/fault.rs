//! Faults of a server, in the same words for every kind of server. Not owned: the codes by which a server reports them.
//! Each server's crate has one table of codes.

use crate::error::Failure;
use atsdb_core::{Error, ErrorKind, refusal};

/// A fault that every kind of server has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// No connection can be made, or it broke.
    NoConnection,
    /// No encrypted connection can be made.
    NoEncryption,
    /// The server closed the connection: it is shutting down, or is not ready.
    Closed,
    /// The server accepts no more connections.
    Full,
    /// The server refuses the login.
    NoLogin,
    /// The database does not exist.
    NoDatabase,
    /// The server rolled a transaction back in favour of another.
    RolledBack,
    /// Another writer held a lock for too long.
    Locked,
    /// The server's disk is full.
    DiskFull,
    /// The server is out of memory.
    OutOfMemory,
    /// The user lacks a right, or the server or the transaction is read-only.
    ReadOnly,
    /// A table or an index is damaged.
    Damaged,
}

impl Fault {
    /// The failure at `location`, the URL without secrets. `reason` is the message of the server or the client.
    pub fn at(self, location: &str, reason: &str) -> Failure {
        let unavailable = |message: String| Error::new(ErrorKind::Unavailable, message);
        match self {
            Self::NoConnection => Failure::Lost(
                unavailable(format!("no connection to {location}: {reason}"))
                    .with_hint("check that the server runs and listens there, and that this machine can reach it"),
            ),
            Self::NoEncryption => Failure::Server(
                unavailable(format!("cannot open an encrypted connection to {location}: {reason}")).with_hint(
                    "give the authority's certificate with sslrootcert=FILE, or connect unencrypted with sslmode=disable",
                ),
            ),
            Self::Closed => Failure::Lost(
                unavailable(format!("the server of {location} closed the connection: {reason}"))
                    .with_hint("retry when it is available again; this call stored nothing"),
            ),
            Self::Full => Failure::Full(
                unavailable(format!("the server of {location} accepts no more connections: {reason}"))
                    .with_hint("raise max_connections there, or use fewer programs at once"),
            ),
            Self::NoLogin => Failure::Server(
                unavailable(format!("the server of {location} refuses the login: {reason}"))
                    .with_hint("check the user and the password (URL, ATSDB_PASSWORD or ATSDB_PASSWORD_FILE)"),
            ),
            Self::NoDatabase => Failure::Server(
                Error::not_found(format!("there is no such database: {location}"))
                    .with_hint("create it first: CREATE DATABASE name"),
            ),
            Self::RolledBack => Failure::RolledBack(Error::new(
                ErrorKind::Busy,
                format!("the server of {location} rolled back a transaction in favour of another: {reason}"),
            )),
            Self::Locked => Failure::Server(
                Error::new(ErrorKind::Busy, format!("the store {location} is held by another writer"))
                    .with_hint("retry when it has finished"),
            ),
            Self::DiskFull => Failure::Server(
                unavailable(format!("disk full at the server of {location}: this call stored nothing"))
                    .with_hint("free some space there and retry; reading still works"),
            ),
            Self::OutOfMemory => {
                Failure::Server(Error::new(ErrorKind::Resources, format!("the server of {location} is out of memory")))
            }
            Self::ReadOnly => Failure::Server(
                Error::new(ErrorKind::ReadOnly, format!("the store {location} cannot be written: {reason}"))
                    .with_hint("grant the user what the store needs, or open it with read_only"),
            ),
            Self::Damaged => Failure::Server(
                Error::corrupt(format!("the store {location} is damaged: {reason}"))
                    .with_hint(refusal::VERIFY),
            ),
        }
    }
}
