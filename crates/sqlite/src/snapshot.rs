//! Snapshots of what is visible, or of a stage: a reading connection with an open read transaction. `chunk_write`
//! writes chunks.

use crate::chunk_write::page_key;
use crate::error::{Attempt, Failure};
use crate::list_rows;
use crate::readers::Readers;
use crate::row_pages;
use crate::split::files::PageFiles;
use crate::split::page_location::PageLocation;
use crate::{counter, mapping, stage, table};
use atsdb_core::chunk_list::{ChunkListReader, ChunkLists};
use atsdb_core::list::{ChunkKey, ChunkSums, ListKey, ListState};
use atsdb_core::name::same_name;
use atsdb_core::refusal;
use atsdb_core::{
    ChunkEntry, ChunkId, ColumnId, Counter, Error, Result, Snapshot, StageId, Table, TableId, TablesRecord, TimeRange,
};
use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, Row, params};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The store when the read transaction began. SQLite preserves the pages that it sees, whatever is written, removed or
/// reclaimed in the meantime.
pub(crate) struct SqliteSnapshot {
    // It is `None` only after `drop`.
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

    fn visible_chunks(&self, table: TableId, range: TimeRange, newest: ChunkId) -> Result<Vec<ChunkEntry>> {
        self.read(|connection| visible_chunks(connection, self.readers.lists(), table, range, newest))
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
        match self.stage {
            None => self.read(|connection| Ok(self.readers.tables().get(connection)?.to_vec())),
            Some(stage) => self.read(|connection| table::list(connection, Some(stage))),
        }
    }

    fn tables_recorded(&self) -> Result<Option<TablesRecord>> {
        if self.stage.is_some() {
            return Ok(None);
        }
        self.read(table::recorded).map(Some)
    }

    fn table_named(&self, name: &str) -> Result<Option<Table>> {
        match self.stage {
            None => self.read(|connection| self.readers.tables().named(connection, name)),
            Some(_) => Ok(self.tables()?.into_iter().find(|table| same_name(&table.definition.name, name))),
        }
    }

    fn chunks(&self, table: TableId, range: TimeRange) -> Result<Vec<ChunkEntry>> {
        match self.stage {
            None => self.visible_chunks(table, range, NO_CHUNK),
            Some(stage) => self.read(|connection| staged_chunks(connection, stage, table, range)),
        }
    }

    fn chunk_count(&self, table: TableId) -> Result<usize> {
        let recorded = self.read(|connection| list_rows::recorded(connection, ListKey::chunks(self.stage, table)))?;
        Ok(usize::try_from(recorded.count).unwrap_or_default())
    }

    fn chunks_since(&self, table: TableId, newest: ChunkId) -> Result<Vec<ChunkEntry>> {
        if self.stage.is_none() {
            return self.visible_chunks(table, TimeRange::ALL, newest);
        }
        let mut entries = self.chunks(table, TimeRange::ALL)?;
        entries.retain(|entry| entry.id > newest);
        Ok(entries)
    }

    fn newest_chunk(&self) -> Result<ChunkId> {
        self.read(newest_chunk)
    }

    fn mapping(&self, table: TableId, column: ColumnId, first: u32) -> Result<Vec<Vec<u8>>> {
        self.read(|connection| mapping::read(connection, table, column, first))
    }

    fn counter(&self, table: TableId, column: ColumnId) -> Result<Option<Counter>> {
        self.read(|connection| counter::read(connection, table, column))
    }

    fn read_pages(&self, chunk: ChunkId, columns: &[ColumnId]) -> Result<Vec<Vec<u8>>> {
        let has_row_pages = self.readers.has_row_pages();
        match self.read(|connection| pages(connection, has_row_pages, self.stage, chunk, columns))? {
            PageSource::Read(pages) => Ok(pages),
            // The connection is free for other threads in the meantime.
            PageSource::At(location) => {
                let files = self.files.as_ref().ok_or_else(|| {
                    Error::corrupt(format!(
                        "the pages of chunk {} are in a page file, but the store has no page files",
                        chunk.0
                    ))
                })?;
                files.read(chunk.0, location, columns)
            }
        }
    }
}

/// A number below those of all chunks.
const NO_CHUNK: ChunkId = ChunkId(0);

/// The entries of the index, which contains the times.
const KEYS: &str = "SELECT id, slice_start, time_min, time_max FROM atsdb_chunk INDEXED BY atsdb_chunk_slice
    WHERE stage IS NULL AND table_id = ?1 ORDER BY slice_start, id";

/// The entries of one slice.
const KEYS_OF_SLICE: &str = "SELECT id, slice_start, time_min, time_max FROM atsdb_chunk INDEXED BY atsdb_chunk_slice
    WHERE stage IS NULL AND table_id = ?1 AND slice_start = ?2 ORDER BY id";

/// The chunks above a number, by the primary key.
const KEYS_SINCE: &str = "SELECT id, slice_start, time_min, time_max FROM atsdb_chunk NOT INDEXED
    WHERE id > ?2 AND table_id = ?1 AND stage IS NULL ORDER BY id";

/// The chunks from one number to another.
const CHUNKS: &str = "SELECT id, slice_start, time_min, time_max, sealed, row_count, byte_count, descriptor
    FROM atsdb_chunk NOT INDEXED WHERE id BETWEEN ?2 AND ?3 AND table_id = ?1 AND stage IS NULL ORDER BY id";

/// The index leads to the rows of a stage, all of which are read.
const STAGED_CHUNKS: &str = "SELECT id, slice_start, time_min, time_max, sealed, row_count, byte_count, descriptor
    FROM atsdb_chunk INDEXED BY atsdb_chunk_stage WHERE stage = ?2 AND table_id = ?1 ORDER BY slice_start, id";

/// The primary key is read from its end.
const NEWEST: &str = "SELECT coalesce(max(id), 0), (SELECT seq FROM sqlite_sequence WHERE name = 'atsdb_chunk')
    FROM atsdb_chunk";

fn newest_chunk(connection: &Connection) -> Attempt<ChunkId> {
    let row = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(1)?));
    let (newest, last_assigned) = connection.prepare_cached(NEWEST)?.query_row([], row)?;
    if newest > last_assigned.unwrap_or(0) {
        return Err(Error::corrupt(format!("chunk {newest} has a number that was never assigned")).into());
    }
    Ok(ChunkId(newest))
}

/// The chunk list of a table, as a connection sees it.
struct ListReader<'a> {
    connection: &'a Connection,
    table: TableId,
}

impl ChunkListReader for ListReader<'_> {
    type Error = Failure;

    fn recorded(&mut self) -> Attempt<ListState> {
        list_rows::recorded(self.connection, ListKey::chunks(None, self.table))
    }

    fn newest(&mut self) -> Attempt<i64> {
        newest_chunk(self.connection).map(|chunk| chunk.0)
    }

    fn keys_since(&mut self, newest: i64) -> Attempt<Vec<ChunkKey>> {
        let mut statement = self.connection.prepare_cached(KEYS_SINCE)?;
        let keys = statement.query_map(params![self.table.0, newest], |row| list_rows::chunk_key(row, 0))?;
        Ok(keys.collect::<rusqlite::Result<_>>()?)
    }

    fn keys(&mut self, slice_start: Option<i64>) -> Attempt<Vec<ChunkKey>> {
        let mut statement = self.connection.prepare_cached(slice_start.map_or(KEYS, |_| KEYS_OF_SLICE))?;
        let key = |row: &Row<'_>| list_rows::chunk_key(row, 0);
        let keys = match slice_start {
            None => statement.query_map([self.table.0], key)?.collect::<rusqlite::Result<_>>(),
            Some(start) => statement.query_map([self.table.0, start], key)?.collect(),
        };
        Ok(keys?)
    }
}

/// Returns the visible chunks in a range of times with a number above `newest`. Only their rows are read.
fn visible_chunks(
    connection: &Connection,
    lists: &ChunkLists,
    table: TableId,
    range: TimeRange,
    newest: ChunkId,
) -> Attempt<Vec<ChunkEntry>> {
    let list = lists.read(table, &mut ListReader { connection, table })?;
    let keys: Vec<&ChunkKey> = list.overlapping(range).filter(|key| key.id > newest.0).collect();
    let mut statement = connection.prepare_cached(CHUNKS)?;
    let mut entries = Vec::with_capacity(keys.len());
    // A range without gaps has no rows of other tables, and each of its rows is in the list.
    for run in keys.chunk_by(|one, next| one.id.checked_add(1) == Some(next.id)) {
        let (first, last) = (run[0].id, run[run.len() - 1].id);
        let mut rows = statement.query_map([table.0, first, last], |row| entry(row, table))?;
        for key in run {
            let entry = rows.next().transpose()?;
            // The row must agree with the list.
            let agrees = |entry: &ChunkEntry| chunk_key_of(entry) == **key;
            entries.push(entry.filter(agrees).ok_or_else(|| {
                damaged(&format!("chunk {} of table {} is damaged: its row and its index disagree", key.id, table.0))
            })?);
        }
    }
    Ok(entries)
}

fn staged_chunks(
    connection: &Connection,
    stage: StageId,
    table: TableId,
    range: TimeRange,
) -> Attempt<Vec<ChunkEntry>> {
    let mut statement = connection.prepare_cached(STAGED_CHUNKS)?;
    let rows = statement.query_map([table.0, stage.0], |row| entry(row, table))?;
    let mut entries = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    let mut sums = ChunkSums::default();
    entries.iter().for_each(|entry| sums.add(&chunk_key_of(entry)));
    list_rows::check(connection, ListKey::chunks(Some(stage), table), sums.state(table))?;
    entries.retain(|entry| range.overlaps(entry.time_min, entry.time_max));
    Ok(entries)
}

fn damaged(problem: &str) -> Error {
    Error::corrupt(problem).with_hint(refusal::VERIFY)
}

fn chunk_key_of(entry: &ChunkEntry) -> ChunkKey {
    ChunkKey { id: entry.id.0, slice_start: entry.slice_start, time_min: entry.time_min, time_max: entry.time_max }
}

fn entry(row: &Row<'_>, table: TableId) -> rusqlite::Result<ChunkEntry> {
    let key = list_rows::chunk_key(row, 0)?;
    Ok(ChunkEntry {
        id: ChunkId(key.id),
        table,
        slice_start: key.slice_start,
        sealed: row.get(4)?,
        row_count: row.get(5)?,
        time_min: key.time_min,
        time_max: key.time_max,
        byte_count: row.get(6)?,
        descriptor_bytes: row.get(7)?,
    })
}

/// A chunk's pages, or their location outside of the catalogue.
enum PageSource {
    Read(Vec<Vec<u8>>),
    At(PageLocation),
}

fn pages(
    connection: &Connection,
    has_row_pages: bool,
    stage: Option<StageId>,
    chunk: ChunkId,
    columns: &[ColumnId],
) -> Attempt<PageSource> {
    let sql = match has_row_pages {
        true => "SELECT payload, pages FROM atsdb_chunk WHERE id = ?1 AND stage IS ?2",
        false => "SELECT payload, NULL FROM atsdb_chunk WHERE id = ?1 AND stage IS ?2",
    };
    let mut find = connection.prepare_cached(sql)?;
    let row = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let found: Option<(i64, Option<Vec<u8>>)> =
        find.query_row(params![chunk.0, stage.map(|stage| stage.0)], row).optional()?;
    let (payload, in_row) = found.ok_or_else(|| refusal::chunk_missing(chunk))?;
    if let Some(in_row) = in_row {
        return pages_in_row(&in_row, chunk, columns).map(PageSource::Read);
    }
    if let Some(location) = PageLocation::of(payload) {
        return Ok(PageSource::At(location));
    }
    let mut statement = connection.prepare_cached("SELECT bytes FROM atsdb_page WHERE id = ?1")?;
    let mut pages = Vec::with_capacity(columns.len());
    for column in columns {
        let bytes = statement.query_row([page_key(payload, *column)], |row| row.get(0)).optional()?;
        pages.push(bytes.ok_or_else(|| refusal::page_missing(chunk, *column))?);
    }
    Ok(PageSource::Read(pages))
}

fn pages_in_row(in_row: &[u8], chunk: ChunkId, columns: &[ColumnId]) -> Attempt<Vec<Vec<u8>>> {
    let pages =
        row_pages::decode(in_row).ok_or_else(|| damaged(&format!("the pages of chunk {} are damaged", chunk.0)))?;
    let mut found = Vec::with_capacity(columns.len());
    for column in columns {
        let page = pages.iter().find(|(other, _)| other == column);
        found.push(page.ok_or_else(|| refusal::page_missing(chunk, *column))?.1.to_vec());
    }
    Ok(found)
}
