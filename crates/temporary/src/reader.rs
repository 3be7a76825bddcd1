//! Reading a file that others read at the same time.

use crate::file::TemporaryFile;
use crate::positions::read_at;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

/// Reads a file from its own position. A clone starts at the position of the original.
#[derive(Debug, Clone)]
pub struct PositionedFile {
    file: SharedFile,
    position: u64,
}

#[derive(Debug, Clone)]
enum SharedFile {
    Named(Arc<File>),
    Temporary(Arc<TemporaryFile>),
}

impl PositionedFile {
    /// The size of the file in bytes.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn byte_count(&self) -> io::Result<u64> {
        match &self.file {
            SharedFile::Named(file) => file.metadata().map(|metadata| metadata.len()),
            SharedFile::Temporary(file) => Ok(file.byte_count()),
        }
    }

    /// Returns a reader of the same file that starts at this position.
    #[must_use]
    pub fn at(&self, position: u64) -> Self {
        Self { file: self.file.clone(), position }
    }

    /// Fills a buffer with the bytes from a position on.
    ///
    /// # Errors
    ///
    /// `UnexpectedEof` beyond the end, and those of the file system.
    pub fn read_exact_at(&self, buffer: &mut [u8], position: u64) -> io::Result<()> {
        self.at(position).read_exact(buffer)
    }
}

impl From<File> for PositionedFile {
    fn from(file: File) -> Self {
        Self { file: SharedFile::Named(Arc::new(file)), position: 0 }
    }
}

impl From<Arc<TemporaryFile>> for PositionedFile {
    fn from(file: Arc<TemporaryFile>) -> Self {
        Self { file: SharedFile::Temporary(file), position: 0 }
    }
}

impl Read for PositionedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = match &self.file {
            SharedFile::Named(file) => read_at(file, buffer, self.position)?,
            SharedFile::Temporary(file) => file.read_at(buffer, self.position)?,
        };
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for PositionedFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(distance) => self.position.checked_add_signed(distance),
            SeekFrom::End(distance) => self.byte_count()?.checked_add_signed(distance),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}
