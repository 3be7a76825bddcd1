//! The file of a workbook or an archive, with the progress of reading it.

use crate::options::report::Progress;
use atsdb_temporary::PositionedFile;
use std::cell::Cell;
use std::io::{self, Read, Seek, SeekFrom};

/// The bytes between two reports of progress.
const BYTES_AT_ONCE: u64 = 1 << 20;

/// Reports how far the file was read, and how many rows were found.
pub(crate) struct ReadProgress<'a> {
    report: &'a dyn Fn(Progress),
    byte_count: u64,
    position: Cell<u64>,
    row_count: Cell<u64>,
}

impl<'a> ReadProgress<'a> {
    /// Reports the progress in a file of this size.
    pub(crate) fn new(byte_count: u64, report: &'a dyn Fn(Progress)) -> Self {
        Self { report, byte_count, position: Cell::new(0), row_count: Cell::new(0) }
    }

    /// Reports the rows that were found so far.
    pub(crate) fn rows(&self, row_count: u64) {
        self.row_count.set(row_count);
        self.report();
    }

    fn read_to(&self, position: u64) {
        if position.abs_diff(self.position.get()) >= BYTES_AT_ONCE {
            self.position.set(position);
            self.report();
        }
    }

    fn report(&self) {
        let (bytes_read, bytes_total) = (self.position.get(), self.byte_count);
        (self.report)(Progress { bytes_read, bytes_total, row_count: self.row_count.get() });
    }
}

/// A file whose reading is reported.
pub(crate) struct WatchedFile<'a> {
    file: PositionedFile,
    position: u64,
    progress: &'a ReadProgress<'a>,
}

impl<'a> WatchedFile<'a> {
    pub(crate) fn new(file: PositionedFile, progress: &'a ReadProgress<'a>) -> Self {
        Self { file, position: 0, progress }
    }
}

impl Read for WatchedFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.position += count as u64;
        self.progress.read_to(self.position);
        Ok(count)
    }
}

impl Seek for WatchedFile<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.position = self.file.seek(to)?;
        Ok(self.position)
    }
}
