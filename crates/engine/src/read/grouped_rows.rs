//! Groups over the rows of a scan. A chunk is not read if its descriptor says what its rows add.

use crate::chunk::missing::column_statistics;
use crate::read::bounds::ColumnBounds;
use crate::read::condition::{Condition, RowSelection};
use crate::read::groups::{GroupKey, Groups, KeyBounds, Measure};
use crate::read::scan::Scan;
use crate::read::scan_chunk::ScanChunk;
use atsdb_core::{Bound, Column, Result};

impl Scan {
    /// Creates empty groups for the rows of this scan. `None` if a key or measure has a type that is not supported.
    pub fn groups(&self, keys: &[GroupKey], measures: &[Measure]) -> Option<Groups> {
        Groups::new(&self.schema(), keys, measures, |at| {
            self.key_bounds(&self.table.definition.columns[self.request().columns[at]])
        })
    }

    /// The bounds of a column of integers or indices, if the chunks' descriptors state them.
    fn key_bounds(&self, column: &Column) -> Option<KeyBounds> {
        let bounds = ColumnBounds::of(self.chunks(), column)?;
        let bits = |bound: Option<Bound>| match bound {
            None => Some(0),
            Some(Bound::Int(value)) => Some(value.cast_unsigned()),
            Some(Bound::UInt(value)) => Some(value),
            Some(_) => None,
        };
        Some(KeyBounds { min: bits(bounds.min)?, max: bits(bounds.max)?, has_nulls: bounds.null_count > 0 })
    }

    /// Adds the rows of one chunk, as [`read`](Self::read) returns them, to groups over the scan's schema. A chunk is
    /// not read if all its rows are in one group and its statistics are sufficient. Returns whether it was read.
    pub fn add_to(&self, groups: &mut Groups, position: usize) -> Result<bool> {
        let chunk = self.chunk(position)?;
        let matches_all = |condition: &Condition| condition.matches_all(&self.table.definition, chunk);
        if self.conditions.iter().all(matches_all) && !self.is_cut_by_range(&chunk.entry) {
            let column = |at: usize| &self.table.definition.columns[self.request().columns[at]];
            let statistics = |at: usize| column_statistics(&chunk.descriptor, column(at));
            if groups.add_summary(chunk.entry.row_count, statistics)? {
                return Ok(false);
            }
        }
        if groups.is_row_count() {
            groups.add_row_count(self.count(chunk)?)?;
            return Ok(true);
        }
        let Some(selection) = self.select(chunk)? else { return Ok(true) };
        match &selection {
            // Strings would be collected for rows that are not selected.
            RowSelection::Mask(mask) if !self.returns_strings() => {
                groups.add_selected(&self.read_selected(chunk, &RowSelection::All)?, Some(mask.values()))?;
            }
            _ => groups.add(&self.read_selected(chunk, &selection)?)?,
        }
        Ok(true)
    }

    /// The number of rows of a chunk that can match.
    fn count(&self, chunk: &ScanChunk) -> Result<u64> {
        if let [condition] = &*self.conditions
            && !self.is_cut_by_range(&chunk.entry)
            && let Some(column) = condition.counted_column(&self.table.definition, chunk)
            && let Some(count) = condition.count(column, &self.load(chunk, &[column])?[0])
        {
            return Ok(count as u64);
        }
        let row_count = chunk.entry.row_count as usize;
        Ok(self.select(chunk)?.map_or(0, |selection| selection.count(row_count)) as u64)
    }
}
