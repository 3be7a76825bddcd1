//! Aggregates whole chunks from their statistics: if all rows of a chunk are in one group, its columns need not be read
//! for sums and extremes.

use super::collection::Groups;
use super::key::GroupKey;
use super::measure::{ChunkMeasure, Measure, MeasureKind};
use atsdb_core::{Bound, ColumnStatistics, Result, Sum};

impl Groups {
    /// Adds all rows of a chunk, if its statistics are sufficient. `statistics` returns those of a column, by its
    /// position in the batches. Returns false if the chunk must be read.
    pub(crate) fn add_summary(
        &mut self,
        row_count: u32,
        statistics: impl Fn(usize) -> ColumnStatistics,
    ) -> Result<bool> {
        let constant = |key: &GroupKey| constant_of(key, row_count, &statistics(key.column()));
        let part = |measure: &Measure| part_of(measure.kind, row_count, || statistics(measure.column));
        let Some(parts) = self.measures.iter().map(part).collect::<Option<Vec<_>>>() else { return Ok(false) };
        if self.states.iter().zip(&parts).any(|(state, (part, _))| !state.takes(*part)) {
            return Ok(false);
        }
        let Some(group) = self.keyed.constant_group(&self.packing, constant)? else { return Ok(false) };
        self.resize();
        for (state, (part, count)) in self.states.iter_mut().zip(parts) {
            state.add_part(group, part, count, row_count.into(), &self.row_counts);
        }
        self.row_counts[group as usize] += u64::from(row_count);
        Ok(true)
    }

    /// Returns whether only the number of all rows is measured, so that no row has to be read.
    pub(crate) fn is_row_count(&self) -> bool {
        self.packing.is_empty() && self.measures.iter().all(|measure| measure.kind == MeasureKind::CountRows)
    }

    /// Adds rows to the only group, of which only their number is measured; see [`is_row_count`](Self::is_row_count).
    pub(crate) fn add_row_count(&mut self, row_count: u64) -> Result<()> {
        self.ensure_one()?;
        self.row_counts[0] += row_count;
        Ok(())
    }
}

/// The bits of a key that is the same in all rows; `Some(None)` if it is NULL in all of them.
fn constant_of(key: &GroupKey, row_count: u32, statistics: &ColumnStatistics) -> Option<Option<u64>> {
    if statistics.null_count == row_count {
        return matches!(key, GroupKey::Values { .. }).then_some(None);
    }
    let bits = |bound: &Option<Bound>| match bound {
        Some(Bound::Int(value)) => Some(value.cast_unsigned()),
        Some(Bound::UInt(value)) => Some(*value),
        _ => None,
    };
    let (min, max) = (bits(&statistics.min)?, bits(&statistics.max)?);
    if statistics.null_count > 0 {
        return None;
    }
    match key {
        GroupKey::Values { .. } => (min == max).then_some(Some(min)),
        GroupKey::Bucket { bucket_of, .. } => {
            let (start, last) = bucket_of(min.cast_signed())?;
            (max.cast_signed() <= last).then_some(Some(start.cast_unsigned()))
        }
    }
}

/// The contribution of a chunk to a measure, and the number of its values that count.
fn part_of(
    kind: MeasureKind,
    row_count: u32,
    statistics: impl Fn() -> ColumnStatistics,
) -> Option<(ChunkMeasure, u64)> {
    if kind == MeasureKind::CountRows {
        return Some((ChunkMeasure::Count, row_count.into()));
    }
    let statistics = statistics();
    let count = u64::from(row_count - statistics.null_count);
    let bound = match kind {
        MeasureKind::Min => statistics.min,
        MeasureKind::Max => statistics.max,
        MeasureKind::Sum if count > 0 => match statistics.sum? {
            Sum::Int(sum) => return Some((ChunkMeasure::Integer(sum), count)),
            Sum::Float(sum) => return Some((ChunkMeasure::Float(sum), count)),
        },
        MeasureKind::Moments { .. } | MeasureKind::Values if count > 0 => return None,
        _ => return Some((ChunkMeasure::Count, count)),
    };
    match bound {
        _ if count == 0 => Some((ChunkMeasure::Count, 0)),
        Some(Bound::Int(value)) => Some((ChunkMeasure::Integer(value.into()), count)),
        Some(Bound::UInt(value)) => Some((ChunkMeasure::Integer(value.into()), count)),
        Some(Bound::Float(value)) => Some((ChunkMeasure::Float(value), count)),
        _ => None,
    }
}
