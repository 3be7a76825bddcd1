//! Snapshots: a reading connection with an open read transaction. Writing chunks is in `chunk_write`.

use crate::chunk_write::page_key;
use crate::connection::Readers;
use crate::error::Attempt;
use crate::{mapping, table};
use atsdb_core::{ChunkEntry, ChunkId, ColumnId, Error, Result, Snapshot, Table, TableId, TimeRange};
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The store at the moment the read transaction began. SQLite keeps the pages it sees, whatever is written, removed
/// or reclaimed meanwhile.
pub(crate) struct SqliteSnapshot {
    // Taken out only by drop.
    connection: Mutex<Option<Connection>>,
    readers: Arc<Readers>,
}

impl SqliteSnapshot {
    pub(crate) fn new(connection: Connection, readers: Arc<Readers>) -> Self {
        Self { connection: Mutex::new(Some(connection)), readers }
    }

    fn read<T>(&self, work: impl FnOnce(&Connection) -> Attempt<T>) -> Result<T> {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = connection.as_ref().ok_or_else(|| Error::internal("the snapshot is closed"))?;
        work(connection).map_err(|failure| failure.at(self.readers.path()))
    }
}

impl Drop for SqliteSnapshot {
    fn drop(&mut self) {
        let connection = self.connection.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(connection) = connection {
            self.readers.give_back(connection);
        }
    }
}

impl fmt::Debug for SqliteSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SqliteSnapshot({})", self.readers.path().display())
    }
}

impl Snapshot for SqliteSnapshot {
    fn tables(&self) -> Result<Vec<Table>> {
        self.read(table::list)
    }

    fn chunks(&self, table: TableId, range: TimeRange) -> Result<Vec<ChunkEntry>> {
        self.read(|connection| chunks(connection, table, range))
    }

    fn mapping(&self, table: TableId, column: ColumnId, first: u32) -> Result<Vec<Vec<u8>>> {
        self.read(|connection| mapping::read(connection, table, column, first))
    }

    fn read_pages(&self, chunk: ChunkId, columns: &[ColumnId]) -> Result<Vec<Vec<u8>>> {
        self.read(|connection| pages(connection, chunk, columns))
    }
}

/// The index holds the times, so that a chunk outside the range costs no look at its row.
fn chunks(connection: &Connection, table: TableId, range: TimeRange) -> Attempt<Vec<ChunkEntry>> {
    let sql = "SELECT id, slice_start, sealed, row_count, time_min, time_max, byte_count, descriptor
               FROM atsdb_chunk INDEXED BY atsdb_chunk_slice
               WHERE stage IS NULL AND table_id = ?1
                 AND (?2 IS NULL OR time_max >= ?2) AND (?3 IS NULL OR time_min < ?3)
               ORDER BY slice_start, id";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map(params![table.0, range.start, range.end], |row| entry(row, table))?;
    let entries = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    // A damaged index may lead to a chunk twice, or in another order.
    if entries.is_sorted_by(|a, b| (a.slice_start, a.id) < (b.slice_start, b.id)) {
        return Ok(entries);
    }
    Err(Error::corrupt(format!("the list of chunks of table {} is damaged", table.0))
        .with_hint("run verify to find what is affected, and restore that from a backup")
        .into())
}

fn entry(row: &Row<'_>, table: TableId) -> rusqlite::Result<ChunkEntry> {
    Ok(ChunkEntry {
        id: ChunkId(row.get(0)?),
        table,
        slice_start: row.get(1)?,
        sealed: row.get(2)?,
        row_count: row.get(3)?,
        time_min: row.get(4)?,
        time_max: row.get(5)?,
        byte_count: row.get(6)?,
        descriptor_bytes: row.get(7)?,
    })
}

fn pages(connection: &Connection, chunk: ChunkId, columns: &[ColumnId]) -> Attempt<Vec<Vec<u8>>> {
    let sql = "SELECT payload FROM atsdb_chunk WHERE id = ?1 AND stage IS NULL";
    let payload: Option<i64> = connection.prepare_cached(sql)?.query_row([chunk.0], |row| row.get(0)).optional()?;
    let payload = payload.ok_or_else(|| Error::corrupt(format!("chunk {} is missing", chunk.0)))?;
    let mut statement = connection.prepare_cached("SELECT bytes FROM atsdb_page WHERE id = ?1")?;
    let mut pages = Vec::with_capacity(columns.len());
    for column in columns {
        let bytes = statement.query_row([page_key(payload, *column)], |row| row.get(0)).optional()?;
        let missing = || Error::corrupt(format!("the page of column {} of chunk {} is missing", column.0, chunk.0));
        pages.push(bytes.ok_or_else(missing)?);
    }
    Ok(pages)
}
