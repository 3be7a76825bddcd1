//! What a server's crate provides: connections, and the few places where dialects differ.

use crate::error::{Attempt, Failure};
use atsdb_core::store::Finding;
use atsdb_core::{Durability, Error};
use std::fmt;

/// A value that a statement is given.
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

/// A value of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// NULL.
    Null,
    /// An integer.
    Int(i64),
    /// Bytes, or text whose encoding the client does not check.
    Bytes(Vec<u8>),
}

/// A row of an answer.
#[derive(Debug)]
pub struct Row(pub Vec<Cell>);

impl Row {
    /// The integer in a column.
    pub fn int(&self, column: usize) -> Attempt<i64> {
        match self.0.get(column) {
            Some(Cell::Int(value)) => Ok(*value),
            _ => Err(self.unexpected(column, "an integer")),
        }
    }

    /// The integer in a column, as a smaller or unsigned type.
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

    fn unexpected(&self, column: usize, wanted: &str) -> Failure {
        Failure::Refused(Error::corrupt(format!("column {column} of the store's answer is not {wanted}")))
    }
}

/// What a statement weighs besides its text and its values, for each value.
const VALUE_BYTES: usize = 16;

/// How many bytes a statement has on its way to the server, at most.
pub fn statement_bytes(sql: &str, values: &[Value<'_>]) -> usize {
    let of_value = |value: &Value<'_>| match value {
        Value::Int(_) => 0,
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
    };
    sql.len() + values.iter().map(|value| of_value(value) + VALUE_BYTES).sum::<usize>()
}

/// A connection to a server, used by one thread at a time. After an error that is `Lost` it is thrown away.
pub trait Connection: Send {
    /// Whether the server was a standby when it was connected to: it follows another one and takes no writes.
    fn is_standby(&self) -> bool {
        false
    }

    /// The most bytes of a statement, by [`statement_bytes`], that the server takes. A larger one is refused before it is
    /// sent: a server would break the connection.
    fn statement_bytes_max(&self) -> usize;

    /// Runs a statement that changes rows; gives how many it found.
    fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Attempt<u64>;

    /// Asks; gives the whole answer.
    fn query(&mut self, sql: &str, values: &[Value<'_>]) -> Attempt<Vec<Row>>;

    /// Runs statements without values and answers, separated by semicolons.
    fn run(&mut self, sql: &str) -> Attempt<()>;

    /// The first row of the answer.
    fn query_first(&mut self, sql: &str, values: &[Value<'_>]) -> Attempt<Option<Row>> {
        Ok(self.query(sql, values)?.into_iter().next())
    }

    /// Whether there is an answer.
    fn exists(&mut self, sql: &str, values: &[Value<'_>]) -> Attempt<bool> {
        Ok(!self.query(sql, values)?.is_empty())
    }
}

/// What is asked and told on a cluster.
#[derive(Debug, Clone, Copy)]
pub struct ClusterDialect {
    /// The question which node a connection has reached.
    pub node: &'static str,
    /// Sets a session so that nothing is committed without COMMIT.
    pub only_by_commit: &'static str,
}

/// A server: how to connect to it, and its dialect.
pub trait Server: Send + Sync + fmt::Debug {
    /// Under how many addresses the database can be reached; at least one.
    fn address_count(&self) -> usize;

    /// A connection to one of them, counted from 0, that is set up: the session's settings do what the store promises.
    fn connect(&self, address: usize) -> Attempt<Box<dyn Connection>>;

    /// The URL, without secrets: what messages name, and what opens the store again.
    fn place(&self) -> &str;

    /// What a commit survives, as the server is set.
    fn durability(&self) -> Durability;

    /// What is asked and told where nodes of a cluster hold the same tables. Only one of them is written to at a time.
    fn cluster(&self) -> Option<ClusterDialect> {
        None
    }

    /// Begins a transaction in which each statement sees what was committed before it. It must be on disk when it is
    /// committed, also where nobody sees it yet: a server that forgot what it had acknowledged would, when it is back,
    /// meet a program that still knows the indices of strings and numbers of chunks, and give them to others. The server
    /// ends it when its client has been silent for long: others wait for its locks.
    fn begin_write(&self) -> &str;

    /// Commits what `begin_write` began; fails if it is not that any more.
    fn commit(&self) -> &'static str {
        "COMMIT"
    }

    /// Begins a transaction that sees the present state until it ends.
    fn begin_read(&self) -> &str;

    /// Where that state is of one moment for the catalogue and of a little later for the pages: what makes a question wait
    /// for changes that are being committed.
    fn reads_pages_later(&self) -> Option<&'static str> {
        None
    }

    /// Whether a part of a transaction can be undone.
    fn has_savepoints(&self) -> bool {
        true
    }

    /// An expression of any integer type as 64 bits.
    fn integer(&self, expression: &str) -> String;

    /// `count` bytes of `bytes` from position `first`, which counts from 1.
    fn substring(&self, bytes: &str, first: &str, count: &str) -> String;

    /// 16 random bytes.
    fn random(&self) -> &'static str;

    /// In how many bytes pages are cut: a promise of the store's format.
    fn part_bytes(&self) -> u64;

    /// How many rows of that many bytes one statement may carry.
    fn parts_per_statement(&self) -> usize;

    /// The question what the tables of pages (1), and all others (0), occupy: bytes, indexes included.
    fn occupied(&self) -> &'static str;

    /// Has the server free what was deleted, where it does not do so by itself. Not in a transaction.
    fn vacuum(&self, connection: &mut dyn Connection) -> Attempt<()>;

    /// Has the server count what lies in the dictionaries, where it plans by what it knew of them when they were small.
    fn look_at_dictionaries(&self, _connection: &mut dyn Connection) -> Attempt<()> {
        Ok(())
    }

    /// The server's own check of the tables.
    fn check(&self, connection: &mut dyn Connection) -> Attempt<Vec<Finding>>;
}
