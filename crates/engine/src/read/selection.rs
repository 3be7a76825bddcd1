//! The rows of a chunk that match a scan: those in its time range for which no condition is false or NULL.

use crate::chunk::slice_buffer::times_from;
use crate::chunk::time_runs::{self, TimeRuns, times_within};
use crate::read::condition::{Condition, RowSelection};
use crate::read::scan::Scan;
use crate::read::scan_chunk::ScanChunk;
use arrow::array::BooleanArray;
use atsdb_core::{Column, Result};
use std::ops::Range;
use std::sync::Arc;

/// The conditions that decide whether a row matches.
enum RowTest<'a> {
    Condition(&'a Condition),
    /// The time range.
    Time(&'a Column),
}

impl Scan {
    /// The rows of a chunk that can match. `None` if none can.
    pub(crate) fn select(&self, chunk: &ScanChunk) -> Result<Option<RowSelection>> {
        let definition = &self.table.definition;
        let row_count = chunk.entry.row_count as usize;
        // Rows with the same string are often adjacent, or the rows are in the order of time. Then only those found by
        // the string or by the time are examined further.
        let (mapped, others): (Vec<&Condition>, Vec<&Condition>) =
            self.conditions.iter().partition(|condition| condition.matching.is_some());
        let time = definition.time_column().filter(|_| self.is_cut_by_range(&chunk.entry));
        let (early, late) = match time {
            Some(column) if !mapped.is_empty() && self.is_in_order(chunk, column) => (time, None),
            _ => (None, time),
        };
        let mapped = mapped.into_iter().map(RowTest::Condition);
        let tests = early.map(RowTest::Time).into_iter().chain(mapped);
        let tests = tests.chain(late.map(RowTest::Time)).chain(others.into_iter().map(RowTest::Condition));
        let mut selection = RowSelection::All;
        for test in tests {
            let column = match test {
                RowTest::Condition(condition) if condition.matches_all(definition, chunk) => continue,
                RowTest::Condition(condition) => &definition.columns[condition.predicate.column],
                RowTest::Time(column) => column,
            };
            let (first, length) = selection.span(row_count);
            let matches = match test {
                RowTest::Condition(condition) => {
                    let values = self.load(chunk, &[column])?[0].slice(first, length);
                    if matches!(selection, RowSelection::All | RowSelection::Run(..))
                        && let Some(rows) = condition.run(&values)
                    {
                        if rows.is_empty() {
                            return Ok(None);
                        }
                        selection = RowSelection::Run(first + rows.start, rows.len());
                        continue;
                    }
                    condition.evaluate(column, &values)?
                }
                RowTest::Time(_) => Some(self.rows_in_range(chunk, column, first..first + length)?),
            };
            let Some(matches) = matches else { continue };
            match selection.narrowed(&matches, row_count)? {
                Some(narrowed) => selection = narrowed,
                None => return Ok(None),
            }
        }
        Ok(Some(selection))
    }

    /// For each of some rows of a chunk whether its time is in the range that is read.
    fn rows_in_range(&self, chunk: &ScanChunk, time: &Column, rows: Range<usize>) -> Result<BooleanArray> {
        let times = || times_from(&self.table.definition, &self.load(chunk, &[time])?[0]);
        // The runs of a long chunk are also found for a few rows, because later reads check whether it is in order.
        let runs = if self.has_runs(chunk) { Some(self.time_runs(chunk, time)?) } else { None };
        match runs.filter(|_| rows.len() >= time_runs::ROWS_MIN) {
            Some(runs) => runs.within(self.request().range, rows, times),
            None => Ok(times_within(&times()?.slice(rows.start, rows.len()), self.request().range)),
        }
    }

    fn time_runs(&self, chunk: &ScanChunk, time: &Column) -> Result<Arc<TimeRuns>> {
        let times = || times_from(&self.table.definition, &self.load(chunk, &[time])?[0]);
        let find = || times().map(|times| TimeRuns::of(times.values()));
        self.snapshot.shared.cache.time_runs(chunk.descriptor.uid, time.column_type, find)
    }

    /// Whether the rows of a chunk are known to be in the order of time. To find out, all times would have to be read,
    /// although a string may already show that no row matches.
    fn is_in_order(&self, chunk: &ScanChunk, time: &Column) -> bool {
        let known = || self.snapshot.shared.cache.known_time_runs(chunk.descriptor.uid, time.column_type);
        self.has_runs(chunk) && known().is_some_and(|runs| runs.is_in_order())
    }

    /// Whether the runs of a chunk's times are kept in the cache.
    fn has_runs(&self, chunk: &ScanChunk) -> bool {
        self.request().use_cache && chunk.entry.row_count as usize >= time_runs::ROWS_MIN
    }
}
