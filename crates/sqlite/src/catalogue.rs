//! The SQLite file of an open store: its connections, and how callers get one of them.

use crate::commit;
use crate::error::{Attempt, Failure};
use crate::readers::Readers;
use crate::split::placed_pages::PlacedPages;
use crate::writer::{SyncMode, WriteTransaction, Writer};
use atsdb_core::{Change, CommitOutcome, Error, ErrorKind, Result};
use parking_lot::Mutex;
use rusqlite::Connection;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A store in one file, or the catalogue of a split store. It decides what is visible.
#[derive(Debug)]
pub(crate) struct Catalogue {
    /// The store's file or folder.
    pub(crate) path: PathBuf,
    /// The writing connection; `None` if writing is refused.
    pub(crate) writer: Option<Mutex<Writer>>,
    /// Whether the options ask for reading only. Otherwise only the system can refuse writing.
    pub(crate) read_only: bool,
    pub(crate) readers: Arc<Readers>,
    pub(crate) busy_timeout: Duration,
}

impl Catalogue {
    /// Returns whether writing is possible.
    pub(crate) fn can_write(&self) -> bool {
        self.writer.is_some()
    }

    /// The file or folder, for messages.
    pub(crate) fn location(&self) -> std::path::Display<'_> {
        self.path.display()
    }

    pub(crate) fn busy_timeout(&self) -> Duration {
        self.busy_timeout
    }

    /// Converts a failure to the error for the caller.
    pub(crate) fn error(&self, failure: Failure) -> Error {
        failure.into_error(&self.path)
    }

    /// Runs work on the writing connection, which only one thread of this process uses at a time.
    pub(crate) fn try_write<T>(&self, work: impl FnOnce(&mut Writer) -> Attempt<T>) -> Attempt<T> {
        let writer = self.writer.as_ref().ok_or_else(|| self.refused_writing())?;
        // A panic leaves no transaction, since unwinding rolls it back.
        let mut writer = writer.lock();
        writer.files().check()?;
        writer.reconnect_if_failed()?;
        let done = work(&mut writer);
        if let Err(failure) = &done {
            writer.record_failure(failure);
        }
        done
    }

    /// The error for a write to a store that is open for reading only.
    fn refused_writing(&self) -> Error {
        let location = self.location();
        if self.read_only {
            Error::new(ErrorKind::ReadOnly, format!("the store {location} is open for reading only"))
                .with_hint("open it without --read-only (read_only in the library)")
        } else {
            Error::new(ErrorKind::ReadOnly, format!("no permission to write the store {location}"))
                .with_hint("check who may write the file and its directory, and whether the disk is mounted read-only")
        }
    }

    /// Runs work that frees space, or that such work needs: on a full disk it may use the reserve.
    pub(crate) fn try_write_on_full_disk<T>(&self, work: impl FnMut(&mut Writer) -> Attempt<T>) -> Attempt<T> {
        self.try_write(|writer| writer.free(work))
    }

    /// Commits the changes. If all of them free space, they may use the reserve.
    pub(crate) fn try_commit(
        &self,
        changes: &[Change],
        placed: &[PlacedPages],
        now_ms: i64,
    ) -> Attempt<Vec<Result<CommitOutcome>>> {
        if changes.iter().all(frees_space) {
            self.try_write_on_full_disk(|writer| commit::commit(writer, changes, placed, now_ms))
        } else {
            self.try_write(|writer| commit::commit(writer, changes, placed, now_ms))
        }
    }

    /// Runs work on a snapshot of what is visible now.
    pub(crate) fn try_read<T>(&self, work: impl FnOnce(&Connection) -> Attempt<T>) -> Attempt<T> {
        let connection = self.readers.take()?;
        let done = work(&connection);
        self.readers.give_back(connection, done.as_ref().is_err_and(Failure::is_disk_failure));
        done
    }

    /// Runs work on the writing connection and converts failures to errors.
    pub(crate) fn write<T>(&self, work: impl FnOnce(&mut Writer) -> Attempt<T>) -> Result<T> {
        self.try_write(work).map_err(|failure| self.error(failure))
    }

    /// Runs a transaction that frees space, or that such work needs.
    pub(crate) fn free<T>(&self, sync: SyncMode, work: impl Fn(&WriteTransaction<'_>) -> Attempt<T>) -> Result<T> {
        self.try_write_on_full_disk(|writer| writer.transaction(sync, &work)).map_err(|failure| self.error(failure))
    }

    /// Runs work in one write transaction.
    pub(crate) fn transaction<T>(
        &self,
        sync: SyncMode,
        work: impl FnOnce(&WriteTransaction<'_>) -> Attempt<T>,
    ) -> Result<T> {
        self.write(|writer| writer.transaction(sync, work))
    }

    /// Runs work on a snapshot of what is visible now and converts failures to errors.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Connection) -> Attempt<T>) -> Result<T> {
        self.try_read(work).map_err(|failure| self.error(failure))
    }
}

/// Returns whether a change removes more than it adds: rows are removed, and at most a record of that is added.
fn frees_space(change: &Change) -> bool {
    const NOTE_BYTES_MAX: u64 = 64 << 10;
    let added = change.add.iter().map(|chunk| chunk.descriptor.byte_count()).sum::<u64>();
    let removes = !change.remove.is_empty() || !change.drop.is_empty();
    removes && change.stage.is_none() && change.amend.is_empty() && added <= NOTE_BYTES_MAX
}
