//! The writing connection.

use crate::chunk_numbers::ReservedNumbers;
use crate::connection::{AccessMode, connect, log_path, prepare_to_write};
use crate::error::{Attempt, Failure, primary_code};
use crate::log_ahead::LogAhead;
use crate::open_files::OpenFiles;
use crate::reserve::Reserve;
use atsdb_core::{ColumnId, Durability, Error, ErrorKind, TableId};
use rusqlite::hooks::Wal;
use rusqlite::{Connection, Transaction, TransactionBehavior, ffi};
use std::cell::Cell;
use std::collections::HashSet;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

/// The number of log pages after which a commit runs a checkpoint: 16 MiB.
const CHECKPOINT_PAGES: i64 = 4_096;
/// The number of log pages after which a checkpoint runs while a stage is written: 64 MiB, since each checkpoint waits
/// for the disk twice.
const CHECKPOINT_PAGES_STAGING: i64 = 16_384;
/// The number of pages that are written after a checkpoint before the next one: 1 MiB. As long as readers keep the log
/// from being restarted, a commit that ran one each time would wait for the disk twice more.
const CHECKPOINT_PAGES_AGAIN: i64 = 256;
/// The length of the log in bytes beyond which a writer waits a little: overlapping readers keep the log from being
/// restarted.
const LOG_BYTES_MAX: u64 = 256 << 20;
/// The time for which the writer waits for each multiple of `LOG_BYTES_MAX` in the log's length, and the maximum.
const LOG_WAIT: Duration = Duration::from_millis(500);
const LOG_WAIT_MAX: Duration = Duration::from_secs(5);
/// The number of log pages between two checks of the log's length and of the reserve: 1 MiB.
const PAGES_PER_LOOK: i64 = 256;

/// The time at which a transaction must be on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SyncMode {
    /// When the commit returns, as far as the store's durability requires.
    Immediate,
    /// With the next immediate transaction.
    ///
    /// In SQLite's log, `synchronous = NORMAL` only omits the fsync of the log at commit (`sqlite3WalFrames` syncs if
    /// `WAL_SYNC_FLAGS`). A later commit with FULL syncs the whole log file, including these frames. A checkpoint in
    /// between syncs the log before and the database after it copied them (`walCheckpoint`, `CKPT_SYNC_FLAGS`, which
    /// NORMAL sets too), and only then is the log restarted. So everything that a FULL commit makes visible is on disk
    /// when it returns.
    Deferred,
}

/// The writing connection.
#[derive(Debug)]
pub(crate) struct Writer {
    connection: Connection,
    path: PathBuf,
    access: AccessMode,
    files: OpenFiles,
    /// Whether the disk failed the connection.
    is_failed: Cell<bool>,
    /// Whether a sync failed, so that the log may have a hole on disk.
    pub(crate) log_has_hole: Cell<bool>,
    /// Whether the log contains commits that wait for a later sync.
    pub(crate) is_unsynced: bool,
    log_path: PathBuf,
    log_ahead: LogAhead,
    log_bytes_tried: u64,
    numbers: Cell<Option<ReservedNumbers>>,
    /// Whether the rows of small chunks have their pages.
    has_row_pages: bool,
    durability: Durability,
    busy_timeout: Duration,
    synchronous: &'static str,
    checkpoint_pages: i64,
    /// The number of valid frames in the log after the last commit of this connection.
    frames: Arc<AtomicI64>,
    /// The number of valid frames at the last checkpoint of this connection, if the log was not restarted since.
    checkpoint_frames: Option<i64>,
    /// The number of valid frames when the log's length was checked, if the log was not restarted since.
    look_frames: Option<i64>,
    checked_indexes: HashSet<(TableId, ColumnId)>,
    keeps_log: bool,
    reserve: Reserve,
}

impl Writer {
    pub(crate) fn new(
        mut connection: Connection,
        path: &Path,
        access: AccessMode,
        files: OpenFiles,
        reserve: Reserve,
        durability: Durability,
        busy_timeout: Duration,
    ) -> rusqlite::Result<Self> {
        let (log_path, frames) = (log_path(path), Arc::default());
        count_frames(&mut connection, &frames)?;
        Ok(Self {
            connection,
            path: path.to_owned(),
            access,
            files,
            is_failed: Cell::new(false),
            log_has_hole: Cell::new(false),
            is_unsynced: false,
            reserve,
            log_path,
            log_ahead: LogAhead::default(),
            log_bytes_tried: 0,
            numbers: Cell::default(),
            has_row_pages: false,
            durability,
            busy_timeout,
            synchronous: "",
            checkpoint_pages: 0,
            frames,
            checkpoint_frames: None,
            look_frames: None,
            checked_indexes: HashSet::new(),
            keeps_log: false,
        })
    }

    /// Sets whether the rows of small chunks have their pages, which depends on the format.
    pub(crate) fn with_row_pages(self, has_row_pages: bool) -> Self {
        Self { has_row_pages, ..self }
    }

    /// Records the consequences of a failure.
    pub(crate) fn record_failure(&self, failure: &Failure) {
        if failure.is_disk_failure() {
            self.is_failed.set(true);
        }
        if failure.is_sync_failure() {
            self.log_has_hole.set(true);
        }
    }

    /// Reopens the connection if the disk failed it, so that nothing it may have cached is used.
    pub(crate) fn reconnect_if_failed(&mut self) -> Attempt<()> {
        if !self.is_failed.get() {
            return Ok(());
        }
        let mut connection = connect(&self.path, self.access, false, self.busy_timeout)?;
        // SQLite opens a file for reading if it cannot open it for writing.
        if connection.is_readonly("main")? {
            let message = format!("cannot open {} for writing again", self.path.display());
            let error = Error::new(ErrorKind::Unavailable, message);
            return Err(error.with_hint("check that you may write the file and its directory").into());
        }
        prepare_to_write(&connection)?;
        count_frames(&mut connection, &self.frames)?;
        // The new connection reads before the old one is closed. If the old one were the last, SQLite would forget how
        // much of the log is valid, and find a commit in it that was reported as failed.
        connection.query_row("SELECT count(*) FROM atsdb_store", [], |_| Ok(()))?;
        self.connection = connection;
        self.numbers.take();
        self.synchronous = "";
        self.is_failed.set(false);
        Ok(())
    }

    /// Returns the connection, for statements outside of a transaction.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Returns the open files, which their paths must still name.
    pub(crate) fn files(&self) -> &OpenFiles {
        &self.files
    }

    /// Returns the reserve for a full disk.
    pub(crate) fn reserve(&self) -> &Reserve {
        &self.reserve
    }

    /// The write-ahead log.
    pub(crate) fn log_path(&self) -> &Path {
        &self.log_path
    }

    /// Returns the failures that an acknowledged commit survives.
    pub(crate) fn durability(&self) -> Durability {
        self.durability
    }

    /// Returns whether the index of a dictionary was found to contain all its strings.
    pub(crate) fn is_index_checked(&self, table: TableId, column: ColumnId) -> bool {
        self.checked_indexes.contains(&(table, column))
    }

    /// Records that the index of a dictionary contains all its strings.
    pub(crate) fn set_index_checked(&mut self, table: TableId, column: ColumnId) {
        self.checked_indexes.insert((table, column));
    }

    /// Sets whether commits leave the log unchanged, however long it is.
    pub(crate) fn keep_log(&mut self, keeps: bool) {
        self.keeps_log = keeps;
    }

    /// Sets when the next transactions reach the disk.
    pub(crate) fn set_sync(&mut self, sync: SyncMode) -> rusqlite::Result<()> {
        let synchronous = match (self.durability, sync) {
            (Durability::Off, _) => "OFF",
            (Durability::Normal, _) | (Durability::Full, SyncMode::Deferred) => "NORMAL",
            (Durability::Full, SyncMode::Immediate) => "FULL",
        };
        if self.synchronous != synchronous {
            self.connection.pragma_update(None, "synchronous", synchronous)?;
            self.synchronous = synchronous;
        }
        self.checkpoint_pages = match sync {
            SyncMode::Immediate => CHECKPOINT_PAGES,
            SyncMode::Deferred => CHECKPOINT_PAGES_STAGING,
        };
        Ok(())
    }

    /// Runs the work in one write transaction, which is rolled back after an error. On a full disk, the space it used
    /// in the log is freed.
    pub(crate) fn transaction<T>(
        &mut self,
        sync: SyncMode,
        work: impl FnOnce(&WriteTransaction<'_>) -> Attempt<T>,
    ) -> Attempt<T> {
        let done = self.try_transaction(sync, work);
        if done.as_ref().is_err_and(Failure::is_full) {
            self.truncate_log();
        }
        done
    }

    fn try_transaction<T>(
        &mut self,
        sync: SyncMode,
        work: impl FnOnce(&WriteTransaction<'_>) -> Attempt<T>,
    ) -> Attempt<T> {
        self.set_sync(sync)?;
        self.repair_log()?;
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let (numbers, has_row_pages) = (&self.numbers, self.has_row_pages);
        let transaction = WriteTransaction { connection: &self.connection, numbers, has_row_pages, committed: false };
        let waits_for_disk = self.durability == Durability::Full && sync == SyncMode::Immediate;
        if waits_for_disk {
            self.log_ahead.extend(|| self.files.reopen_log(&self.log_path));
        }
        let done = work(&transaction)?;
        transaction.commit()?;
        self.is_unsynced = !waits_for_disk;
        if waits_for_disk {
            self.log_ahead.note_commit(self.frames.load(Ordering::Relaxed));
        }
        self.files.check().map_err(Failure::Orphaned)?;
        self.after_commit();
        Ok(done)
    }

    /// Runs the work in one read transaction.
    pub(crate) fn read<T>(&self, work: impl FnOnce(&Connection) -> Attempt<T>) -> Attempt<T> {
        let transaction = Transaction::new_unchecked(&self.connection, TransactionBehavior::Deferred)?;
        work(&transaction)
    }

    /// Runs a checkpoint as far as readers allow, and truncates the log if `cut` is set and no reader needs it. It
    /// never waits.
    pub(crate) fn checkpoint(&self, cut: bool) -> Attempt<()> {
        let mode = if cut { "TRUNCATE" } else { "PASSIVE" };
        self.checkpoint_within(mode, Duration::ZERO)
    }

    fn checkpoint_within(&self, mode: &str, wait: Duration) -> Attempt<()> {
        self.repair_log()?;
        self.connection.busy_timeout(wait)?;
        // An incomplete checkpoint is reported by a row or by SQLITE_BUSY; neither is a failure here.
        let done = self.connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(()));
        self.connection.busy_timeout(self.busy_timeout)?;
        match done {
            Err(error) if primary_code(&error) == Some(ffi::SQLITE_BUSY) => Ok(()),
            Err(error) => {
                let failure = Failure::Sqlite(error);
                // Some callers have finished and cannot report it.
                self.record_failure(&failure);
                Err(failure)
            }
            Ok(()) => Ok(()),
        }
    }

    /// Runs the tasks after each commit. Their result does not affect the commit.
    pub(crate) fn after_commit(&mut self) {
        let frames = self.frames.load(Ordering::Relaxed);
        // A number that has fallen shows that the log was restarted.
        self.checkpoint_frames = self.checkpoint_frames.filter(|before| *before <= frames);
        self.look_frames = self.look_frames.filter(|before| *before <= frames);
        let due = self.checkpoint_frames.map_or(self.checkpoint_pages, |before| before + CHECKPOINT_PAGES_AGAIN);
        if !self.keeps_log && frames >= due {
            let _ = self.checkpoint(false);
            self.checkpoint_frames = Some(frames);
        }
        if self.look_frames.is_none_or(|before| frames >= before + PAGES_PER_LOOK) {
            self.look_frames = Some(frames);
            self.fill_reserve();
            self.limit_log_growth();
        }
    }

    /// Returns the number of valid frames in the log, including those of other processes.
    pub(crate) fn log_frames(&self) -> rusqlite::Result<i64> {
        self.connection.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| row.get(1))
    }

    /// Keeps the log from growing without bound under overlapping readers: SQLite's own checkpoints never find a moment
    /// without any of them, so once in a while a writer waits until the oldest have finished. A reader that stays for
    /// minutes holds the log in any case: the next attempt is made when it has grown by half.
    fn limit_log_growth(&mut self) {
        let length = std::fs::metadata(&self.log_path).map_or(0, |metadata| metadata.len());
        if length <= LOG_BYTES_MAX {
            self.log_bytes_tried = 0;
        } else if length >= self.log_bytes_tried + self.log_bytes_tried / 2 {
            self.log_bytes_tried = length;
            // The result does not affect the commit; the next one retries.
            let excess = u32::try_from(length / LOG_BYTES_MAX).unwrap_or(u32::MAX);
            let _ = self.checkpoint_within("TRUNCATE", LOG_WAIT.saturating_mul(excess).min(LOG_WAIT_MAX));
        }
    }
}

#[cfg(test)]
impl Writer {
    /// The writer of a new store in memory.
    pub(crate) fn in_memory(layout: Option<crate::split::layout::SplitLayout>) -> Self {
        let (connection, path) = (Connection::open_in_memory().unwrap(), Path::new("/nonexistent/a.db"));
        crate::schema::create(&connection, layout).unwrap();
        let (reserve, wait) = (Reserve::new(path, None), Duration::ZERO);
        let (access, files) = (AccessMode::Write, OpenFiles::default());
        let writer = Self::new(connection, path, access, files, reserve, Durability::Off, wait);
        writer.unwrap().with_row_pages(true)
    }
}

/// Records the length of the log at each commit of a connection. Querying it would cost as much as a small commit's own
/// statements, since SQLite compiles a PRAGMA each time.
fn count_frames(connection: &mut Connection, frames: &Arc<AtomicI64>) -> rusqlite::Result<()> {
    let frames = Arc::clone(frames);
    connection.wal_hook(Some(move |_: &mut Wal, count| {
        frames.store(i64::from(count), Ordering::Relaxed);
        Ok(())
    }))
}

/// An open write transaction. Unless it is committed it is rolled back when dropped, also by a panic.
#[derive(Debug)]
pub(crate) struct WriteTransaction<'a> {
    connection: &'a Connection,
    /// The writer's reserved numbers, which a rollback discards.
    pub(crate) numbers: &'a Cell<Option<ReservedNumbers>>,
    /// Whether the rows of small chunks have their pages.
    pub(crate) has_row_pages: bool,
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
        // SQLite may have rolled back by itself. If this fails, the next transaction cannot begin and reports it.
        if !self.is_autocommit() {
            let _ = self.execute_batch("ROLLBACK");
        }
    }
}
