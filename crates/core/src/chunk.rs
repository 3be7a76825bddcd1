//! Chunks: the metadata that a store keeps beside the pages, so that readers can prune chunks.

use crate::error::{Error, Result};
use crate::id::{ColumnId, TableId};
use crate::slice::Slice;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A chunk's number in its store. It is never reused, and later commits have higher numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ChunkId(pub i64);

/// A chunk's permanent name: 128 random bits that are generated with the chunk and kept by every copy. Its pages are
/// bound to this name.
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

/// A lower or upper bound of the values of one column in one chunk.
#[derive(Debug, Clone, PartialEq)]
pub enum Bound {
    /// A bound of signed integers, dates, timestamps or booleans (0 and 1).
    Int(i64),
    /// A bound of unsigned integers, or of the indices of a mapped column.
    UInt(u64),
    /// A bound of floating-point numbers. A column with a NaN has no bounds.
    Float(f64),
    /// A bound of text or bytes. A lower bound is a prefix of the smallest value; an upper bound is equal to or above
    /// the largest value.
    Bytes(Vec<u8>),
}

/// The sum of the values of one column in one chunk, NULLs left out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sum {
    /// The exact sum of integers.
    Int(i128),
    /// The sum of floating point numbers, added as 64-bit numbers in an unspecified order.
    Float(f64),
}

/// Statistics of one column in one chunk. Bounds are exact except for [`Bound::Bytes`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ColumnStatistics {
    /// The number of NULL values.
    pub null_count: u32,
    /// A lower bound of all values; `None` if it is unknown or all values are NULL.
    pub min: Option<Bound>,
    /// An upper bound of all values; `None` if it is unknown or all values are NULL.
    pub max: Option<Bound>,
    /// The sum of all values; `None` if it is unknown or NaN, or if the values are not numbers.
    pub sum: Option<Sum>,
}

/// The metadata of one page.
#[derive(Debug, Clone, PartialEq)]
pub struct PageDescriptor {
    /// The column, or the index, that the page belongs to.
    pub column: ColumnId,
    /// The size of the page in bytes, including its header.
    pub byte_count: u32,
    /// The number of the page's encoding, as in its header.
    pub encoding: u8,
    /// The statistics of the page's values.
    pub statistics: ColumnStatistics,
}

/// The metadata of one chunk, apart from its number and table. A store keeps it as bytes that `codec` encodes, and
/// copies the fields by which it looks chunks up.
#[derive(Debug, Clone, PartialEq)]
pub struct ChunkDescriptor {
    /// The chunk's permanent name, to which its pages are bound.
    pub uid: ChunkUid,
    /// The number of rows, 1 to [`CHUNK_ROWS_MAX`](crate::limits::CHUNK_ROWS_MAX).
    pub row_count: u32,
    /// Whether the chunk is sealed.
    pub sealed: bool,
    /// The slice that contains all rows.
    pub slice: Slice,
    /// The earliest time, in the table's unit; 0 in a plain table.
    pub time_min: i64,
    /// The latest time; 0 in a plain table.
    pub time_max: i64,
    /// One page for each column that the table had, and for each index that was built over the chunk, in ascending
    /// order of column number. A column that was added later has no page: its values are
    /// [`Column::missing`](crate::Column::missing).
    pub pages: Vec<PageDescriptor>,
}

impl ChunkDescriptor {
    /// Returns the metadata of a column's page, if the chunk has one.
    pub fn page(&self, column: ColumnId) -> Option<&PageDescriptor> {
        self.pages.binary_search_by_key(&column, |page| page.column).ok().map(|position| &self.pages[position])
    }

    /// The size of the decoded descriptor in memory in bytes.
    pub fn memory_bytes(&self) -> usize {
        let of_bound = |bound: &Option<Bound>| match bound {
            Some(Bound::Bytes(bytes)) => bytes.capacity(),
            _ => 0,
        };
        let of_page = |page: &PageDescriptor| of_bound(&page.statistics.min) + of_bound(&page.statistics.max);
        size_of::<Self>()
            + self.pages.capacity() * size_of::<PageDescriptor>()
            + self.pages.iter().map(of_page).sum::<usize>()
    }

    /// The size of all pages in bytes.
    pub fn byte_count(&self) -> u64 {
        self.pages.iter().map(|page| u64::from(page.byte_count)).sum()
    }
}

/// A chunk that is about to be written to a store.
#[derive(Debug, Clone)]
pub struct NewChunk {
    /// The table that the chunk belongs to.
    pub table: TableId,
    /// The chunk's metadata.
    pub descriptor: ChunkDescriptor,
    /// The descriptor as encoded by `codec`. [`ChunkEntry::descriptor_bytes`] returns these bytes.
    pub descriptor_bytes: Vec<u8>,
    /// The chunk's pages, in the order of the descriptor's.
    pub pages: Vec<Vec<u8>>,
}

impl NewChunk {
    /// Refuses a chunk that contradicts its own descriptor.
    pub fn check(&self) -> Result<()> {
        let described = self.descriptor.pages.iter().map(|page| page.byte_count as usize);
        if described.eq(self.pages.iter().map(Vec::len)) {
            return Ok(());
        }
        Err(Error::internal(format!("chunk {} does not have the pages that its descriptor lists", self.descriptor.uid)))
    }
}

/// A chunk as a store lists it. `codec` checks and decodes `descriptor_bytes`; the other fields are the store's copies,
/// by which the chunk was found.
#[derive(Debug, Clone, PartialEq)]
pub struct ChunkEntry {
    /// The chunk's number.
    pub id: ChunkId,
    /// The table that the chunk belongs to.
    pub table: TableId,
    /// The first time of the chunk's slice.
    pub slice_start: i64,
    /// Whether the chunk is sealed.
    pub sealed: bool,
    /// The number of rows.
    pub row_count: u32,
    /// The earliest time.
    pub time_min: i64,
    /// The latest time.
    pub time_max: i64,
    /// The size of all pages in bytes.
    pub byte_count: u64,
    /// The encoded descriptor.
    pub descriptor_bytes: Vec<u8>,
}

impl ChunkEntry {
    /// The entry of a chunk with this descriptor, whose encoded form is `descriptor_bytes`.
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
