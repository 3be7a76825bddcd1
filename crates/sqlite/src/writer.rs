//! The connection that writes.

use crate::connection::{Access, connect, log_path, prepare_to_write};
use crate::error::{Attempt, Failure, primary_code};
use crate::numbers::Numbers;
use crate::reserve::Reserve;
use atsdb_core::{ColumnId, Durability, Error, ErrorKind, TableId};
use rusqlite::{Connection, Transaction, TransactionBehavior, ffi};
use std::cell::Cell;
use std::collections::HashSet;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// After how many pages of log a commit carries them into the file: 16 MiB.
const CHECKPOINT_PAGES: i64 = 4_096;
/// The same while a stage is written: 64 MiB, as each checkpoint waits for the disk twice.
const CHECKPOINT_PAGES_STAGING: i64 = 16_384;
/// A longer log means that readers overlap so that it never starts over; then a writer waits for them a little.
const LOG_BYTES_MAX: u64 = 256 << 20;
/// How long it waits, for each `LOG_BYTES_MAX` that the log is long, and at most.
const LOG_WAIT: Duration = Duration::from_millis(500);
const LOG_WAIT_MAX: Duration = Duration::from_secs(5);
/// After how many transactions its length is looked at.
const TRANSACTIONS_PER_LOOK: u32 = 8;

/// How soon a transaction must be on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sync {
    /// When it returns, as far as the store's durability goes.
    Now,
    /// With the next one that is.
    ///
    /// In SQLite's log, `synchronous = NORMAL` leaves out only the fsync of the log at commit (`sqlite3WalFrames`
    /// syncs if `WAL_SYNC_FLAGS`). A later commit with FULL syncs the log file as a whole, these frames with it. If a
    /// checkpoint comes between, it syncs the log before and the database after it copied them
    /// (`walCheckpoint`, `CKPT_SYNC_FLAGS`, which NORMAL sets too), and only then does the log start over. So
    /// whatever a FULL commit makes visible is on disk when it returns.
    Later,
}

/// The connection that writes.
#[derive(Debug)]
pub(crate) struct Writer {
    connection: Connection,
    path: PathBuf,
    access: Access,
    /// Whether the disk has failed the connection.
    is_failed: Cell<bool>,
    /// Whether a sync failed, so that the log may have a hole on disk.
    pub(crate) has_hole: Cell<bool>,
    /// Whether the log holds commits that wait for a later sync.
    pub(crate) is_unsynced: bool,
    log_path: PathBuf,
    log_bytes_tried: u64,
    transactions_since_look: u32,
    numbers: Cell<Option<Numbers>>,
    durability: Durability,
    busy_timeout: Duration,
    synchronous: &'static str,
    checkpoint_pages: i64,
    sound: HashSet<(TableId, ColumnId)>,
    keeps_log: bool,
    reserve: Reserve,
}

impl Writer {
    pub(crate) fn new(
        connection: Connection,
        path: &Path,
        access: Access,
        reserve: Reserve,
        durability: Durability,
        busy_timeout: Duration,
    ) -> Self {
        let log_path = log_path(path);
        Self {
            connection,
            path: path.to_owned(),
            access,
            is_failed: Cell::new(false),
            has_hole: Cell::new(false),
            is_unsynced: false,
            reserve,
            log_path,
            log_bytes_tried: 0,
            transactions_since_look: 0,
            numbers: Cell::default(),
            durability,
            busy_timeout,
            synchronous: "",
            checkpoint_pages: 0,
            sound: HashSet::new(),
            keeps_log: false,
        }
    }

    /// Notes what a failure means for what comes next.
    pub(crate) fn note_failure(&self, failure: &Failure) {
        if failure.is_of_disk() {
            self.is_failed.set(true);
        }
        if failure.is_of_sync() {
            self.has_hole.set(true);
        }
    }

    /// Opens the connection anew if the disk has failed it: nothing that it may have kept of that is used again.
    pub(crate) fn renew(&mut self) -> Attempt<()> {
        if !self.is_failed.get() {
            return Ok(());
        }
        let connection = connect(&self.path, self.access, false, self.busy_timeout)?;
        // SQLite opens a file for reading that it cannot open for writing.
        if connection.is_readonly("main")? {
            let message = format!("cannot open {} for writing again", self.path.display());
            let error = Error::new(ErrorKind::Unavailable, message);
            return Err(error.with_hint("check that you may write the file and its directory").into());
        }
        prepare_to_write(&connection)?;
        // It reads before the other one goes. Were that the last one, SQLite would forget how much of the log counts, and
        // find a commit in it that was told to have failed.
        connection.query_row("SELECT count(*) FROM atsdb_store", [], |_| Ok(()))?;
        self.connection = connection;
        self.numbers.take();
        self.synchronous = "";
        self.is_failed.set(false);
        Ok(())
    }

    /// The connection, for what needs no transaction.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// What is kept for a full disk.
    pub(crate) fn reserve(&self) -> &Reserve {
        &self.reserve
    }

    /// The write-ahead log.
    pub(crate) fn log_path(&self) -> &Path {
        &self.log_path
    }

    /// What an acknowledged commit survives.
    pub(crate) fn durability(&self) -> Durability {
        self.durability
    }

    /// Whether the index of a dictionary's strings was found to lead to all of them.
    pub(crate) fn is_sound(&self, table: TableId, column: ColumnId) -> bool {
        self.sound.contains(&(table, column))
    }

    /// It was.
    pub(crate) fn set_sound(&mut self, table: TableId, column: ColumnId) {
        self.sound.insert((table, column));
    }

    /// Whether commits leave the log as it is, however long.
    pub(crate) fn keep_log(&mut self, keeps: bool) {
        self.keeps_log = keeps;
    }

    /// Chooses when the next transactions reach the disk.
    pub(crate) fn use_sync(&mut self, sync: Sync) -> rusqlite::Result<()> {
        let synchronous = match (self.durability, sync) {
            (Durability::Off, _) => "OFF",
            (Durability::Normal, _) | (Durability::Full, Sync::Later) => "NORMAL",
            (Durability::Full, Sync::Now) => "FULL",
        };
        if self.synchronous != synchronous {
            self.connection.pragma_update(None, "synchronous", synchronous)?;
            self.synchronous = synchronous;
        }
        self.checkpoint_pages = match sync {
            Sync::Now => CHECKPOINT_PAGES,
            Sync::Later => CHECKPOINT_PAGES_STAGING,
        };
        Ok(())
    }

    /// Runs the work in one write transaction: all of it, or nothing after an error. On a full disk, what it wrote to the
    /// log is given back.
    pub(crate) fn transaction<T>(
        &mut self,
        sync: Sync,
        work: impl FnOnce(&WriteTransaction<'_>) -> Attempt<T>,
    ) -> Attempt<T> {
        let done = self.try_transaction(sync, work);
        if done.as_ref().is_err_and(Failure::is_full) {
            self.cut_log();
        }
        done
    }

    fn try_transaction<T>(&mut self, sync: Sync, work: impl FnOnce(&WriteTransaction<'_>) -> Attempt<T>) -> Attempt<T> {
        self.use_sync(sync)?;
        self.mend_log()?;
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let transaction = WriteTransaction { connection: &self.connection, numbers: &self.numbers, committed: false };
        let done = work(&transaction)?;
        transaction.commit()?;
        self.is_unsynced = self.durability != Durability::Full || sync == Sync::Later;
        self.after_commit();
        Ok(done)
    }

    /// Runs the work in one read transaction.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Connection) -> Attempt<T>) -> Attempt<T> {
        let transaction = Transaction::new_unchecked(&self.connection, TransactionBehavior::Deferred)?;
        work(&transaction)
    }

    /// Carries the log into the file as far as readers allow, and cuts it if none needs it. Waits for nobody.
    pub(crate) fn checkpoint(&self, cut: bool) -> Attempt<()> {
        let mode = if cut { "TRUNCATE" } else { "PASSIVE" };
        self.checkpoint_within(mode, Duration::ZERO)
    }

    fn checkpoint_within(&self, mode: &str, wait: Duration) -> Attempt<()> {
        self.mend_log()?;
        self.connection.busy_timeout(wait)?;
        // That it could not finish is told by a row, or by SQLITE_BUSY; neither is a failure here.
        let done = self.connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(()));
        self.connection.busy_timeout(self.busy_timeout)?;
        match done {
            Err(error) if primary_code(&error) == Some(ffi::SQLITE_BUSY) => Ok(()),
            Err(error) => {
                let failure = Failure::Sqlite(error);
                // Some callers are done, and have nobody to tell.
                self.note_failure(&failure);
                Err(failure)
            }
            Ok(()) => Ok(()),
        }
    }

    /// What follows each commit, which is done whatever becomes of this.
    pub(crate) fn after_commit(&mut self) {
        if !self.keeps_log && self.log_frames().is_ok_and(|frames| frames >= self.checkpoint_pages) {
            let _ = self.checkpoint(false);
        }
        self.bound_log();
    }

    /// How many frames of the log count.
    pub(crate) fn log_frames(&self) -> rusqlite::Result<i64> {
        self.connection.prepare_cached("PRAGMA wal_checkpoint(NOOP)")?.query_row([], |row| row.get(1))
    }

    /// Looks at what lies beside the file now and then. Keeps the log from growing without end under readers that overlap:
    /// SQLite's own checkpoints never find the moment without any of them, so once in a while a writer waits until the
    /// oldest are gone. A reader that stays for minutes holds the log whatever is done: the next try comes only when it has
    /// grown by half.
    fn bound_log(&mut self) {
        self.transactions_since_look += 1;
        if self.transactions_since_look < TRANSACTIONS_PER_LOOK {
            return;
        }
        self.transactions_since_look = 0;
        self.fill_reserve();
        let length = std::fs::metadata(&self.log_path).map_or(0, |metadata| metadata.len());
        if length <= LOG_BYTES_MAX {
            self.log_bytes_tried = 0;
        } else if length >= self.log_bytes_tried + self.log_bytes_tried / 2 {
            self.log_bytes_tried = length;
            // The commit is done whatever becomes of this; the next one tries again.
            let excess = u32::try_from(length / LOG_BYTES_MAX).unwrap_or(u32::MAX);
            let _ = self.checkpoint_within("TRUNCATE", LOG_WAIT.saturating_mul(excess).min(LOG_WAIT_MAX));
        }
    }
}

/// A write transaction that has begun. What is not committed is rolled back when it goes, also by a panic.
#[derive(Debug)]
pub(crate) struct WriteTransaction<'a> {
    connection: &'a Connection,
    /// The writer's; forgotten by whoever rolls back.
    pub(crate) numbers: &'a Cell<Option<Numbers>>,
    committed: bool,
}

impl Deref for WriteTransaction<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}

impl WriteTransaction<'_> {
    fn commit(mut self) -> rusqlite::Result<()> {
        self.prepare_cached("COMMIT")?.execute([])?;
        self.committed = true;
        Ok(())
    }
}

impl Drop for WriteTransaction<'_> {
    fn drop(&mut self) {
        if self.committed {
            return;
        }
        self.numbers.take();
        // SQLite may have rolled back by itself. Should it fail, the next transaction cannot begin, and says so.
        if !self.is_autocommit() {
            let _ = self.execute_batch("ROLLBACK");
        }
    }
}
