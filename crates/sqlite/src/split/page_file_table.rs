//! The catalogue's records of page files.

use crate::error::Attempt;
use crate::split::file::{BLOCK_HEAD_BYTES, BLOCK_PAGE_BYTES};
use crate::split::page_location::{PAGE_LOCATION_MIN, PageLocation, file_of};
use atsdb_core::StageId;
use rusqlite::{Connection, OptionalExtension, params};

/// Returns whether the catalogue has a page file of this number.
pub(crate) fn is_listed(connection: &Connection, number: i64) -> Attempt<bool> {
    Ok(connection.prepare_cached("SELECT 1 FROM atsdb_page_file WHERE id = ?1")?.exists([number])?)
}

/// The parts of a page file that are in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileUsage {
    /// The end of the last chunk's block, in bytes.
    pub(crate) chunks_end: u64,
    /// The offset from which on no location is in use, neither by a chunk nor by garbage. A power cut may preserve a
    /// garbage entry and lose its bytes; if its location were given to another chunk, that chunk would be garbage too.
    pub(crate) free: u64,
}

/// Returns how much of a page file is in use; `None` if the catalogue has no such file.
pub(crate) fn file_usage(connection: &Connection, number: i64) -> Attempt<Option<FileUsage>> {
    if !is_listed(connection, number)? {
        return Ok(None);
    }
    let (first, end) = PageLocation::range(number);
    let sql = "SELECT payload, page_count, byte_count FROM atsdb_chunk WHERE payload >= ?1 AND payload < ?2
               ORDER BY payload DESC LIMIT 1";
    let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, u64>(1)?, row.get::<_, u64>(2)?));
    let last = connection.prepare_cached(sql)?.query_row(params![first, end], row).optional()?;
    let head_end =
        |payload: i64| PageLocation::of(payload).map_or(0, |location| u64::from(location.offset)) + BLOCK_HEAD_BYTES;
    let chunks_end = last
        .map_or(0, |(payload, page_count, byte_count)| head_end(payload) + page_count * BLOCK_PAGE_BYTES + byte_count);
    let sql = "SELECT max(payload) FROM atsdb_garbage WHERE payload >= ?1 AND payload < ?2";
    let garbage: Option<i64> = connection.prepare_cached(sql)?.query_row(params![first, end], |row| row.get(0))?;
    Ok(Some(FileUsage { chunks_end, free: chunks_end.max(garbage.map_or(0, head_end)) }))
}

/// Returns the page files that contain chunks of a stage.
pub(crate) fn files_of(connection: &Connection, stage: StageId) -> Attempt<Vec<i64>> {
    let sql = format!(
        "SELECT DISTINCT {} FROM atsdb_chunk INDEXED BY atsdb_chunk_stage WHERE stage = ?1 AND payload >= {}",
        file_of("payload"),
        PAGE_LOCATION_MIN
    );
    let mut statement = connection.prepare_cached(&sql)?;
    Ok(statement.query_map([stage.0], |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?)
}
