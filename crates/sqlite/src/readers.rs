//! The pool of reading connections.

use crate::connection::{AccessMode, connect};
use crate::error::Attempt;
use crate::open_files::OpenFiles;
use crate::table::TableList;
use atsdb_core::chunk_list::ChunkLists;
use parking_lot::Mutex;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::time::Duration;

const READER_CACHE_KIB: i64 = 4 << 10;
/// The maximum number of idle connections that are kept.
const READERS_KEPT_MAX: usize = 8;

/// The reading connections. Each is used by one snapshot at a time.
#[derive(Debug)]
pub(crate) struct Readers {
    path: PathBuf,
    files: OpenFiles,
    access: AccessMode,
    /// Whether the rows of small chunks have their pages.
    has_row_pages: bool,
    busy_timeout: Duration,
    idle: Mutex<Vec<Connection>>,
    /// The chunk lists that they read last.
    lists: ChunkLists,
    /// The tables that they read last.
    tables: TableList,
}

impl Readers {
    pub(crate) fn new(
        path: &Path,
        files: OpenFiles,
        access: AccessMode,
        has_row_pages: bool,
        busy_timeout: Duration,
    ) -> Self {
        let (path, idle) = (path.to_owned(), Mutex::default());
        let (lists, tables) = (ChunkLists::default(), TableList::default());
        Self { path, files, access, has_row_pages, busy_timeout, idle, lists, tables }
    }

    /// The open files, which their paths must still name.
    pub(crate) fn files(&self) -> &OpenFiles {
        &self.files
    }

    /// Returns whether the rows of small chunks have their pages.
    pub(crate) fn has_row_pages(&self) -> bool {
        self.has_row_pages
    }

    /// The store's file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The chunk lists that were read last.
    pub(crate) fn lists(&self) -> &ChunkLists {
        &self.lists
    }

    /// The list of visible tables that was read last.
    pub(crate) fn tables(&self) -> &TableList {
        &self.tables
    }

    /// Returns a connection whose read transaction has begun.
    pub(crate) fn take(&self) -> Attempt<Connection> {
        self.files.check()?;
        let idle = self.idle.lock().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => {
                // It is opened for writing if possible, although it never writes: the log's files may have to be
                // created.
                let connection = connect(&self.path, self.access, false, self.busy_timeout)?;
                // It has the same files as the others.
                self.files.check()?;
                connection.execute_batch("PRAGMA query_only = ON")?;
                connection.pragma_update(None, "cache_size", -READER_CACHE_KIB)?;
                connection
            }
        };
        // BEGIN alone takes no snapshot; the first read does.
        connection.prepare_cached("BEGIN")?.execute([])?;
        connection.prepare_cached("SELECT 1 FROM atsdb_store LIMIT 1")?.query_row([], |_| Ok(()))?;
        Ok(connection)
    }

    /// Ends the read transaction and keeps the connection for the next one, unless the disk failed it.
    pub(crate) fn give_back(&self, connection: Connection, is_failed: bool) {
        if is_failed {
            return;
        }
        let ended = connection.prepare_cached("ROLLBACK").and_then(|mut statement| statement.execute([]));
        let mut idle = self.idle.lock();
        if ended.is_ok() && idle.len() < READERS_KEPT_MAX {
            idle.push(connection);
        }
    }
}
