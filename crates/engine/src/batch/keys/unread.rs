//! The chunks whose keys have not been read, searchable by the key of a row.

use crate::batch::keys::key::{Key, KeyValue};
use crate::chunk::missing::column_statistics;
use crate::read::scan_chunk::ScanChunk;
use atsdb_core::{Bound, ColumnStatistics, TableDefinition};

/// The unread chunks of a scan, ordered by the bounds of the growing column of the key.
#[derive(Debug)]
pub(crate) struct UnreadChunks {
    /// The position of the growing column in the key.
    growing: usize,
    nulls_equal: bool,
    /// Chunks with bounds, ordered by the least value.
    bounded: Vec<BoundedChunk>,
    /// Chunks that may hold any value of the growing column.
    unbounded: Vec<UnreadChunk>,
}

#[derive(Debug)]
struct BoundedChunk {
    least: i64,
    greatest: i64,
    /// The greatest value of this chunk and all before it.
    greatest_so_far: i64,
    candidate: UnreadChunk,
}

#[derive(Debug)]
struct UnreadChunk {
    chunk: usize,
    row_count: u32,
    /// The statistics of each column of the key.
    statistics: Vec<ColumnStatistics>,
}

impl UnreadChunks {
    pub(crate) fn new(definition: &TableDefinition, key: &Key, chunks: &[ScanChunk]) -> Self {
        let growing = key.growing(definition).unwrap_or(0);
        let mut unread = Self { growing, nulls_equal: key.nulls_equal, bounded: Vec::new(), unbounded: Vec::new() };
        for (chunk, of) in chunks.iter().enumerate() {
            let columns = key.positions.iter().map(|position| &definition.columns[*position]);
            let statistics: Vec<_> = columns.map(|column| column_statistics(&of.descriptor, column)).collect();
            let bounds = statistics.get(unread.growing).and_then(|of| Some((integer(&of.min)?, integer(&of.max)?)));
            let candidate = UnreadChunk { chunk, row_count: of.entry.row_count, statistics };
            match bounds {
                Some((least, greatest)) => {
                    unread.bounded.push(BoundedChunk { least, greatest, greatest_so_far: greatest, candidate });
                }
                None => unread.unbounded.push(candidate),
            }
        }
        unread.bounded.sort_by_key(|bounded| bounded.least);
        unread.note_greatest();
        unread
    }

    /// A chunk that may hold a row of the same key. `value` returns the row's value in a column of the key.
    pub(crate) fn find<'a>(&self, value: impl Fn(usize) -> KeyValue<'a>) -> Option<usize> {
        let growing = match value(self.growing) {
            KeyValue::Int(value) => Some(value),
            KeyValue::UInt(value) => i64::try_from(value).ok(),
            _ => None,
        };
        let may_hold = |candidate: &&UnreadChunk| candidate.may_hold(&value, self.nulls_equal);
        let bounded = match growing {
            Some(growing) => {
                let before = &self.bounded[..self.bounded.partition_point(|bounded| bounded.least <= growing)];
                let near = before.iter().rev().take_while(|bounded| bounded.greatest_so_far >= growing);
                let near = near.filter(|bounded| bounded.greatest >= growing);
                near.map(|bounded| &bounded.candidate).find(may_hold)
            }
            None => self.bounded.iter().map(|bounded| &bounded.candidate).find(may_hold),
        };
        bounded.or_else(|| self.unbounded.iter().find(may_hold)).map(|candidate| candidate.chunk)
    }

    /// Removes a chunk whose keys have been read.
    pub(crate) fn remove(&mut self, chunk: usize) {
        self.bounded.retain(|bounded| bounded.candidate.chunk != chunk);
        self.unbounded.retain(|candidate| candidate.chunk != chunk);
        self.note_greatest();
    }

    fn note_greatest(&mut self) {
        let mut greatest = i64::MIN;
        for bounded in &mut self.bounded {
            greatest = greatest.max(bounded.greatest);
            bounded.greatest_so_far = greatest;
        }
    }
}

impl UnreadChunk {
    fn may_hold<'a>(&self, value: &impl Fn(usize) -> KeyValue<'a>, nulls_equal: bool) -> bool {
        self.statistics.iter().enumerate().all(|(column, statistics)| {
            if nulls_equal && value(column) == KeyValue::Null {
                return statistics.null_count > 0;
            }
            if statistics.null_count >= self.row_count {
                return false;
            }
            match (&statistics.min, &statistics.max) {
                (Some(min), Some(max)) => !is_below(value(column), min) && !is_above(value(column), max),
                _ => true,
            }
        })
    }
}

fn is_below(value: KeyValue<'_>, min: &Bound) -> bool {
    match (value, min) {
        (KeyValue::Int(value), Bound::Int(min)) => value < *min,
        (KeyValue::UInt(value), Bound::UInt(min)) => value < *min,
        (KeyValue::Float(value), Bound::Float(min)) => value < *min,
        (KeyValue::Bytes(value), Bound::Bytes(min)) => value < min.as_slice(),
        // The bounds of a mapped column are those of its indices, not of its strings.
        _ => false,
    }
}

fn is_above(value: KeyValue<'_>, max: &Bound) -> bool {
    match (value, max) {
        (KeyValue::Int(value), Bound::Int(max)) => value > *max,
        (KeyValue::UInt(value), Bound::UInt(max)) => value > *max,
        (KeyValue::Float(value), Bound::Float(max)) => value > *max,
        (KeyValue::Bytes(value), Bound::Bytes(max)) => value > max.as_slice(),
        _ => false,
    }
}

/// Returns a bound of integers that fits a signed 64-bit integer.
pub(crate) fn integer(bound: &Option<Bound>) -> Option<i64> {
    match bound {
        Some(Bound::Int(value)) => Some(*value),
        Some(Bound::UInt(value)) => i64::try_from(*value).ok(),
        _ => None,
    }
}
