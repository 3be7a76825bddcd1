//! Room on a full disk: from the log, and from the reserve ([`reserve`](crate::reserve)).

use crate::error::Attempt;
use crate::writer::Writer;
use std::fs;

impl Writer {
    /// Does work that makes room, or that such work needs. When the disk is full it is done once more without the log that
    /// others left, and then with the reserve.
    pub(crate) fn free<T>(&mut self, mut work: impl FnMut(&mut Self) -> Attempt<T>) -> Attempt<T> {
        let full = |done: &Attempt<T>| done.as_ref().is_err_and(|failure| failure.is_full());
        let mut done = work(self);
        if !full(&done) {
            return done;
        }
        self.keep_log(true);
        self.cut_log();
        done = work(self);
        if full(&done) && self.reserve().give_up() {
            done = work(self);
            self.cut_log();
            self.fill_reserve();
        }
        self.keep_log(false);
        done
    }

    /// Gives back what the log takes, as far as readers allow: but not if the file had to grow for it, which on a full disk
    /// would only take what room there is.
    pub(crate) fn cut_log(&self) {
        if !self.would_grow() {
            // The caller has an error to tell already, or is done.
            let _ = self.checkpoint(true);
        }
    }

    /// Whether the log holds pages for which the file has no room yet.
    pub(crate) fn would_grow(&self) -> bool {
        let length = fs::metadata(&self.reserve().store).map(|metadata| metadata.len());
        !matches!((self.file_bytes(), length), (Ok(needed), Ok(length)) if needed <= length)
    }

    /// Makes the reserve, or makes it again, as long as the disk allows.
    pub(crate) fn fill_reserve(&self) {
        if let Ok(file_bytes) = self.file_bytes() {
            self.reserve().fill(file_bytes);
        }
    }

    /// How long the file is once the log is in it.
    fn file_bytes(&self) -> rusqlite::Result<u64> {
        let number = |sql: &str| self.connection().query_row(sql, [], |row| row.get::<_, u64>(0));
        Ok(number("PRAGMA page_count")? * number("PRAGMA page_size")?)
    }
}
