//! Sample tables and chunks, the same in every run. Stores keep pages and descriptors as bytes, so they consist of
//! random bytes here, and are not made by `codec`.

use atsdb_core::limits::INDEX_ID_MIN;
use atsdb_core::{
    Amendment, ChunkDescriptor, ChunkId, ChunkUid, ColumnId, ColumnStatistics, ColumnType, MapWidth, NewChunk,
    PageDescriptor, Slice, SliceWidth, TableDefinition, TableId, TimeUnit,
};

/// Random numbers from a seed (SplitMix64, Steele, Lea and Flood 2014).
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.bits() % end
    }

    /// Returns this many random bytes.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes: Vec<u8> = (0..count.div_ceil(8)).flat_map(|_| self.bits().to_le_bytes()).collect();
        bytes.truncate(count);
        bytes
    }
}

/// A series table, sliced by day: `time` in seconds, `sensor` mapped to 32 bits, `value`.
pub fn series_table(name: &str) -> TableDefinition {
    let mut table = TableDefinition::new(name)
        .with_column("time", ColumnType::Timestamp(TimeUnit::Second), None)
        .with_column("sensor", ColumnType::Text, Some(MapWidth::U32))
        .with_column("value", ColumnType::Float64, None)
        .with_time("time", TimeUnit::Second)
        .expect("a timestamp column can be the time");
    table.slice = SliceWidth::Day;
    table
}

/// A table without a time: `name`, and this many integer columns.
pub fn wide_table(name: &str, column_count: usize) -> TableDefinition {
    (0..column_count).fold(TableDefinition::new(name), |table, column| {
        table.with_column(format!("c{column}"), ColumnType::Int64, None)
    })
}

/// The properties of a sample chunk.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Chunks of different seeds differ in every byte.
    pub seed: u64,
    /// The first time of its slice.
    pub slice_start: i64,
    /// The earliest time.
    pub time_min: i64,
    /// The latest time.
    pub time_max: i64,
    /// The number of columns that have a page, from number 0.
    pub column_count: u16,
    /// The bytes of each page.
    pub page_bytes: usize,
}

impl Plan {
    /// Three pages of 100 bytes in the slice that starts at 0, from time 0 to 59.
    pub fn new(seed: u64) -> Self {
        Self { seed, slice_start: 0, time_min: 0, time_max: 59, column_count: 3, page_bytes: 100 }
    }

    /// Moves it to another slice, to that slice's start.
    pub fn in_slice(mut self, slice_start: i64) -> Self {
        (self.slice_start, self.time_min, self.time_max) = (slice_start, slice_start, slice_start + 59);
        self
    }

    /// Sets its times.
    pub fn with_times(mut self, time_min: i64, time_max: i64) -> Self {
        (self.slice_start, self.time_min, self.time_max) = (time_min, time_min, time_max);
        self
    }

    /// Sets its pages.
    pub fn with_pages(mut self, column_count: u16, page_bytes: usize) -> Self {
        (self.column_count, self.page_bytes) = (column_count, page_bytes);
        self
    }

    /// Creates the chunk.
    pub fn chunk(&self, table: TableId) -> NewChunk {
        let mut random = Random::new(self.seed);
        let uid = ChunkUid(random.bytes(16).try_into().expect("16 bytes"));
        let pages: Vec<Vec<u8>> = (0..self.column_count).map(|_| random.bytes(self.page_bytes)).collect();
        let describe = |(column, bytes): (usize, &Vec<u8>)| PageDescriptor {
            column: ColumnId(column as u16),
            byte_count: bytes.len() as u32,
            encoding: 0,
            statistics: ColumnStatistics::default(),
        };
        let descriptor = ChunkDescriptor {
            uid,
            row_count: 1 + random.below(100_000) as u32,
            sealed: random.below(2) == 1,
            slice: Slice { start: self.slice_start, last: self.time_max },
            time_min: self.time_min,
            time_max: self.time_max,
            pages: pages.iter().enumerate().map(describe).collect(),
        };
        NewChunk { table, descriptor, descriptor_bytes: random.bytes(40 + 8 * pages.len()), pages }
    }
}

/// Returns the chunk with one more page, of the index with this number.
pub fn amended(chunk: &NewChunk, index: u16, page_bytes: usize) -> NewChunk {
    let mut random = Random::new(u64::from(index) ^ u64::from(chunk.descriptor.row_count) << 32);
    let mut chunk = chunk.clone();
    let column = ColumnId(INDEX_ID_MIN + index);
    let statistics = ColumnStatistics::default();
    chunk.descriptor.pages.push(PageDescriptor { column, byte_count: page_bytes as u32, encoding: 0, statistics });
    chunk.descriptor_bytes.extend(random.bytes(8));
    chunk.pages.push(random.bytes(page_bytes));
    chunk
}

/// The amendment that turns one chunk, with this number, into another one with the same pages and some more.
pub fn amendment(id: ChunkId, from: &NewChunk, to: &NewChunk) -> Amendment {
    let columns = to.descriptor.pages.iter().map(|page| page.column);
    Amendment {
        table: from.table,
        chunk: id,
        from: from.descriptor_bytes.clone(),
        descriptor: to.descriptor.clone(),
        descriptor_bytes: to.descriptor_bytes.clone(),
        pages: columns.zip(to.pages.iter().cloned()).skip(from.pages.len()).collect(),
    }
}
