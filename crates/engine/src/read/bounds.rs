//! The bounds of a column over several chunks, as the chunks' statistics state them.

use crate::chunk::missing::column_statistics;
use crate::read::scan_chunk::ScanChunk;
use atsdb_core::{Bound, Column};

/// The exact smallest and largest value of a column in some chunks, `None` if all are NULL, and the number of NULLs.
pub(super) struct ColumnBounds {
    pub(super) min: Option<Bound>,
    pub(super) max: Option<Bound>,
    pub(super) null_count: u64,
}

impl ColumnBounds {
    /// The bounds over these chunks. `None` if they are not known without reading.
    pub(super) fn of(chunks: &[ScanChunk], column: &Column) -> Option<Self> {
        let (mut min, mut max, mut null_count): (Option<Bound>, Option<Bound>, u64) = (None, None, 0);
        for chunk in chunks {
            let statistics = column_statistics(&chunk.descriptor, column);
            null_count += u64::from(statistics.null_count);
            if statistics.null_count == chunk.entry.row_count {
                continue;
            }
            let (chunk_min, chunk_max) = (statistics.min?, statistics.max?);
            min = Some(min.map_or(Some(chunk_min.clone()), |min| smaller(min, chunk_min))?);
            max = Some(max.map_or(Some(chunk_max.clone()), |max| larger(max, chunk_max))?);
        }
        Some(Self { min, max, null_count })
    }

    /// Returns the smallest and the largest value as integers; `None` if the values are no integers.
    pub(super) fn integers(&self) -> Option<(i128, i128)> {
        let integer = |bound: &Option<Bound>| match bound {
            Some(Bound::Int(value)) => Some(i128::from(*value)),
            Some(Bound::UInt(value)) => Some(i128::from(*value)),
            _ => None,
        };
        Some((integer(&self.min)?, integer(&self.max)?))
    }
}

fn smaller(a: Bound, b: Bound) -> Option<Bound> {
    is_below(&a, &b).map(|below| if below { a } else { b })
}

fn larger(a: Bound, b: Bound) -> Option<Bound> {
    is_below(&a, &b).map(|below| if below { b } else { a })
}

/// Returns whether one exact bound is below another. `None` for text, whose bounds are only prefixes.
fn is_below(a: &Bound, b: &Bound) -> Option<bool> {
    match (a, b) {
        (Bound::Int(a), Bound::Int(b)) => Some(a < b),
        (Bound::UInt(a), Bound::UInt(b)) => Some(a < b),
        (Bound::Float(a), Bound::Float(b)) => Some(a < b),
        _ => None,
    }
}
