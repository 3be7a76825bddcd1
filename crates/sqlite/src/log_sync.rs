//! A sync of the log that failed, which leaves a hole in it (`write_again` says why).
//!
//! SQLite takes a failed sync to be tried again. But in the log lie commits that wait for the sync of a later one, and what is
//! lost of them takes all that comes behind it: when the log is read after a power cut, it ends at the first hole. So before
//! anything comes to the log or is carried out of it, what counts of it is written once more, while nobody else can write to
//! it. SQLite holds no locks on the log, so that it may be opened as a plain file.
//!
//! Of the file itself SQLite writes once more what a checkpoint could not make durable.

use crate::error::Attempt;
use crate::split::folder::unavailable;
use crate::write_again::write_again;
use crate::writer::Writer;
use atsdb_core::Durability;
use std::fs::File;
use std::io;
use std::path::Path;

/// The bytes of the log's head, and those of each frame's.
const LOG_HEAD_BYTES: u64 = 32;
const FRAME_HEAD_BYTES: u64 = 24;

impl Writer {
    /// Writes the log once more if a sync failed.
    pub(crate) fn mend_log(&self) -> Attempt<()> {
        if !self.has_hole.get() {
            return Ok(());
        }
        let frames = u64::try_from(self.log_frames()?).unwrap_or(0);
        let page_bytes: u64 = self.connection().query_row("PRAGMA page_size", [], |row| row.get(0))?;
        self.connection().execute_batch("BEGIN IMMEDIATE")?;
        let written = write_log_again(self.log_path(), LOG_HEAD_BYTES + frames * (FRAME_HEAD_BYTES + page_bytes));
        self.connection().execute_batch("ROLLBACK")?;
        written.map_err(|error| unavailable("make durable", self.log_path(), error))?;
        self.has_hole.set(false);
        Ok(())
    }

    /// What precedes closing: whoever opens the store next does not know of a sync that fails then.
    pub(crate) fn settle(&mut self) {
        if self.is_unsynced && self.durability() != Durability::Off {
            let synced = File::open(self.log_path()).and_then(|log| log.sync_data());
            let failed = synced.is_err_and(|error| error.kind() != io::ErrorKind::NotFound);
            self.has_hole.set(self.has_hole.get() || failed);
        }
        // There is nobody to tell.
        let _ = self.mend_log();
    }
}

/// Writes what counts of the log once more. There is none if nobody has written.
fn write_log_again(path: &Path, length: u64) -> io::Result<()> {
    match File::options().read(true).write(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        log => write_again(&log?, length),
    }
}
