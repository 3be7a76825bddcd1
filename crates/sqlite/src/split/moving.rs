//! Moving the chunks that are left in a page file that is mostly garbage, so that the file can go.

use crate::catalogue::Catalogue;
use crate::error::Attempt;
use crate::split::files::PageFiles;
use crate::split::place::Place;
use crate::split::placing::{Group, Placing};
use crate::split::{fault, file};
use crate::writer::Sync;
use atsdb_core::ColumnId;
use rusqlite::params;
use std::collections::BTreeSet;

/// A visible chunk that lies in the file.
struct Left {
    chunk: i64,
    payload: i64,
    table: i64,
    slice_start: i64,
    sealed: bool,
}

/// Moves chunks of about so many bytes out of the file; gives how many. Chunks of stages stay: what they hold may not be on
/// disk yet, and they go or become visible soon. No chunk is moved into a `sparse` file, which this one is, too: it would be
/// moved out of there again, and back, for as long as stages keep both files.
pub(crate) fn step(
    store: &Catalogue,
    files: &PageFiles,
    number: i64,
    byte_budget: u64,
    sparse: &BTreeSet<i64>,
) -> Attempt<u64> {
    let left = store.try_read(|connection| {
        let (first, end) = Place::range(number);
        let sql = "SELECT id, payload, table_id, slice_start, sealed FROM atsdb_chunk
                   WHERE payload >= ?1 AND payload < ?2 AND stage IS NULL ORDER BY payload";
        let mut statement = connection.prepare_cached(sql)?;
        let rows = statement.query_map(params![first, end], |row| {
            let (chunk, payload, table) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(Left { chunk, payload, table, slice_start: row.get(3)?, sealed: row.get(4)? })
        })?;
        Ok(rows.collect::<rusqlite::Result<Vec<_>>>()?)
    })?;
    let mut placing = Placing::new(store, files);
    let (mut moved, mut byte_count) = (Vec::new(), 0);
    for left in left {
        if byte_count >= byte_budget {
            break;
        }
        let Some(place) = Place::of(left.payload) else { continue };
        let unreadable = |error| files.failure(number, &format!("chunk {}", left.chunk), error);
        // What is damaged stays where it is, for verify to find.
        let Ok(file) = files.reader(number) else { return Ok(0) };
        let Ok(block) = file::read_block(&file, place) else { continue };
        let pages = block.read_all(&file).map_err(|error| unreadable(error.into()))?;
        let pages: Vec<(ColumnId, &[u8])> = pages.iter().map(|(column, bytes)| (*column, bytes.as_slice())).collect();
        let group = Group::of(files, left.table, left.slice_start, left.sealed);
        moved.push((left.payload, placing.append(group, &pages, sparse)?.payload()));
        byte_count += block.end - u64::from(place.offset);
    }
    if moved.is_empty() {
        return Ok(0);
    }
    placing.sync_held()?;
    fault::point("chunks are copied");
    let done = store.try_write(|writer| {
        writer.transaction(Sync::Later, |transaction| {
            let sql = "UPDATE atsdb_chunk SET payload = ?2 WHERE payload = ?1";
            let mut update = transaction.prepare_cached(sql)?;
            let sql = "INSERT INTO atsdb_garbage (payload, byte_count) VALUES (?1, 0)
                       ON CONFLICT (payload) DO NOTHING";
            let mut note = transaction.prepare_cached(sql)?;
            for (from, to) in &moved {
                // A chunk that went meanwhile leaves its copy behind.
                let changed = update.execute(params![from, to])?;
                note.execute([if changed == 0 { to } else { from }])?;
            }
            Ok(())
        })
    });
    if let Err(failure) = done {
        return Err(placing.failed(failure).into());
    }
    placing.keep(&moved.iter().filter_map(|(_, to)| Place::of(*to)).map(|place| place.file).collect());
    Ok(byte_count)
}
