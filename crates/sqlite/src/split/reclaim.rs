//! Removing page files that hold nothing any more.
//!
//! A file goes in three steps, each of which a crash may interrupt. It *retires* when no chunk refers to it: under its lock,
//! one transaction takes it out of `atsdb_page_file`, so that nobody writes to it again, and leaves a note in
//! `atsdb_garbage`. Then snapshots that are older must end, in all processes. Then it is removed, and after it the notes.
//!
//! How is it known that no older snapshot is left? A snapshot is a read transaction of the catalogue, and SQLite carries a
//! commit from its log into the file only when no read transaction is older than that commit. So once a checkpoint has
//! passed what took the file out, nobody can see a chunk in it any more. The same checkpoint made that commit durable, so
//! that a power cut cannot bring chunks back whose file is gone.

use crate::catalogue::Catalogue;
use crate::error::Attempt;
use crate::split::file::FILE_HEAD_BYTES;
use crate::split::file::Unreadable;
use crate::split::files::{Handle, Held, PageFiles};
use crate::split::listing::is_listed;
use crate::split::place::{PLACED, Place, file_of};
use crate::split::reclaimer::{Reclaimer, Waiting};
use crate::split::{fault, file, moving};
use crate::writer::Sync;
use atsdb_core::Result;
use atsdb_core::store::Reclaimed;
use rusqlite::{Connection, params};
use std::collections::BTreeSet;
use std::io;

/// How often all files are looked at, for what crashes left.
const SWEEP_MS: u64 = 3_600_000;

/// What chunks a file holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Holding {
    pub(crate) chunks: u64,
    pub(crate) bytes: u64,
}

/// One step over the page files: empty ones are removed, of those that are mostly garbage the rest is moved.
pub(crate) fn reclaim(store: &Catalogue, files: &PageFiles, byte_budget: u64, now_ms: i64) -> Result<Reclaimed> {
    files.close_removed();
    let done = step(store, files, byte_budget.max(1), now_ms);
    done.map_err(|failure| store.error(failure))
}

fn step(store: &Catalogue, files: &PageFiles, byte_budget: u64, now_ms: i64) -> Attempt<Reclaimed> {
    let mut reclaimer = files.reclaimer.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let sweep = reclaimer.swept_ms.is_none_or(|swept_ms| now_ms.abs_diff(swept_ms) >= SWEEP_MS);
    if sweep {
        remove_strays(store, files)?;
    }
    let suspects = store.try_read(|connection| suspects(connection, sweep))?;
    let (mut left, mut more) = (byte_budget, false);
    // Moving needs room. What there is none for waits; what is empty goes all the same.
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
        let mut holds = store.try_read(|connection| holding(connection, number))?;
        if holds.chunks > 0 && sparse.contains(&number) {
            match moving::step(store, files, number, left, &sparse) {
                Err(failure) if failure.is_full() => full = Some(failure),
                moved => left = left.saturating_sub(moved?),
            }
            more = left == 0;
            holds = store.try_read(|connection| holding(connection, number))?;
        }
        if holds.chunks == 0 {
            retire(store, files, number)?;
            left = left.saturating_sub(1);
        }
    }
    if sweep && !more && full.is_none() {
        reclaimer.swept_ms = Some(now_ms);
    }
    let byte_count = remove_retired(store, files, &mut reclaimer)?;
    match full {
        Some(failure) if byte_count == 0 => Err(failure),
        _ => Ok(Reclaimed { byte_count, more: more || full.is_some() }),
    }
}

/// The files that may be worth a look: those with garbage, or all.
fn suspects(connection: &Connection, all: bool) -> Attempt<Vec<i64>> {
    let with_garbage = format!(
        "SELECT id FROM atsdb_page_file WHERE id IN
         (SELECT {} FROM atsdb_garbage WHERE payload >= {PLACED})",
        file_of("payload")
    );
    let sql = if all { "SELECT id FROM atsdb_page_file" } else { with_garbage.as_str() };
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?)
}

/// Whether a file is mostly garbage.
fn is_sparse(store: &Catalogue, files: &PageFiles, number: i64) -> Attempt<bool> {
    let holds = store.try_read(|connection| holding(connection, number))?;
    let length = files.length(number)?.unwrap_or(0);
    Ok(holds.bytes < length.saturating_sub(FILE_HEAD_BYTES) / 2)
}

/// What chunks, visible or staged, a file holds.
pub(crate) fn holding(connection: &Connection, number: i64) -> Attempt<Holding> {
    let (first, end) = Place::range(number);
    let sql = "SELECT count(*), coalesce(sum(byte_count), 0) FROM atsdb_chunk
               WHERE payload >= ?1 AND payload < ?2";
    let row = |row: &rusqlite::Row<'_>| Ok(Holding { chunks: row.get(0)?, bytes: row.get(1)? });
    Ok(connection.prepare_cached(sql)?.query_row(params![first, end], row)?)
}

/// Takes a file without chunks out of the catalogue, unless somebody writes to it.
fn retire(store: &Catalogue, files: &PageFiles, number: i64) -> Attempt<()> {
    // One that was never made, because its maker ended first, is made now: its lock is what others respect.
    let handle = files.writer(number, true).map_err(|error| files.write_failure(number, error))?;
    let held = Held::take(&handle).map_err(|error| files.write_failure(number, error))?;
    let Some(_held) = held else { return Ok(()) };
    store.try_free(|writer| {
        writer.transaction(Sync::Later, |transaction| {
            if holding(transaction, number)?.chunks == 0 {
                transaction.prepare_cached("DELETE FROM atsdb_page_file WHERE id = ?1")?.execute([number])?;
                let note = "INSERT OR IGNORE INTO atsdb_garbage (payload, byte_count) VALUES (?1, 0)";
                transaction.prepare_cached(note)?.execute([Place { file: number, offset: 0 }.payload()])?;
            }
            Ok(())
        })
    })?;
    fault::point("a file is retired");
    files.forget(number);
    Ok(())
}

/// The files that are retired and not removed yet.
fn retired(connection: &Connection) -> Attempt<Vec<i64>> {
    let sql = format!(
        "SELECT DISTINCT {} AS file FROM atsdb_garbage
         WHERE payload >= {PLACED} AND file NOT IN (SELECT id FROM atsdb_page_file)",
        file_of("payload")
    );
    let mut statement = connection.prepare_cached(&sql)?;
    Ok(statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?)
}

/// Removes retired files that no snapshot can need; gives their bytes.
fn remove_retired(store: &Catalogue, files: &PageFiles, reclaimer: &mut Reclaimer) -> Attempt<u64> {
    let retired = store.try_read(retired)?;
    if retired.is_empty() {
        reclaimer.waiting = None;
        return Ok(0);
    }
    // The position is asked for after the files were: what retired them stands before it.
    let position = store.try_write(|writer| writer.checkpoint_position())?;
    let free = if position.is_all() {
        reclaimer.waiting = None;
        retired
    } else {
        match reclaimer.waiting.take() {
            Some(waiting) if position.has_passed(&waiting.position) => waiting.files,
            Some(waiting) => {
                reclaimer.waiting = Some(waiting);
                return Ok(0);
            }
            None => {
                reclaimer.waiting = Some(Waiting { files: retired, position });
                return Ok(0);
            }
        }
    };
    let mut byte_count = 0;
    for number in &free {
        byte_count += files.remove(*number)?;
        fault::point("a file is removed");
    }
    store.try_free(|writer| {
        writer.transaction(Sync::Later, |transaction| {
            let mut forget =
                transaction.prepare_cached("DELETE FROM atsdb_garbage WHERE payload >= ?1 AND payload < ?2")?;
            for number in &free {
                let (first, end) = Place::range(*number);
                forget.execute(params![first, end])?;
            }
            Ok(())
        })
    })?;
    Ok(byte_count)
}

/// Removes files of this store that its catalogue does not know. A power cut leaves them where a file's name was on disk
/// before the transaction that announced it.
fn remove_strays(store: &Catalogue, files: &PageFiles) -> Attempt<()> {
    // A file is announced before it is made: one that was listed first and is not known then is none of the store's.
    let listed = files.list()?;
    let known = store.try_read(known)?;
    for number in listed.difference(&known) {
        remove_stray(store, files, *number)?;
    }
    Ok(())
}

/// Removes the file, if it is still unknown once its lock is held. The power cut took its announcement, so its number may
/// be given once more at any time; whoever it is given to takes the lock before the first byte.
fn remove_stray(store: &Catalogue, files: &PageFiles, number: i64) -> Attempt<()> {
    let failed = |error| files.write_failure(number, error);
    let handle = match files.writer(number, false) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => {
            return Ok(());
        }
        other => other.map_err(failed)?,
    };
    let Some(held) = Held::take(&handle).map_err(failed)? else { return Ok(()) };
    let own = held.handle().is_linked() && is_own(files, held.handle()).map_err(failed)?;
    if own && !store.try_read(|connection| is_known(connection, number))? {
        files.remove(number)?;
    } else {
        files.forget(number);
    }
    Ok(())
}

/// Whether a file that the catalogue does not know is this store's, and not somebody else's.
fn is_own(files: &PageFiles, handle: &Handle) -> io::Result<bool> {
    if !file::has_head(handle.file())? {
        return Ok(true);
    }
    match file::check_head(handle.file(), files.uid, handle.number) {
        Ok(()) => Ok(true),
        Err(Unreadable::Io(error)) => Err(error),
        Err(_) => Ok(false),
    }
}

/// Whether the catalogue knows the file, in use or retired.
fn is_known(connection: &Connection, number: i64) -> Attempt<bool> {
    let (first, end) = Place::range(number);
    let sql = "SELECT 1 FROM atsdb_garbage WHERE payload >= ?1 AND payload < ?2";
    Ok(is_listed(connection, number)? || connection.prepare_cached(sql)?.exists(params![first, end])?)
}

/// The files that the catalogue knows, in use or retired.
pub(crate) fn known(connection: &Connection) -> Attempt<BTreeSet<i64>> {
    let sql = format!(
        "SELECT id FROM atsdb_page_file UNION SELECT {} FROM atsdb_garbage WHERE payload >= {PLACED}",
        file_of("payload")
    );
    let mut statement = connection.prepare_cached(&sql)?;
    Ok(statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<BTreeSet<i64>>>()?)
}
