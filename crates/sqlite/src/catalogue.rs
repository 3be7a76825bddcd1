//! The SQLite file of a store that is open: its connections, and how work gets one of them.

use crate::commit;
use crate::error::{Attempt, Failure};
use crate::readers::Readers;
use crate::split::placed::Placed;
use crate::writer::{Sync, WriteTransaction, Writer};
use atsdb_core::{Change, Error, ErrorKind, Outcome, Result};
use rusqlite::Connection;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A store in one file, or the part of a split store that decides what is visible.
#[derive(Debug)]
pub(crate) struct Catalogue {
    /// The store's file or folder.
    pub(crate) path: PathBuf,
    /// The connection that writes; none if writing is refused.
    pub(crate) writer: Option<Mutex<Writer>>,
    pub(crate) readers: Arc<Readers>,
    pub(crate) busy_timeout: Duration,
}

impl Catalogue {
    /// Whether writing is possible.
    pub(crate) fn can_write(&self) -> bool {
        self.writer.is_some()
    }

    /// The file or folder, for messages.
    pub(crate) fn place(&self) -> std::path::Display<'_> {
        self.path.display()
    }

    pub(crate) fn busy_timeout(&self) -> Duration {
        self.busy_timeout
    }

    /// The error for the caller.
    pub(crate) fn error(&self, failure: Failure) -> Error {
        failure.at(&self.path)
    }

    /// Works with the connection that writes; nobody else of this process does meanwhile.
    pub(crate) fn try_write<T>(&self, work: impl FnOnce(&mut Writer) -> Attempt<T>) -> Attempt<T> {
        let writer = self.writer.as_ref().ok_or_else(|| {
            Error::new(ErrorKind::ReadOnly, format!("the store {} is open for reading only", self.path.display()))
                .with_hint("open it without read_only, with permission to write the file and its directory")
        })?;
        // A panic while it was held left no transaction: it is rolled back when unwinding.
        let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
        writer.renew()?;
        let done = work(&mut writer);
        if let Err(failure) = &done {
            writer.note_failure(failure);
        }
        done
    }

    /// The same for work that makes room, or that such work needs: on a full disk it may use the reserve.
    pub(crate) fn try_free<T>(&self, work: impl FnMut(&mut Writer) -> Attempt<T>) -> Attempt<T> {
        self.try_write(|writer| writer.free(work))
    }

    /// Commits the changes. Of those that make room all may use the reserve.
    pub(crate) fn try_commit(
        &self,
        changes: &[Change],
        placed: &[Placed],
        now_ms: i64,
    ) -> Attempt<Vec<Result<Outcome>>> {
        if changes.iter().all(makes_room) {
            self.try_free(|writer| commit::commit(writer, changes, placed, now_ms))
        } else {
            self.try_write(|writer| commit::commit(writer, changes, placed, now_ms))
        }
    }

    /// Works with what is visible now.
    pub(crate) fn try_read<T>(&self, work: impl FnOnce(&Connection) -> Attempt<T>) -> Attempt<T> {
        let connection = self.readers.take()?;
        let done = work(&connection);
        self.readers.give_back(connection, done.as_ref().is_err_and(Failure::is_of_disk));
        done
    }

    /// The same; gives the error for the caller.
    pub(crate) fn write<T>(&self, work: impl FnOnce(&mut Writer) -> Attempt<T>) -> Result<T> {
        self.try_write(work).map_err(|failure| self.error(failure))
    }

    /// A transaction that makes room, or that such work needs.
    pub(crate) fn free<T>(&self, sync: Sync, work: impl Fn(&WriteTransaction<'_>) -> Attempt<T>) -> Result<T> {
        self.try_free(|writer| writer.transaction(sync, &work)).map_err(|failure| self.error(failure))
    }

    /// Works in one write transaction.
    pub(crate) fn transaction<T>(
        &self,
        sync: Sync,
        work: impl FnOnce(&WriteTransaction<'_>) -> Attempt<T>,
    ) -> Result<T> {
        self.write(|writer| writer.transaction(sync, work))
    }

    /// Works with what is visible now; gives the error for the caller.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Connection) -> Attempt<T>) -> Result<T> {
        self.try_read(work).map_err(|failure| self.error(failure))
    }
}

/// Whether a change takes more away than it adds: rows go, and at most a note of that comes.
fn makes_room(change: &Change) -> bool {
    const NOTE_BYTES_MAX: u64 = 64 << 10;
    let added = change.add.iter().map(|chunk| chunk.descriptor.byte_count()).sum::<u64>();
    let removes = !change.remove.is_empty() || !change.drop.is_empty();
    removes && change.stage.is_none() && change.amend.is_empty() && added <= NOTE_BYTES_MAX
}
