//! Repairing the log after a failed sync, which leaves a hole in it; `rewrite` explains why.
//!
//! SQLite assumes that a failed sync can be retried. But the log contains commits that wait for the sync of a later
//! one, and losing any of them loses everything after it: when the log is read after a power cut, it ends at the first
//! hole. So before anything is added to the log or checkpointed, its valid part is rewritten while no other process can
//! write to it. SQLite holds no locks on the log, so that it may be opened as a plain file.
//!
//! In the file itself, SQLite rewrites what a checkpoint could not make durable.

use crate::error::Attempt;
use crate::log_ahead::{FRAME_HEAD_BYTES, LOG_HEAD_BYTES};
use crate::rewrite::rewrite_and_sync;
use crate::split::folder::unavailable;
use crate::writer::Writer;
use atsdb_core::Durability;
use std::fs::File;
use std::io;

impl Writer {
    /// Rewrites the log if a sync failed.
    pub(crate) fn repair_log(&self) -> Attempt<()> {
        if !self.log_has_hole.get() {
            return Ok(());
        }
        let frames = u64::try_from(self.log_frames()?).unwrap_or(0);
        let page_bytes: u64 = self.connection().query_row("PRAGMA page_size", [], |row| row.get(0))?;
        self.connection().execute_batch("BEGIN IMMEDIATE")?;
        let length = LOG_HEAD_BYTES + frames * (FRAME_HEAD_BYTES + page_bytes);
        let written = rewrite_log(self.files().reopen_log(self.log_path()), length);
        self.connection().execute_batch("ROLLBACK")?;
        written.map_err(|error| unavailable("make durable", self.log_path(), error))?;
        self.log_has_hole.set(false);
        Ok(())
    }

    /// Repairs the log before closing, since the next process that opens the store does not know about a failed sync.
    pub(crate) fn repair_before_close(&mut self) {
        if self.is_unsynced && self.durability() != Durability::Off {
            let synced = File::open(self.log_path()).and_then(|log| log.sync_data());
            let failed = synced.is_err_and(|error| error.kind() != io::ErrorKind::NotFound);
            self.log_has_hole.set(self.log_has_hole.get() || failed);
        }
        // A failure cannot be reported here.
        let _ = self.repair_log();
    }
}

/// Rewrites the valid part of the log. There is no log if nothing was written.
fn rewrite_log(log: io::Result<File>, length: u64) -> io::Result<()> {
    match log {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        log => rewrite_and_sync(&log?, length),
    }
}
