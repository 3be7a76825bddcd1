//! Snapshots, of what is visible or of a stage: a connection with a transaction that sees one moment. Writing chunks is in
//! `chunk_write`.

use crate::connection::{Connection, Row, Value};
use crate::directory::Directory;
use crate::error::{Attempt, Failure};
use crate::pool::{Pool, Session};
use crate::{mapping, pages, stage, table};
use atsdb_core::{ChunkEntry, ChunkId, ColumnId, Error, Result, Snapshot, StageId, Table, TableId, TimeRange};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The store at the moment the transaction began. The server keeps the rows it sees, whatever is written, removed or
/// reclaimed meanwhile.
pub(crate) struct ServerSnapshot {
    // Taken out by drop, or when the connection breaks.
    session: Mutex<Option<Session>>,
    pool: Arc<Pool>,
    stage: Option<StageId>,
}

impl ServerSnapshot {
    /// Of what is visible, or of what lies in a stage that is open.
    pub(crate) fn new(pool: Arc<Pool>, stage: Option<StageId>) -> Result<Self> {
        let session = pool.begin_read().map_err(Failure::into_error)?;
        let snapshot = Self { session: Mutex::new(Some(session)), pool, stage };
        if let Some(stage) = stage {
            snapshot.read(|connection| stage::require(connection, stage))?;
        }
        Ok(snapshot)
    }

    fn read<T>(&self, work: impl FnOnce(&mut dyn Connection) -> Attempt<T>) -> Result<T> {
        let mut held = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let session = held.as_mut().ok_or_else(|| {
            let message =
                format!("the connection to {} broke, and with it what was being read", self.pool.server().place());
            Error::new(atsdb_core::ErrorKind::Unavailable, message).with_hint("ask again")
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
        if let Some(session) = self.session.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            self.pool.end_read(session);
        }
    }
}

impl fmt::Debug for ServerSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerSnapshot({})", self.pool.server().place())
    }
}

impl Snapshot for ServerSnapshot {
    fn tables(&self) -> Result<Vec<Table>> {
        self.read(|connection| table::list(connection, self.stage))
    }

    fn chunks(&self, table: TableId, range: TimeRange) -> Result<Vec<ChunkEntry>> {
        self.read(|connection| chunks(connection, self.stage, table, range))
    }

    fn newest_chunk(&self) -> Result<ChunkId> {
        let sql = "SELECT id FROM atsdb_chunk WHERE stage = 0 ORDER BY id DESC LIMIT 1";
        self.read(|connection| Ok(ChunkId(connection.query_first(sql, &[])?.map_or(Ok(0), |row| row.int(0))?)))
    }

    fn mapping(&self, table: TableId, column: ColumnId, first: u32) -> Result<Vec<Vec<u8>>> {
        self.read(|connection| mapping::read(connection, table, column, first))
    }

    fn read_pages(&self, chunk: ChunkId, columns: &[ColumnId]) -> Result<Vec<Vec<u8>>> {
        self.read(|connection| {
            let sql = "SELECT payload, sealed, pages FROM atsdb_chunk WHERE id = $1 AND stage = $2";
            let asked = [chunk.0.into(), table::stage_number(self.stage).into()];
            let mut row = connection
                .query_first(sql, &asked)?
                .ok_or_else(|| Error::corrupt(format!("chunk {} is missing", chunk.0)))?;
            let directory = Directory::from_bytes(&row.bytes(2)?)?;
            let place = (row.int(0)?, row.int(1)? != 0);
            pages::read(connection, self.pool.server(), place, &directory, (chunk.0, columns))
        })
    }
}

/// The index holds the times, so that a chunk outside the range costs no look at its row.
const CHUNKS: &str = "SELECT id, slice_start, sealed, row_count, time_min, time_max, byte_count, descriptor
    FROM atsdb_chunk
    WHERE stage = $1 AND table_id = $2 AND time_max >= $3 AND time_min <= $4
    ORDER BY slice_start, id";

fn chunks(
    connection: &mut dyn Connection,
    stage: Option<StageId>,
    table: TableId,
    range: TimeRange,
) -> Attempt<Vec<ChunkEntry>> {
    let first = range.start.unwrap_or(i64::MIN);
    let Some(last) = range.end.map_or(Some(i64::MAX), |end| end.checked_sub(1)) else { return Ok(Vec::new()) };
    let values = [table::stage_number(stage), table.0, first, last].map(Value::Int);
    connection.query(CHUNKS, &values)?.into_iter().map(|row| entry(row, table)).collect()
}

fn entry(mut row: Row, table: TableId) -> Attempt<ChunkEntry> {
    Ok(ChunkEntry {
        id: ChunkId(row.int(0)?),
        table,
        slice_start: row.int(1)?,
        sealed: row.int(2)? != 0,
        row_count: row.number(3)?,
        time_min: row.int(4)?,
        time_max: row.int(5)?,
        byte_count: row.number(6)?,
        descriptor_bytes: row.bytes(7)?,
    })
}
