//! The rows of a chunk whose times are in the range of a scan.

use crate::chunk::slice_buffer::times_from;
use crate::chunk::time_runs::{self, TimeRuns, times_within};
use crate::read::scan::Scan;
use crate::read::scan_chunk::ScanChunk;
use arrow::array::{BooleanArray, Int64Array};
use atsdb_core::{Column, Result};
use std::ops::Range;
use std::sync::Arc;

impl Scan {
    /// Returns for each of some rows of a chunk whether its time is in the range that is read.
    pub(crate) fn rows_in_range(&self, chunk: &ScanChunk, time: &Column, rows: Range<usize>) -> Result<BooleanArray> {
        let times = || self.times(chunk, time);
        // The runs of a long chunk are also found for a few rows, because later reads check whether it is in order.
        let runs = if self.has_runs(chunk) { Some(self.time_runs(chunk, time)?) } else { None };
        match runs.filter(|_| rows.len() >= time_runs::ROWS_MIN) {
            Some(runs) => runs.within(self.request().range, rows, times),
            None => Ok(times_within(&times()?.slice(rows.start, rows.len()), self.request().range)),
        }
    }

    /// Returns those of some rows of a long chunk whose times are in the range that is read, if the chunk is in the
    /// order of time. `None` otherwise.
    pub(crate) fn adjacent_rows_in_range(
        &self,
        chunk: &ScanChunk,
        time: &Column,
        rows: Range<usize>,
    ) -> Result<Option<Range<usize>>> {
        if !self.has_runs(chunk) {
            return Ok(None);
        }
        self.time_runs(chunk, time)?.adjacent(self.request().range, rows, || self.times(chunk, time))
    }

    /// Returns whether the rows of a chunk are known to be in the order of time. To find out, all times would have to
    /// be read, although a string may already show that no row matches.
    pub(crate) fn is_in_order(&self, chunk: &ScanChunk, time: &Column) -> bool {
        let known = || self.snapshot.shared.cache.known_time_runs(chunk.descriptor.uid, time.column_type);
        self.has_runs(chunk) && known().is_some_and(|runs| runs.is_in_order())
    }

    fn times(&self, chunk: &ScanChunk, time: &Column) -> Result<Int64Array> {
        times_from(&self.table.definition, &self.load(chunk, &[time])?[0])
    }

    fn time_runs(&self, chunk: &ScanChunk, time: &Column) -> Result<Arc<TimeRuns>> {
        let find = || self.times(chunk, time).map(|times| TimeRuns::of(times.values()));
        self.snapshot.shared.cache.time_runs(chunk.descriptor.uid, time.column_type, find)
    }

    /// Returns whether the runs of a chunk's times are kept in the cache.
    fn has_runs(&self, chunk: &ScanChunk) -> bool {
        self.request().use_cache && chunk.entry.row_count as usize >= time_runs::ROWS_MIN
    }
}
