//! The store under test, and functions that every test uses.

use crate::server::ServerKind;
use atsdb_core::{Change, NewChunk, Result, Store, TableId, TimeRange};
use std::sync::mpsc::Sender;
use std::time::Duration;

/// A store on a server under test.
#[derive(Debug, Clone, Copy)]
pub struct Subject {
    /// The server's kind.
    pub kind: ServerKind,
    /// Opens the store of a URL, waiting some seconds if needed, and creates it if it does not exist.
    pub open: fn(&str) -> Result<Box<dyn Store>>,
    /// Opens it for reading.
    pub open_for_reading: fn(&str) -> Result<Box<dyn Store>>,
    /// Opens it with other limits.
    pub open_with: fn(&str, Limits) -> Result<Box<dyn Store>>,
}

/// The limits of a store's waiting.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The longest wait for other writers, or for a server that cannot be reached.
    pub busy: Duration,
    /// The longest wait for an answer, in addition to that.
    pub answer: Duration,
    /// Receives the messages about a server that is waited for while the store is opened.
    pub notices: Option<Sender<String>>,
}

impl Limits {
    pub(super) fn seconds(busy: u64, answer: u64) -> Self {
        Self { busy: Duration::from_secs(busy), answer: Duration::from_secs(answer), notices: None }
    }
}

impl Subject {
    pub(super) fn opened(&self, url: &str) -> Box<dyn Store> {
        (self.open)(url).unwrap_or_else(|error| panic!("{error}"))
    }
}

pub(super) const NOW_MS: i64 = 1_709_294_400_000;

/// Commits a chunk.
pub(super) fn append(store: &dyn Store, chunk: NewChunk) -> Result<()> {
    store.commit(&[Change { add: vec![chunk], ..Change::default() }], NOW_MS)?.remove(0).map(drop)
}

/// Returns the number of a table's chunks.
pub(super) fn count(store: &dyn Store, table: TableId) -> usize {
    store.snapshot().unwrap().chunks(table, TimeRange::ALL).unwrap().len()
}
