//! Freeing space on a full disk: from the log, and from the reserve ([`reserve`](crate::reserve)).

use crate::error::Attempt;
use crate::writer::Writer;
use std::fs;

impl Writer {
    /// Runs work that frees space, or that such work needs. If the disk is full, it retries after truncating the log,
    /// and then with the space of the reserve.
    pub(crate) fn free<T>(&mut self, mut work: impl FnMut(&mut Self) -> Attempt<T>) -> Attempt<T> {
        let full = |done: &Attempt<T>| done.as_ref().is_err_and(|failure| failure.is_full());
        let mut done = work(self);
        if !full(&done) {
            return done;
        }
        self.keep_log(true);
        self.truncate_log();
        done = work(self);
        if full(&done) && self.reserve().release() {
            done = work(self);
            self.truncate_log();
            self.fill_reserve();
        }
        self.keep_log(false);
        done
    }

    /// Truncates the log as far as readers allow. It does nothing if the file had to grow for that, which on a full
    /// disk would only use up the remaining space.
    pub(crate) fn truncate_log(&self) {
        if !self.would_grow() {
            // The caller has an error to report already, or has finished.
            let _ = self.checkpoint(true);
        }
    }

    /// Returns whether the log contains pages for which the file has no space yet.
    pub(crate) fn would_grow(&self) -> bool {
        let length = fs::metadata(&self.reserve().store).map(|metadata| metadata.len());
        !matches!((self.file_bytes(), length), (Ok(needed), Ok(length)) if needed <= length)
    }

    /// Creates or refills the reserve, as far as the disk allows.
    pub(crate) fn fill_reserve(&self) {
        if let Ok(file_bytes) = self.file_bytes() {
            self.reserve().fill(file_bytes);
        }
    }

    /// Returns the size of the file in bytes once the log is in it.
    fn file_bytes(&self) -> rusqlite::Result<u64> {
        let number = |sql: &str| self.connection().query_row(sql, [], |row| row.get::<_, u64>(0));
        Ok(number("PRAGMA page_count")? * number("PRAGMA page_size")?)
    }
}
