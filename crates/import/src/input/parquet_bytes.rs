//! The bytes of a Parquet file, for its reader: a file here, or one elsewhere that is read piece by piece.

use crate::options::Pieces;
use atsdb_temporary::PositionedFile;
use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};
use std::io::{self, BufReader, Read};
use std::sync::Arc;

/// Bytes of a file elsewhere that are taken at once, where the reader does not say how many it needs.
const STEP_BYTES: u64 = 16 << 10;

/// The bytes.
pub(crate) enum ParquetBytes {
    File(PositionedFile),
    Pieces(Arc<dyn Pieces>),
}

impl ParquetBytes {
    /// Opens the same file for another reader.
    pub(crate) fn reopened(&self) -> Self {
        match self {
            Self::File(file) => Self::File(file.at(0)),
            Self::Pieces(pieces) => Self::Pieces(Arc::clone(pieces)),
        }
    }
}

impl Length for ParquetBytes {
    fn len(&self) -> u64 {
        match self {
            Self::File(file) => file.byte_count().unwrap_or(0),
            Self::Pieces(pieces) => pieces.byte_count(),
        }
    }
}

impl ChunkReader for ParquetBytes {
    type T = Box<dyn Read>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(match self {
            Self::File(file) => Box::new(BufReader::new(file.at(start))),
            Self::Pieces(pieces) => {
                Box::new(PieceReader { pieces: Arc::clone(pieces), at: start, step: io::Cursor::default() })
            }
        })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        match self {
            Self::File(file) => of_file(file, start, length),
            Self::Pieces(pieces) => Ok(pieces.read(start, length)?.into()),
        }
    }
}

fn of_file(file: &PositionedFile, start: u64, length: usize) -> Result<Bytes> {
    let mut bytes = Vec::with_capacity(length);
    let count = file.at(start).take(length as u64).read_to_end(&mut bytes)?;
    if count != length {
        return Err(ParquetError::EOF(format!("Expected to read {length} bytes, read only {count}")));
    }
    Ok(bytes.into())
}

/// Reads a file elsewhere from a place on.
struct PieceReader {
    pieces: Arc<dyn Pieces>,
    /// The byte of the file at which the next step begins.
    at: u64,
    step: io::Cursor<Vec<u8>>,
}

impl Read for PieceReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.step.position() == self.step.get_ref().len() as u64 {
            let length = self.pieces.byte_count().saturating_sub(self.at).min(STEP_BYTES);
            self.step = io::Cursor::new(self.pieces.read(self.at, length as usize)?);
            self.at += length;
        }
        self.step.read(into)
    }
}
