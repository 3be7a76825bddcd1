//! The estimated number of rows and cost of a plan. Only the choice of a plan depends on them, never a result.

use crate::plan::{Operator, Plan};
use crate::time_format::StoredBounds;
use atsdb_core::{Bound, ChunkId, DefinitionVersion, Table, TableId};
use atsdb_engine::ReadSnapshot;
use std::collections::BTreeMap;

/// The cost of finding chunks, of reading a row and of returning one. In SQLite's units, reading a row of an ordinary
/// table costs about 3.
const COST_OF_SCAN: f64 = 30.0;
const COST_OF_READ: f64 = 0.05;
const COST_OF_ROW: f64 = 2.0;
/// The number of chunks that are sampled to estimate the number of strings of a column.
const CHUNKS_SAMPLED: usize = 16;

/// The figures of a table that estimates use.
#[derive(Debug, Clone)]
pub(crate) struct TableFigures {
    version: (TableId, DefinitionVersion, ChunkId),
    row_count: f64,
    /// The first and last times and the rows of chunks.
    chunks: Vec<(i64, i64, f64)>,
    /// The number of strings of mapped columns, by position.
    string_counts: BTreeMap<usize, f64>,
}

/// The estimate of a plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Estimate {
    pub(crate) rows: f64,
    pub(crate) cost: f64,
}

/// The bounds of the time, as far as SQLite knows them while it plans.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TimeBounds {
    None,
    Known(StoredBounds),
    /// The number of bounds that are given by parameters.
    Unknown(usize),
}

impl TableFigures {
    /// Whether they still describe a table in a snapshot.
    pub(crate) fn are_of(&self, snapshot: &ReadSnapshot, table: &Table) -> bool {
        version(snapshot, table).is_some_and(|version| version == self.version)
    }

    pub(crate) fn of(snapshot: &ReadSnapshot, table: &Table) -> Option<Self> {
        let version = version(snapshot, table)?;
        let entries = snapshot.chunks(table).ok()?;
        let stride = (entries.len() / CHUNKS_SAMPLED).max(1);
        let mut string_counts = BTreeMap::new();
        for entry in entries.iter().step_by(stride) {
            let descriptor = snapshot.descriptor(table, entry).ok()?;
            for (position, column) in table.definition.columns.iter().enumerate().filter(|(_, c)| c.map.is_some()) {
                if let Some(Bound::UInt(max)) = descriptor.page(column.id).and_then(|page| page.statistics.max.clone())
                {
                    let count = string_counts.entry(position).or_insert(1.0_f64);
                    *count = count.max(max as f64 + 1.0);
                }
            }
        }
        let chunks: Vec<_> =
            entries.iter().map(|entry| (entry.time_min, entry.time_max, f64::from(entry.row_count))).collect();
        let row_count = chunks.iter().map(|(_, _, rows)| rows).sum();
        Some(Self { version, row_count, chunks, string_counts })
    }

    /// The share of the rows with times in bounds, and the share of the rows in chunks that have such times.
    fn time_share(&self, bounds: TimeBounds, scale: i64) -> (f64, f64) {
        let bounds = match bounds {
            TimeBounds::None => return (1.0, 1.0),
            TimeBounds::Unknown(1) => return (0.3, 0.35),
            TimeBounds::Unknown(_) => return (0.05, 0.06),
            TimeBounds::Known(bounds) => bounds,
        };
        let (first, last) = (bounds.first.saturating_mul(scale), bounds.last.saturating_mul(scale));
        let (mut inside, mut read) = (0.0, 0.0);
        for (time_min, time_max, rows) in &self.chunks {
            if *time_max < first || last < *time_min {
                continue;
            }
            let span = (*time_max as f64 - *time_min as f64).max(1.0);
            let overlap = (last.min(*time_max) as f64 - first.max(*time_min) as f64).max(0.0);
            inside += rows * (overlap / span).clamp(1.0 / rows.max(1.0), 1.0);
            read += rows;
        }
        let all = self.row_count.max(1.0);
        (inside / all, read / all)
    }

    /// Estimates a plan.
    pub(crate) fn estimate(&self, table: &Table, plan: &Plan, time: TimeBounds) -> Estimate {
        let time_position = table.definition.time_column().and_then(|time| table.definition.position(&time.name).ok());
        let (mut share, mut share_read) = self.time_share(time, table.definition.time_scale());
        for term in &plan.terms {
            let Some(column) = term.column else {
                let is_one = matches!(term.operator, Operator::Equal | Operator::Is);
                let of_all = if is_one { 1.0 / self.row_count.max(1.0) } else { 0.3 };
                share *= of_all;
                share_read *= if is_one { 1.0 / self.chunks.len().max(1) as f64 } else { of_all };
                continue;
            };
            if Some(column) == time_position && !matches!(term.operator, Operator::In) {
                continue;
            }
            let equal = self.string_counts.get(&column).map_or(0.05, |count| 1.0 / count);
            share *= match term.operator {
                Operator::Equal | Operator::Is => equal,
                Operator::In => (equal * 4.0).min(0.5),
                Operator::IsNull => 0.05,
                Operator::IsNotNull => 0.95,
                _ => 0.3,
            };
        }
        let rows = (self.row_count * share).max(1.0);
        Estimate { rows, cost: COST_OF_SCAN + self.row_count * share_read * COST_OF_READ + rows * COST_OF_ROW }
    }
}

fn version(snapshot: &ReadSnapshot, table: &Table) -> Option<(TableId, DefinitionVersion, ChunkId)> {
    Some((table.id, table.version, snapshot.newest_chunk().ok()?))
}
