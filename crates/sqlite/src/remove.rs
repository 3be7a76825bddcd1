//! Removing a store that was created and never used.

#![expect(clippy::disallowed_methods, reason = "how long threads that end are waited for")]

use crate::connection::{AccessMode, connect, sibling_path};
use crate::error::{Attempt, Failure, primary_code};
use crate::split::folder::unavailable;
use atsdb_core::Result;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, TransactionBehavior, ffi};
use std::path::Path;
use std::time::Duration;

/// The maximum number of pauses, and the length of each, to wait for threads of this process that are about to end and
/// may still have the store open.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(50);

/// Removes a store in one file that has no table, or the empty file that is left if a store could not be created.
/// Returns false, and leaves the file alone, if there is a table, if another process has the store open, or if the file
/// is missing or holds something else.
///
/// # Errors
///
/// The file cannot be read, or cannot be removed.
pub fn remove_unused(path: &Path) -> Result<bool> {
    for _ in 0..ATTEMPTS {
        match remove(path) {
            Err(Failure::Sqlite(error)) if primary_code(&error) == Some(ffi::SQLITE_BUSY) => {}
            Ok(Removal::InUse) => {}
            done => return done.map(|done| done == Removal::Done).map_err(|failure| failure.into_error(path)),
        }
        std::thread::sleep(PAUSE);
    }
    Ok(false)
}

/// The result of an attempt.
#[derive(PartialEq)]
enum Removal {
    Done,
    /// There is nothing to remove.
    Nothing,
    InUse,
}

fn remove(path: &Path) -> Attempt<Removal> {
    if !path.is_file() {
        return Ok(Removal::Nothing);
    }
    // The lock on the whole file stays until the connection is closed. Every process that uses the store holds a lock.
    let mut connection = connect(path, AccessMode::WriteExclusive, false, Duration::ZERO)?;
    if !is_unused(&connection)? {
        return Ok(Removal::Nothing);
    }
    match withdraw(&mut connection) {
        Ok(true) => {}
        Ok(false) => return Ok(Removal::InUse),
        // There is no space to write that this is no store any more. A process that waits for its lock then has a file
        // that was deleted, and refuses every call.
        Err(error) if matches!(primary_code(&error), Some(ffi::SQLITE_FULL | ffi::SQLITE_IOERR)) => {
            // At its end the connection must not remove the log that another process has created meanwhile.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        }
        Err(error) => return Err(error.into()),
    }
    // A process that could not write its log to the file leaves the log and its index.
    let siblings = ["-wal", "-shm", "-journal"].map(|ending| sibling_path(path, ending));
    for file in siblings.iter().filter(|file| file.exists()) {
        std::fs::remove_file(file).map_err(|error| unavailable("remove", file, error))?;
    }
    std::fs::remove_file(path).map_err(|error| unavailable("remove", path, error))?;
    Ok(Removal::Done)
}

/// Returns whether the file holds a store without tables, or nothing.
fn is_unused(connection: &Connection) -> rusqlite::Result<bool> {
    let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    if count("SELECT count(*) FROM sqlite_schema WHERE name = 'atsdb_store'")? == 0 {
        return Ok(count("SELECT count(*) FROM sqlite_schema")? == 0);
    }
    Ok(count("SELECT count(*) FROM atsdb_table")? == 0)
}

/// Removes the log, and makes the file one that holds no store. Returns false if the log is in use.
fn withdraw(connection: &mut Connection) -> rusqlite::Result<bool> {
    // The log is removed here: after the file, another process could have created a store of that name, and a log.
    let mode: String = connection.query_row("PRAGMA journal_mode = DELETE", [], |row| row.get(0))?;
    if mode != "delete" {
        return Ok(false);
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // A process that has opened the file and waits for its lock then finds no store in the file.
    transaction.execute_batch("DROP TABLE IF EXISTS atsdb_store; PRAGMA application_id = 0")?;
    transaction.commit()?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SqliteOptions, SqliteStore};
    use atsdb_core::Store as _;
    use atsdb_testkit::sample::series_table;

    #[test]
    fn only_a_store_without_tables_that_nobody_has_open_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        assert!(!remove_unused(&path).unwrap(), "there is no file");
        std::fs::write(&path, "").unwrap();
        assert!(remove_unused(&path).unwrap() && !path.exists(), "a store could not be created in it");
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE other (a)").unwrap();
        assert!(!remove_unused(&path).unwrap() && path.exists(), "it is a database of another program");
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "no database, and long enough to show it: notes about something else entirely").unwrap();
        assert!(remove_unused(&path).is_err() && path.exists());
        std::fs::remove_file(&path).unwrap();
        let store = SqliteStore::open(&path, &SqliteOptions::default()).unwrap();
        drop(store);
        assert!(remove_unused(&path).unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "neither the file nor its log is left");
        let store = SqliteStore::open(&path, &SqliteOptions::default()).unwrap();
        store.create_table(&series_table("t"), None).unwrap();
        drop(store);
        assert!(!remove_unused(&path).unwrap() && path.exists());
        assert!(SqliteStore::open(&path, &SqliteOptions::default()).is_ok(), "it is as it was");
    }
}
