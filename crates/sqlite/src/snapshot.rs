//! Snapshots of what is visible, or of a stage: a reading connection with an open read transaction. `chunk_write`
//! writes chunks.

use crate::chunk_write::page_key;
use crate::error::Attempt;
use crate::list_rows;
use crate::readers::Readers;
use crate::split::files::PageFiles;
use crate::split::page_location::PageLocation;
use crate::{mapping, stage, table};
use atsdb_core::list::{ChunkKey, ChunkSums, ListKey};
use atsdb_core::{ChunkEntry, ChunkId, ColumnId, Error, Result, Snapshot, StageId, Table, TableId, TimeRange};
use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The store when the read transaction began. SQLite preserves the pages that it sees, whatever is written, removed or
/// reclaimed in the meantime.
pub(crate) struct SqliteSnapshot {
    // Only `drop` takes it out.
    connection: Mutex<Option<Connection>>,
    /// Whether the disk failed the connection.
    is_failed: AtomicBool,
    readers: Arc<Readers>,
    files: Option<Arc<PageFiles>>,
    stage: Option<StageId>,
}

impl SqliteSnapshot {
    /// Creates a snapshot of what is visible, or of an open stage.
    pub(crate) fn new(
        connection: Connection,
        readers: Arc<Readers>,
        files: Option<Arc<PageFiles>>,
        stage: Option<StageId>,
    ) -> Result<Self> {
        let snapshot =
            Self { connection: Mutex::new(Some(connection)), is_failed: AtomicBool::new(false), readers, files, stage };
        if let Some(stage) = stage {
            snapshot.read(|connection| stage::require(connection, stage))?;
        }
        Ok(snapshot)
    }

    fn read<T>(&self, work: impl FnOnce(&Connection) -> Attempt<T>) -> Result<T> {
        let connection = self.connection.lock();
        let connection = connection.as_ref().ok_or_else(|| Error::internal("the snapshot is closed"))?;
        work(connection).map_err(|failure| {
            self.is_failed.fetch_or(failure.is_disk_failure(), Ordering::Relaxed);
            failure.into_error(self.readers.path())
        })
    }
}

impl Drop for SqliteSnapshot {
    fn drop(&mut self) {
        let connection = self.connection.get_mut().take();
        if let Some(connection) = connection {
            self.readers.give_back(connection, *self.is_failed.get_mut());
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
        self.read(|connection| table::list(connection, self.stage))
    }

    fn chunks(&self, table: TableId, range: TimeRange) -> Result<Vec<ChunkEntry>> {
        self.read(|connection| chunks(connection, self.stage, table, range))
    }

    fn newest_chunk(&self) -> Result<ChunkId> {
        self.read(newest_chunk)
    }

    fn mapping(&self, table: TableId, column: ColumnId, first: u32) -> Result<Vec<Vec<u8>>> {
        self.read(|connection| mapping::read(connection, table, column, first))
    }

    fn read_pages(&self, chunk: ChunkId, columns: &[ColumnId]) -> Result<Vec<Vec<u8>>> {
        match self.read(|connection| pages(connection, self.stage, chunk, columns))? {
            Pages::Read(pages) => Ok(pages),
            // The connection is free for other threads in the meantime.
            Pages::At(location) => {
                let files = self.files.as_ref().ok_or_else(|| {
                    Error::corrupt(format!("chunk {} lies in a page file, but the store has none", chunk.0))
                })?;
                files.read(chunk.0, location, columns)
            }
        }
    }
}

/// All entries of the index, and the rows of those in the range. The index contains the times: a chunk outside the
/// range does not cost a row lookup, but its entry counts in the list.
const VISIBLE_CHUNKS: &str = "SELECT entry.id, entry.slice_start, entry.time_min, entry.time_max,
        chunk.id, chunk.slice_start, chunk.time_min, chunk.time_max,
        chunk.sealed, chunk.row_count, chunk.byte_count, chunk.descriptor
    FROM atsdb_chunk AS entry INDEXED BY atsdb_chunk_slice
    LEFT JOIN atsdb_chunk AS chunk NOT INDEXED ON chunk.id = entry.id AND chunk.table_id = ?1 AND chunk.stage IS NULL
        AND (?2 IS NULL OR entry.time_max >= ?2) AND (?3 IS NULL OR entry.time_min < ?3)
    WHERE entry.stage IS NULL AND entry.table_id = ?1
    ORDER BY entry.slice_start, entry.id";

/// The index leads to the rows of a stage, all of which are read.
const STAGED_CHUNKS: &str = "SELECT id, slice_start, time_min, time_max, id, slice_start, time_min, time_max,
        sealed, row_count, byte_count, descriptor
    FROM atsdb_chunk INDEXED BY atsdb_chunk_stage
    WHERE stage = ?4 AND table_id = ?1
    ORDER BY slice_start, id";

/// The primary key is read from its end.
const NEWEST: &str = "SELECT coalesce(max(id), 0), (SELECT seq FROM sqlite_sequence WHERE name = 'atsdb_chunk')
    FROM atsdb_chunk";

fn newest_chunk(connection: &Connection) -> Attempt<ChunkId> {
    let row = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(1)?));
    let (newest, given) = connection.prepare_cached(NEWEST)?.query_row([], row)?;
    if newest > given.unwrap_or(0) {
        return Err(Error::corrupt(format!("chunk {newest} has a number that was never given")).into());
    }
    Ok(ChunkId(newest))
}

fn chunks(
    connection: &Connection,
    stage: Option<StageId>,
    table: TableId,
    range: TimeRange,
) -> Attempt<Vec<ChunkEntry>> {
    let (TableId(id), TimeRange { start, end }) = (table, range);
    let (sql, values) = match &stage {
        None => (VISIBLE_CHUNKS, params![id, start, end]),
        Some(stage) => (STAGED_CHUNKS, params![id, start, end, stage.0]),
    };
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    let (mut sums, mut entries) = (ChunkSums::default(), Vec::new());
    while let Some(row) = rows.next()? {
        let key = list_rows::chunk_key(row, 0)?;
        sums.add(&key);
        if range.overlaps(key.time_min, key.time_max) {
            entries.push(entry(row, table, &key)?);
        }
    }
    let list = ListKey::chunks(stage, table);
    list_rows::check(connection, list, sums.state(table))?;
    // A damaged index may yield the chunks in another order.
    if entries.is_sorted_by(|a: &ChunkEntry, b| (a.slice_start, a.id) < (b.slice_start, b.id)) {
        return Ok(entries);
    }
    Err(damaged(&format!("{list} is in disorder")).into())
}

fn damaged(problem: &str) -> Error {
    Error::corrupt(problem).with_hint("run verify to find what is affected, and restore that from a backup")
}

/// Reads a chunk's row, which must agree with its entry in the index.
fn entry(row: &Row<'_>, table: TableId, key: &ChunkKey) -> Attempt<ChunkEntry> {
    let same = row.get::<_, Option<i64>>(4)?.is_some() && list_rows::chunk_key(row, 4)? == *key;
    if !same {
        return Err(damaged(&format!(
            "chunk {} of table {} is damaged: its row and its index disagree",
            key.id, table.0
        ))
        .into());
    }
    Ok(ChunkEntry {
        id: ChunkId(key.id),
        table,
        slice_start: key.slice_start,
        sealed: row.get(8)?,
        row_count: row.get(9)?,
        time_min: key.time_min,
        time_max: key.time_max,
        byte_count: row.get(10)?,
        descriptor_bytes: row.get(11)?,
    })
}

/// A chunk's pages, or their location outside of the catalogue.
enum Pages {
    Read(Vec<Vec<u8>>),
    At(PageLocation),
}

fn pages(connection: &Connection, stage: Option<StageId>, chunk: ChunkId, columns: &[ColumnId]) -> Attempt<Pages> {
    let mut find = connection.prepare_cached("SELECT payload FROM atsdb_chunk WHERE id = ?1 AND stage IS ?2")?;
    let payload: Option<i64> =
        find.query_row(params![chunk.0, stage.map(|stage| stage.0)], |row| row.get(0)).optional()?;
    let payload = payload.ok_or_else(|| Error::corrupt(format!("chunk {} is missing", chunk.0)))?;
    if let Some(location) = PageLocation::of(payload) {
        return Ok(Pages::At(location));
    }
    let mut statement = connection.prepare_cached("SELECT bytes FROM atsdb_page WHERE id = ?1")?;
    let mut pages = Vec::with_capacity(columns.len());
    for column in columns {
        let bytes = statement.query_row([page_key(payload, *column)], |row| row.get(0)).optional()?;
        let missing = || Error::corrupt(format!("the page of column {} of chunk {} is missing", column.0, chunk.0));
        pages.push(bytes.ok_or_else(missing)?);
    }
    Ok(Pages::Read(pages))
}
