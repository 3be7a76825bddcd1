//! Removing page files that no chunk refers to any more.
//!
//! A file is removed in three steps, each of which a crash may interrupt. It *retires* when no chunk refers to it:
//! under its lock, one transaction removes it from `atsdb_page_file`, so that it is not written to again, and adds a
//! row to `atsdb_garbage`. Then older snapshots must end, in all processes. Then the file is deleted, and after it the
//! rows in `atsdb_garbage`.
//!
//! How is it known that no older snapshot is left? A snapshot is a read transaction of the catalogue, and SQLite copies
//! a commit from its log into the file only when no read transaction is older than that commit. So once a checkpoint
//! has passed the transaction that retired the file, no reader can see a chunk in it any more. The same checkpoint made
//! that commit durable, so a power cut cannot restore chunks whose file was deleted.

use crate::catalogue::Catalogue;
use crate::error::Attempt;
use crate::split::file::FILE_HEAD_BYTES;
use crate::split::file::PageFileError;
use crate::split::files::{FileHandle, LockedFile, PageFiles};
use crate::split::page_file_table::is_listed;
use crate::split::page_location::{PAGE_LOCATION_MIN, PageLocation, file_of};
use crate::split::reclaim_state::{PendingRemoval, ReclaimState};
use crate::split::{fault, file, relocation};
use crate::writer::SyncMode;
use atsdb_core::Result;
use atsdb_core::store::Reclaimed;
use rusqlite::{Connection, params};
use std::collections::BTreeSet;
use std::io;

/// The interval at which all files are checked for leftovers of crashes, in milliseconds.
const SWEEP_MS: u64 = 3_600_000;

/// The chunks in a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileContents {
    pub(crate) chunks: u64,
    pub(crate) bytes: u64,
}

/// Runs one step over the page files: empty ones are removed, and the chunks of those that are mostly garbage are
/// relocated.
pub(crate) fn reclaim(store: &Catalogue, files: &PageFiles, byte_budget: u64, now_ms: i64) -> Result<Reclaimed> {
    files.close_removed();
    let done = step(store, files, byte_budget.max(1), now_ms);
    done.map_err(|failure| store.error(failure))
}

fn step(store: &Catalogue, files: &PageFiles, byte_budget: u64, now_ms: i64) -> Attempt<Reclaimed> {
    let mut reclaim_state = files.reclaim_state.lock();
    let sweep = reclaim_state.swept_ms.is_none_or(|swept_ms| now_ms.abs_diff(swept_ms) >= SWEEP_MS);
    if sweep {
        remove_unknown_files(store, files)?;
    }
    let suspects = store.try_read(|connection| suspects(connection, sweep))?;
    let (mut left, mut more) = (byte_budget, false);
    // Relocating needs space. Without it, relocation waits, but empty files are removed all the same.
    let mut full = None;
    let mut sparse = BTreeSet::new();
    for number in &suspects {
        if is_sparse(store, files, *number)? {
            sparse.insert(*number);
        }
    }
    for number in suspects {
        if left == 0 {
            more = true;
            break;
        }
        let mut holds = store.try_read(|connection| file_contents(connection, number))?;
        if holds.chunks > 0 && sparse.contains(&number) {
            match relocation::relocate(store, files, number, left, &sparse) {
                Err(failure) if failure.is_full() => full = Some(failure),
                relocated => left = left.saturating_sub(relocated?),
            }
            more = left == 0;
            holds = store.try_read(|connection| file_contents(connection, number))?;
        }
        if holds.chunks == 0 {
            retire(store, files, number)?;
            left = left.saturating_sub(1);
        }
    }
    if sweep && !more && full.is_none() {
        reclaim_state.swept_ms = Some(now_ms);
    }
    let byte_count = remove_retired(store, files, &mut reclaim_state)?;
    match full {
        Some(failure) if byte_count == 0 => Err(failure),
        _ => Ok(Reclaimed { byte_count, more: more || full.is_some() }),
    }
}

/// Returns the files to check: those with garbage, or all.
fn suspects(connection: &Connection, all: bool) -> Attempt<Vec<i64>> {
    let with_garbage = format!(
        "SELECT id FROM atsdb_page_file WHERE id IN
         (SELECT {} FROM atsdb_garbage WHERE payload >= {PAGE_LOCATION_MIN})",
        file_of("payload")
    );
    let sql = if all { "SELECT id FROM atsdb_page_file" } else { with_garbage.as_str() };
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?)
}

/// Returns whether a file is mostly garbage.
fn is_sparse(store: &Catalogue, files: &PageFiles, number: i64) -> Attempt<bool> {
    let holds = store.try_read(|connection| file_contents(connection, number))?;
    let length = files.length(number)?.unwrap_or(0);
    Ok(holds.bytes < length.saturating_sub(FILE_HEAD_BYTES) / 2)
}

/// Returns the chunks, visible or staged, in a file.
pub(crate) fn file_contents(connection: &Connection, number: i64) -> Attempt<FileContents> {
    let (first, end) = PageLocation::range(number);
    let sql = "SELECT count(*), coalesce(sum(byte_count), 0) FROM atsdb_chunk
               WHERE payload >= ?1 AND payload < ?2";
    let row = |row: &rusqlite::Row<'_>| Ok(FileContents { chunks: row.get(0)?, bytes: row.get(1)? });
    Ok(connection.prepare_cached(sql)?.query_row(params![first, end], row)?)
}

/// Removes a file without chunks from the catalogue, unless a writer has locked it.
fn retire(store: &Catalogue, files: &PageFiles, number: i64) -> Attempt<()> {
    // A file that was never created, because its creator ended first, is created now: other processes respect its lock.
    let handle = files.writer(number, true).map_err(|error| files.write_failure(number, error))?;
    let locked = LockedFile::try_lock(&handle).map_err(|error| files.write_failure(number, error))?;
    let Some(_locked) = locked else { return Ok(()) };
    store.try_write_on_full_disk(|writer| {
        writer.transaction(SyncMode::Deferred, |transaction| {
            if file_contents(transaction, number)?.chunks == 0 {
                transaction.prepare_cached("DELETE FROM atsdb_page_file WHERE id = ?1")?.execute([number])?;
                let note = "INSERT OR IGNORE INTO atsdb_garbage (payload, byte_count) VALUES (?1, 0)";
                transaction.prepare_cached(note)?.execute([PageLocation { file: number, offset: 0 }.payload()])?;
            }
            Ok(())
        })
    })?;
    fault::point("a file is retired");
    files.forget(number);
    Ok(())
}

/// Returns the files that are retired and not removed yet.
fn retired(connection: &Connection) -> Attempt<Vec<i64>> {
    let sql = format!(
        "SELECT DISTINCT {} AS file FROM atsdb_garbage
         WHERE payload >= {PAGE_LOCATION_MIN} AND file NOT IN (SELECT id FROM atsdb_page_file)",
        file_of("payload")
    );
    let mut statement = connection.prepare_cached(&sql)?;
    Ok(statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?)
}

/// Removes retired files that no snapshot can need. Returns their size in bytes.
fn remove_retired(store: &Catalogue, files: &PageFiles, reclaim_state: &mut ReclaimState) -> Attempt<u64> {
    let retired = store.try_read(retired)?;
    if retired.is_empty() {
        reclaim_state.pending = None;
        return Ok(0);
    }
    // The position is read after the files, so what retired them is before it.
    let position = store.try_write(|writer| writer.checkpoint_position())?;
    let free = if position.is_all() {
        reclaim_state.pending = None;
        retired
    } else {
        match reclaim_state.pending.take() {
            Some(pending) if position.has_passed(&pending.position) => pending.files,
            Some(pending) => {
                reclaim_state.pending = Some(pending);
                return Ok(0);
            }
            None => {
                reclaim_state.pending = Some(PendingRemoval { files: retired, position });
                return Ok(0);
            }
        }
    };
    let mut byte_count = 0;
    for number in &free {
        byte_count += files.remove(*number)?;
        fault::point("a file is removed");
    }
    store.try_write_on_full_disk(|writer| {
        writer.transaction(SyncMode::Deferred, |transaction| {
            let mut forget =
                transaction.prepare_cached("DELETE FROM atsdb_garbage WHERE payload >= ?1 AND payload < ?2")?;
            for number in &free {
                let (first, end) = PageLocation::range(*number);
                forget.execute(params![first, end])?;
            }
            Ok(())
        })
    })?;
    Ok(byte_count)
}

/// Removes files of this store that its catalogue does not know. A power cut leaves them if a file's name was on disk
/// before the transaction that registered it.
fn remove_unknown_files(store: &Catalogue, files: &PageFiles) -> Attempt<()> {
    // A file is registered before it is created: one that was listed first and is unknown afterwards does not belong to
    // the store.
    let listed = files.list()?;
    let known = store.try_read(known)?;
    for number in listed.difference(&known) {
        remove_unknown_file(store, files, *number)?;
    }
    Ok(())
}

/// Removes the file, if it is still unknown once it is locked. The power cut lost its registration, so its number may
/// be assigned again at any time; the writer that gets it takes the lock before the first byte.
fn remove_unknown_file(store: &Catalogue, files: &PageFiles, number: i64) -> Attempt<()> {
    let failed = |error| files.write_failure(number, error);
    let handle = match files.writer(number, false) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => {
            return Ok(());
        }
        other => other.map_err(failed)?,
    };
    let Some(locked) = LockedFile::try_lock(&handle).map_err(failed)? else { return Ok(()) };
    let own = locked.handle().is_linked() && is_own(files, locked.handle()).map_err(failed)?;
    if own && !store.try_read(|connection| is_known(connection, number))? {
        files.remove(number)?;
    } else {
        files.forget(number);
    }
    Ok(())
}

/// Returns whether a file that the catalogue does not know belongs to this store.
fn is_own(files: &PageFiles, handle: &FileHandle) -> io::Result<bool> {
    if !file::has_head(handle.file())? {
        return Ok(true);
    }
    match file::check_head(handle.file(), files.uid, handle.number) {
        Ok(()) => Ok(true),
        Err(PageFileError::Io(error)) => Err(error),
        Err(_) => Ok(false),
    }
}

/// Returns whether the catalogue knows the file, in use or retired.
fn is_known(connection: &Connection, number: i64) -> Attempt<bool> {
    let (first, end) = PageLocation::range(number);
    let sql = "SELECT 1 FROM atsdb_garbage WHERE payload >= ?1 AND payload < ?2";
    Ok(is_listed(connection, number)? || connection.prepare_cached(sql)?.exists(params![first, end])?)
}

/// Returns the files that the catalogue knows, in use or retired.
pub(crate) fn known(connection: &Connection) -> Attempt<BTreeSet<i64>> {
    let sql = format!(
        "SELECT id FROM atsdb_page_file UNION SELECT {} FROM atsdb_garbage WHERE payload >= {PAGE_LOCATION_MIN}",
        file_of("payload")
    );
    let mut statement = connection.prepare_cached(&sql)?;
    Ok(statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<BTreeSet<i64>>>()?)
}
