//! Snapshots of what is visible, or of a stage: a connection with a read transaction. `chunk_write` writes chunks.

use crate::connection::{Cell, Connection, Row, Value};
use crate::directory::PageDirectory;
use crate::error::{Attempt, Failure};
use crate::pages::{self, PageLocation};
use crate::pool::{PAGES_RECLAIMED, Pool, Session};
use crate::{counter, list_rows, mapping, stage, table};
use atsdb_core::list::{ChunkSums, ListKey, ListState};
use atsdb_core::refusal;
use atsdb_core::{
    ChunkEntry, ChunkId, ColumnId, Counter, Error, ErrorKind, Result, Snapshot, StageId, Table, TableId, TimeRange,
};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;

/// The store when the transaction began. The server preserves the rows that it sees, whatever is written, removed or
/// reclaimed in the meantime.
pub(crate) struct ServerSnapshot {
    // It is `None` after `drop`, or after the connection breaks.
    session: Mutex<Option<Session>>,
    pool: Arc<Pool>,
    stage: Option<StageId>,
}

impl ServerSnapshot {
    /// Creates a snapshot of what is visible, or of an open stage.
    pub(crate) fn new(pool: Arc<Pool>, stage: Option<StageId>) -> Result<Self> {
        let session = pool.begin_read().map_err(Failure::into_error)?;
        let snapshot = Self { session: Mutex::new(Some(session)), pool, stage };
        if let Some(stage) = stage {
            snapshot.read(|connection| stage::require(connection, stage))?;
        }
        Ok(snapshot)
    }

    /// Reads pages that the snapshot lacks although its catalogue lists them. Their server may have committed them just
    /// after it took its snapshot, that is after the catalogue showed them; so their current state is read. Pages never
    /// change, so if they exist, they are correct. If they do not, they were reclaimed in the meantime, or they are
    /// lost.
    fn wait_for_pages(&self, location: &PageLocation, columns: &[ColumnId], waiting: &str) -> Result<Vec<Vec<u8>>> {
        let server = self.pool.server();
        let read = self
            .pool
            .without_transaction(|connection| pages::read(connection, server, location, columns, waiting))
            .map_err(Failure::into_error);
        match read {
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                let reclaimed = self.read(|connection| self.pool.has_reclaimed_since(connection, waiting))?;
                if reclaimed {
                    Err(Error::new(ErrorKind::Busy, PAGES_RECLAIMED).with_hint("retry the query"))
                } else {
                    Err(error)
                }
            }
            read => read,
        }
    }

    fn read<T>(&self, work: impl FnOnce(&mut dyn Connection) -> Attempt<T>) -> Result<T> {
        let mut held = self.session.lock();
        let session = held.as_mut().ok_or_else(|| {
            let message = format!("the connection to {} broke while reading", self.pool.server().location());
            Error::new(ErrorKind::Unavailable, message).with_hint("retry the query")
        })?;
        work(session.connection()).map_err(|failure| {
            if !matches!(failure, Failure::Refused(_)) {
                *held = None;
            }
            failure.into_error()
        })
    }
}

impl Drop for ServerSnapshot {
    fn drop(&mut self) {
        if let Some(session) = self.session.get_mut().take() {
            self.pool.end_read(session);
        }
    }
}

impl fmt::Debug for ServerSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerSnapshot({})", self.pool.server().location())
    }
}

impl Snapshot for ServerSnapshot {
    fn tables(&self) -> Result<Vec<Table>> {
        self.read(|connection| table::list(connection, self.stage))
    }

    fn table_named(&self, name: &str) -> Result<Option<Table>> {
        self.read(|connection| table::named(connection, self.stage, name))
    }

    fn chunks(&self, table: TableId, range: TimeRange) -> Result<Vec<ChunkEntry>> {
        self.read(|connection| chunks(connection, self.stage, table, range))
    }

    fn chunk_count(&self, table: TableId) -> Result<usize> {
        let recorded = self.read(|connection| list_rows::recorded(connection, ListKey::chunks(self.stage, table)))?;
        Ok(usize::try_from(recorded.count).unwrap_or_default())
    }

    fn chunks_since(&self, table: TableId, newest: ChunkId) -> Result<Vec<ChunkEntry>> {
        self.read(|connection| chunks_since(connection, self.stage, table, newest))
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
        let location = self.read(|connection| page_location(connection, chunk, self.stage))?;
        let server = self.pool.server();
        let read = self.read(|connection| pages::read(connection, server, &location, columns, ""));
        match (read, server.reads_pages_later()) {
            (Err(error), Some(waiting)) if error.kind() == ErrorKind::Corrupt => {
                self.wait_for_pages(&location, columns, waiting)
            }
            (read, _) => read,
        }
    }
}

fn page_location(connection: &mut dyn Connection, chunk: ChunkId, stage: Option<StageId>) -> Attempt<PageLocation> {
    let sql = "SELECT payload, sealed, pages FROM atsdb_chunk WHERE id = $1 AND stage = $2";
    let mut row = connection
        .query_first(sql, &[chunk.0.into(), table::stage_number(stage).into()])?
        .ok_or_else(|| refusal::chunk_missing(chunk))?;
    let directory = PageDirectory::from_bytes(&row.bytes(2)?)?;
    Ok(PageLocation { chunk: chunk.0, payload: row.int(0)?, sealed: row.int(1)? != 0, directory })
}

fn newest_chunk(connection: &mut dyn Connection) -> Attempt<ChunkId> {
    let sql = "SELECT id FROM atsdb_chunk WHERE stage = 0 ORDER BY id DESC LIMIT 1";
    let newest = connection.query_first(sql, &[])?.map_or(Ok(0), |row| row.int(0))?;
    Ok(ChunkId(newest))
}

/// The record of the list and the chunks, in one query.
const CHUNKS: &str =
    "SELECT noted.entry_count, noted.hash, chunk.id, chunk.slice_start, chunk.time_min, chunk.time_max,
        chunk.sealed, chunk.row_count, chunk.byte_count, chunk.descriptor
    FROM atsdb_list noted LEFT JOIN atsdb_chunk chunk ON chunk.stage = $1 AND chunk.table_id = $2
    WHERE noted.stage = $1 AND noted.table_id = $2 AND noted.column_id = -1";

/// The record of the list, the chunks that meet a condition, and sums over all chunks. Of the other chunks only an
/// index is read, and nothing is sent.
fn some_chunks(condition: &str) -> String {
    format!(
        "SELECT noted.entry_count, noted.hash, chunk.id, chunk.slice_start, chunk.time_min, chunk.time_max,
            chunk.sealed, chunk.row_count, chunk.byte_count, chunk.descriptor,
            every.entry_count, every.ids, every.slice_starts, every.time_mins, every.time_maxes
        FROM atsdb_list noted
        CROSS JOIN (SELECT {} FROM atsdb_chunk WHERE stage = $1 AND table_id = $2) every
        LEFT JOIN atsdb_chunk chunk
            ON chunk.stage = $1 AND chunk.table_id = $2 AND {condition}
        WHERE noted.stage = $1 AND noted.table_id = $2 AND noted.column_id = -1",
        list_rows::SUMS
    )
}

fn chunks(
    connection: &mut dyn Connection,
    stage: Option<StageId>,
    table: TableId,
    range: TimeRange,
) -> Attempt<Vec<ChunkEntry>> {
    let first = range.start.unwrap_or(i64::MIN);
    let Some(last) = range.end.map_or(Some(i64::MAX), |end| end.checked_sub(1)) else { return Ok(Vec::new()) };
    if range == TimeRange::ALL {
        return listed(connection, stage, table, CHUNKS, &[]);
    }
    let sql = some_chunks("chunk.time_max >= $3 AND chunk.time_min <= $4");
    listed(connection, stage, table, &sql, &[first, last])
}

fn chunks_since(
    connection: &mut dyn Connection,
    stage: Option<StageId>,
    table: TableId,
    newest: ChunkId,
) -> Attempt<Vec<ChunkEntry>> {
    listed(connection, stage, table, &some_chunks("chunk.id > $3"), &[newest.0])
}

/// The chunks that a query returns: [`CHUNKS`], or one of [`some_chunks`] with the values of its condition.
fn listed(
    connection: &mut dyn Connection,
    stage: Option<StageId>,
    table: TableId,
    sql: &str,
    condition: &[i64],
) -> Attempt<Vec<ChunkEntry>> {
    let mut values = vec![Value::Int(table::stage_number(stage)), Value::Int(table.0)];
    values.extend(condition.iter().copied().map(Value::Int));
    let is_all = condition.is_empty();
    let mut rows = connection.query(sql, &values)?;
    let list = ListKey::chunks(stage, table);
    let Some(row) = rows.first_mut() else {
        // There is no record yet.
        let found = list_rows::of_chunks(connection, "stage = $1 AND table_id = $2", &values[..2])?;
        list.check(found.get(&list).copied().unwrap_or_default(), ListState::default())?;
        return Ok(Vec::new());
    };
    let recorded = list_rows::state(row, 0)?;
    let mut sums = if is_all { ChunkSums::default() } else { list_rows::sums(row, 10)? };
    let mut entries = Vec::with_capacity(rows.len());
    for row in rows.into_iter().filter(|row| row.0.get(2) != Some(&Cell::Null)) {
        if is_all {
            sums.add(&list_rows::chunk_key(&row, 2)?);
        }
        entries.push(entry(row, table)?);
    }
    list.check(sums.state(table), recorded)?;
    entries.sort_unstable_by_key(|entry| (entry.slice_start, entry.id));
    Ok(entries)
}

fn entry(mut row: Row, table: TableId) -> Attempt<ChunkEntry> {
    let key = list_rows::chunk_key(&row, 2)?;
    Ok(ChunkEntry {
        id: ChunkId(key.id),
        table,
        slice_start: key.slice_start,
        sealed: row.int(6)? != 0,
        row_count: row.number(7)?,
        time_min: key.time_min,
        time_max: key.time_max,
        byte_count: row.number(8)?,
        descriptor_bytes: row.bytes(9)?,
    })
}
