//! The interface that a server's crate implements: connections, and the few differences between dialects.

use crate::error::{Attempt, Failure};
use atsdb_core::store::Finding;
use atsdb_core::{Durability, Error};
use std::fmt;

/// A parameter of a statement.
#[derive(Debug, Clone, Copy)]
pub enum Value<'a> {
    /// An integer.
    Int(i64),
    /// Text.
    Text(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(value: &'a str) -> Self {
        Self::Text(value)
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(value: &'a [u8]) -> Self {
        Self::Bytes(value)
    }
}

/// A value of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// NULL.
    Null,
    /// An integer.
    Int(i64),
    /// Bytes, or text whose encoding the client does not check.
    Bytes(Vec<u8>),
}

/// A row of a result.
#[derive(Debug)]
pub struct Row(pub Vec<Cell>);

impl Row {
    /// Returns the integer in a column.
    pub fn int(&self, column: usize) -> Attempt<i64> {
        match self.0.get(column) {
            Some(Cell::Int(value)) => Ok(*value),
            _ => Err(self.unexpected(column, "an integer")),
        }
    }

    /// Returns the integer in a column as a smaller or unsigned type.
    pub fn number<T: TryFrom<i64>>(&self, column: usize) -> Attempt<T> {
        T::try_from(self.int(column)?).map_err(|_| self.unexpected(column, "a number in range"))
    }

    /// Takes the bytes of a column.
    pub fn bytes(&mut self, column: usize) -> Attempt<Vec<u8>> {
        match self.0.get_mut(column) {
            Some(Cell::Bytes(value)) => Ok(std::mem::take(value)),
            _ => Err(self.unexpected(column, "bytes")),
        }
    }

    /// Takes the text of a column.
    pub fn text(&mut self, column: usize) -> Attempt<String> {
        String::from_utf8(self.bytes(column)?).map_err(|_| self.unexpected(column, "text"))
    }

    fn unexpected(&self, column: usize, expected: &str) -> Failure {
        Failure::Refused(Error::corrupt(format!("column {column} of the store's answer is not {expected}")))
    }
}

/// The overhead of each parameter of a statement, in bytes.
const VALUE_BYTES: usize = 16;

/// Returns the maximum size in bytes of a statement as it is sent to the server.
pub fn statement_bytes(sql: &str, values: &[Value<'_>]) -> usize {
    let of_value = |value: &Value<'_>| match value {
        Value::Int(_) => 0,
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
    };
    sql.len() + values.iter().map(|value| of_value(value) + VALUE_BYTES).sum::<usize>()
}

/// A connection to a server, used by one thread at a time. After a `Lost` failure it is dropped.
pub trait Connection: Send {
    /// Returns whether the server was a standby when the connection was made: it follows another server and accepts no
    /// writes.
    fn is_standby(&self) -> bool {
        false
    }

    /// The maximum size of a statement in bytes, by [`statement_bytes`]. A larger one is refused before it is sent,
    /// since a server would break the connection.
    fn statement_bytes_max(&self) -> usize;

    /// Runs a statement that changes rows, and returns how many rows it matched.
    fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Attempt<u64>;

    /// Runs a query and returns all rows.
    fn query(&mut self, sql: &str, values: &[Value<'_>]) -> Attempt<Vec<Row>>;

    /// Runs statements without parameters and results, separated by semicolons.
    fn run(&mut self, sql: &str) -> Attempt<()>;

    /// Runs a query and returns the first row.
    fn query_first(&mut self, sql: &str, values: &[Value<'_>]) -> Attempt<Option<Row>> {
        Ok(self.query(sql, values)?.into_iter().next())
    }

    /// Returns whether a query returns any row.
    fn exists(&mut self, sql: &str, values: &[Value<'_>]) -> Attempt<bool> {
        Ok(!self.query(sql, values)?.is_empty())
    }
}

/// The statements for a cluster.
#[derive(Debug, Clone, Copy)]
pub struct ClusterDialect {
    /// The query for the node that a connection has reached.
    pub node: &'static str,
    /// The statement that makes a session commit only by COMMIT.
    pub disable_autocommit: &'static str,
}

/// A server: how to connect to it, and its dialect.
pub trait Server: Send + Sync + fmt::Debug {
    /// The number of addresses of the database, at least one.
    fn address_count(&self) -> usize;

    /// Connects to an address, counted from 0. The connection's session is configured to keep the store's promises.
    fn connect(&self, address: usize) -> Attempt<Box<dyn Connection>>;

    /// The URL without secrets. Messages contain it, and it opens the store again.
    fn location(&self) -> &str;

    /// The durability of a commit with the server's settings.
    fn durability(&self) -> Durability;

    /// The statements for a cluster whose nodes hold the same tables. Only one of them is written to at a time.
    fn cluster(&self) -> Option<ClusterDialect> {
        None
    }

    /// The statement that begins a write transaction, in which each statement sees what was committed before it. The
    /// transaction must be on disk when it is committed, even if nobody sees its changes yet: otherwise a server that
    /// forgets acknowledged changes could assign indices of strings and numbers of chunks again that a running program
    /// still uses. The server ends the transaction after a long silence of its client, since others wait for its locks.
    fn begin_write(&self) -> &str;

    /// The statement that commits what `begin_write` began. It fails if that transaction is no longer open.
    fn commit(&self) -> &'static str {
        "COMMIT"
    }

    /// The statement that begins a read transaction, which sees the current state until it ends.
    fn begin_read(&self) -> &str;

    /// Returns the clause that makes a query read the current state and wait for changes that are being committed, if
    /// other servers hold the pages and take their snapshots at other moments than the catalogue's; `None` otherwise.
    fn reads_pages_later(&self) -> Option<&'static str> {
        None
    }

    /// Returns whether a part of a transaction can be rolled back.
    fn has_savepoints(&self) -> bool {
        true
    }

    /// Casts an expression of any integer type to 64 bits.
    fn integer(&self, expression: &str) -> String;

    /// An expression for `count` bytes of `bytes` from position `first`, counted from 1.
    fn substring(&self, bytes: &str, first: &str, count: &str) -> String;

    /// An expression for 16 random bytes.
    fn random_bytes(&self) -> &'static str;

    /// The size of page parts in bytes. It is fixed by the store format.
    fn part_bytes(&self) -> u64;

    /// The maximum number of parts in one statement.
    fn parts_per_statement(&self) -> usize;

    /// The query for the bytes that the tables of pages (1) and all others (0) occupy, including indexes.
    fn occupied_bytes_query(&self) -> &'static str;

    /// Makes the server free the space of deleted rows, if it does not do so by itself. It must run outside of a
    /// transaction.
    fn vacuum(&self, connection: &mut dyn Connection) -> Attempt<()>;

    /// Makes the server update its statistics of the dictionaries, if its planner would use those from when they were
    /// small.
    fn analyze_dictionaries(&self, _connection: &mut dyn Connection) -> Attempt<()> {
        Ok(())
    }

    /// Runs the server's own check of the tables.
    fn check(&self, connection: &mut dyn Connection) -> Attempt<Vec<Finding>>;
}
