//! Removing a store that was created and never used.

use crate::connection::{AccessMode, connect};
use crate::error::{Attempt, Failure, primary_code};
use crate::split::folder::unavailable;
use atsdb_core::Result;
use rusqlite::{TransactionBehavior, ffi};
use std::path::Path;
use std::time::Duration;

/// Removes a store in one file that has no table. Returns false, and leaves the file alone, if there is a table, if
/// another process has the store open, or if the file is missing or no store.
///
/// # Errors
///
/// The file cannot be read, or cannot be removed.
pub fn remove_unused(path: &Path) -> Result<bool> {
    match remove(path) {
        Err(Failure::Sqlite(error)) if primary_code(&error) == Some(ffi::SQLITE_BUSY) => Ok(false),
        removed => removed.map_err(|failure| failure.into_error(path)),
    }
}

fn remove(path: &Path) -> Attempt<bool> {
    if !path.is_file() {
        return Ok(false);
    }
    // The lock on the whole file stays until the connection is closed. Every process that uses the store holds a lock.
    let mut connection = connect(path, AccessMode::WriteExclusive, false, Duration::ZERO)?;
    let is_store = "SELECT count(*) FROM sqlite_schema WHERE name = 'atsdb_store'";
    if connection.query_row(is_store, [], |row| row.get::<_, i64>(0))? == 0 {
        return Ok(false);
    }
    if connection.query_row("SELECT count(*) FROM atsdb_table", [], |row| row.get::<_, i64>(0))? > 0 {
        return Ok(false);
    }
    // The log is removed here: after the file, another process could have created a store of that name, and a log.
    let mode: String = connection.query_row("PRAGMA journal_mode = DELETE", [], |row| row.get(0))?;
    if mode != "delete" {
        return Ok(false);
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // A process that has opened the file and waits for its lock then finds no store in the file.
    transaction.execute_batch("DROP TABLE atsdb_store; PRAGMA application_id = 0")?;
    transaction.commit()?;
    std::fs::remove_file(path).map_err(|error| unavailable("remove", path, error))?;
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
