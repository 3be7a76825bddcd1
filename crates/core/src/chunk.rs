//! Chunks: what a store keeps beside the pages, so that readers can pass over them.

use crate::id::{ColumnId, TableId};
use crate::slice::Slice;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A chunk's number in its store; never used again. Later commits have higher numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ChunkId(pub i64);

/// A chunk's name for ever and everywhere: 128 random bits, made with it, kept by every copy. Its pages are
/// bound to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChunkUid(pub [u8; 16]);

impl fmt::Debug for ChunkUid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ChunkUid({self})")
    }
}

impl fmt::Display for ChunkUid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// An end of the values of one column in one chunk.
#[derive(Debug, Clone, PartialEq)]
pub enum Bound {
    /// Of signed integers, dates, timestamps and booleans (0 and 1).
    Int(i64),
    /// Of unsigned integers, and of a mapped column's indices.
    UInt(u64),
    /// Of floating point numbers. A column with a NaN has no bounds.
    Float(f64),
    /// Of text and bytes: a lower bound is a prefix of the smallest value; an upper bound is not below the
    /// largest.
    Bytes(Vec<u8>),
}

/// What is known of the values of one column in one chunk. Bounds are exact for all but [`Bound::Bytes`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ColumnStatistics {
    /// How many are NULL.
    pub null_count: u32,
    /// No value is below; `None` is unknown, or all are NULL.
    pub min: Option<Bound>,
    /// No value is above.
    pub max: Option<Bound>,
}

/// What is known of one page.
#[derive(Debug, Clone, PartialEq)]
pub struct PageDescriptor {
    /// Its column.
    pub column: ColumnId,
    /// How many bytes it has, its header included.
    pub byte_count: u32,
    /// The number of its encoding, as in the page's header.
    pub encoding: u8,
    /// Of its values.
    pub statistics: ColumnStatistics,
}

/// What is known of one chunk, apart from its number and table. A store keeps it as the bytes that `codec` made
/// of it, and copies the fields that it looks chunks up by.
#[derive(Debug, Clone, PartialEq)]
pub struct ChunkDescriptor {
    /// The name its pages are bound to.
    pub uid: ChunkUid,
    /// How many rows, 1 to [`CHUNK_ROWS_MAX`](crate::limits::CHUNK_ROWS_MAX).
    pub row_count: u32,
    /// Whether it is sealed.
    pub sealed: bool,
    /// The slice all its rows lie in.
    pub slice: Slice,
    /// The earliest time, in the table's unit; 0 in a plain table.
    pub time_min: i64,
    /// The latest time; 0 in a plain table.
    pub time_max: i64,
    /// One for each column the table had, and for each index that was built over the chunk, in ascending order of number. A
    /// column that came later has none: its values are what its definition says is missing.
    pub pages: Vec<PageDescriptor>,
}

impl ChunkDescriptor {
    /// The page of a column.
    pub fn page(&self, column: ColumnId) -> Option<&PageDescriptor> {
        self.pages.binary_search_by_key(&column, |page| page.column).ok().map(|position| &self.pages[position])
    }

    /// The bytes of all its pages.
    pub fn byte_count(&self) -> u64 {
        self.pages.iter().map(|page| u64::from(page.byte_count)).sum()
    }
}

/// A chunk on its way into a store.
#[derive(Debug, Clone)]
pub struct NewChunk {
    /// The table it belongs to.
    pub table: TableId,
    /// What is known of it.
    pub descriptor: ChunkDescriptor,
    /// The same as bytes, as `codec` makes them: what [`ChunkEntry::descriptor_bytes`] gives back.
    pub descriptor_bytes: Vec<u8>,
    /// Its pages, in the order of the descriptor's.
    pub pages: Vec<Vec<u8>>,
}

/// A chunk as a store lists it. `descriptor_bytes` are checked and read by `codec`; the other fields are the
/// store's copies, by which it was found.
#[derive(Debug, Clone, PartialEq)]
pub struct ChunkEntry {
    /// Its number.
    pub id: ChunkId,
    /// The table it belongs to.
    pub table: TableId,
    /// The first time of its slice.
    pub slice_start: i64,
    /// Whether it is sealed.
    pub sealed: bool,
    /// How many rows.
    pub row_count: u32,
    /// The earliest time.
    pub time_min: i64,
    /// The latest time.
    pub time_max: i64,
    /// The bytes of all its pages.
    pub byte_count: u64,
    /// The descriptor as stored.
    pub descriptor_bytes: Vec<u8>,
}

impl ChunkEntry {
    /// As the descriptor, of which these are the bytes, tells it.
    pub fn of(id: ChunkId, table: TableId, descriptor: &ChunkDescriptor, descriptor_bytes: Vec<u8>) -> Self {
        Self {
            id,
            table,
            slice_start: descriptor.slice.start,
            sealed: descriptor.sealed,
            row_count: descriptor.row_count,
            time_min: descriptor.time_min,
            time_max: descriptor.time_max,
            byte_count: descriptor.byte_count(),
            descriptor_bytes,
        }
    }
}
