//! Relocating the remaining chunks of a page file that is mostly garbage, so that the file can be removed.

use crate::catalogue::Catalogue;
use crate::error::Attempt;
use crate::split::files::PageFiles;
use crate::split::page_location::PageLocation;
use crate::split::page_writer::{PageWriter, PlacementGroup};
use crate::split::{fault, file};
use crate::writer::SyncMode;
use atsdb_core::ColumnId;
use rusqlite::params;
use std::collections::BTreeSet;

/// A visible chunk in the file.
struct RemainingChunk {
    chunk: i64,
    payload: i64,
    table: i64,
    slice_start: i64,
    sealed: bool,
}

/// Relocates chunks of about `byte_budget` bytes from the file, and returns their size in bytes. Chunks of stages stay:
/// they may not be on disk yet, and are soon discarded or become visible. No chunk is relocated to a `sparse` file,
/// which includes this one: it would be relocated from there again, back and forth, as long as stages keep both files.
pub(crate) fn relocate(
    store: &Catalogue,
    files: &PageFiles,
    number: i64,
    byte_budget: u64,
    sparse: &BTreeSet<i64>,
) -> Attempt<u64> {
    let left = remaining_chunks(store, number)?;
    let mut page_writer = PageWriter::new(store, files);
    let (mut relocated, mut byte_count) = (Vec::new(), 0);
    for left in left {
        if byte_count >= byte_budget {
            break;
        }
        let Some(location) = PageLocation::of(left.payload) else { continue };
        let unreadable = |error| files.failure(number, &format!("chunk {}", left.chunk), error);
        // Damaged data stays in its place, so that `verify` finds it.
        let Ok(file) = files.reader(number) else { return Ok(0) };
        let Ok(block) = file::read_block(&file, location) else { continue };
        let pages = block.read_all(&file).map_err(|error| unreadable(error.into()))?;
        let pages: Vec<(ColumnId, &[u8])> = pages.iter().map(|(column, bytes)| (*column, bytes.as_slice())).collect();
        let group = PlacementGroup::of(files, left.table, left.slice_start, left.sealed);
        relocated.push((left.payload, page_writer.append(group, &pages, sparse)?.payload()));
        byte_count += block.end - u64::from(location.offset);
    }
    if relocated.is_empty() {
        return Ok(0);
    }
    page_writer.sync_locked()?;
    fault::point("chunks are copied");
    let done = store.try_write(|writer| {
        writer.transaction(SyncMode::Deferred, |transaction| {
            let sql = "UPDATE atsdb_chunk SET payload = ?2 WHERE payload = ?1";
            let mut update = transaction.prepare_cached(sql)?;
            let sql = "INSERT INTO atsdb_garbage (payload, byte_count) VALUES (?1, 0)
                       ON CONFLICT (payload) DO NOTHING";
            let mut note = transaction.prepare_cached(sql)?;
            for (from, to) in &relocated {
                // If the chunk was removed in the meantime, its copy becomes garbage.
                let changed = update.execute(params![from, to])?;
                note.execute([if changed == 0 { to } else { from }])?;
            }
            Ok(())
        })
    });
    if let Err(failure) = done {
        return Err(page_writer.failed(failure).into());
    }
    page_writer
        .keep(&relocated.iter().filter_map(|(_, to)| PageLocation::of(*to)).map(|location| location.file).collect());
    Ok(byte_count)
}

/// The visible chunks in a page file.
fn remaining_chunks(store: &Catalogue, number: i64) -> Attempt<Vec<RemainingChunk>> {
    store.try_read(|connection| {
        let (first, end) = PageLocation::range(number);
        let sql = "SELECT id, payload, table_id, slice_start, sealed FROM atsdb_chunk
                   WHERE payload >= ?1 AND payload < ?2 AND stage IS NULL ORDER BY payload";
        let mut statement = connection.prepare_cached(sql)?;
        let rows = statement.query_map(params![first, end], |row| {
            let (chunk, payload, table) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(RemainingChunk { chunk, payload, table, slice_start: row.get(3)?, sealed: row.get(4)? })
        })?;
        Ok(rows.collect::<rusqlite::Result<Vec<_>>>()?)
    })
}
