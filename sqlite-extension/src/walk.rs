//! The choice of the chunks to read next, and the sorting of rows by time.
//!
//! Without an order, chunks are read one by one. In the order of time, chunks whose times overlap are read together and
//! their rows sorted. If that would be too many rows, their range of times is cut into windows, and each window reads
//! the chunks again: decoding costs much less than what SQLite does with a row.

use crate::error::of_store;
use crate::filter::Request;
use crate::plan::{OrderBy, ScanOrder};
use crate::rows::{ChunkRows, first_rowid, last_rowid};
use crate::stores::Stores;
use atsdb_core::{ColumnType, Table};
use atsdb_engine::{ReadSnapshot, Scan, ScanRequest};
use rusqlite::Result;
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

/// The approximate number of rows that are sorted at once.
const WINDOW_ROWS: u64 = 1 << 20;
/// The number of times of a group that are sampled to cut it into windows.
const SAMPLES: u64 = 1 << 18;

/// A scan in progress.
pub(crate) struct ScanProgress {
    stores: Arc<Stores>,
    snapshot: Arc<ReadSnapshot>,
    table: Table,
    request: ScanRequest,
    rowids: RangeInclusive<i64>,
    scan: Scan,
    types: Vec<ColumnType>,
    order: Option<ScanOrder>,
    /// The time column among the columns of the scan, for the order of time.
    time_at: usize,
    steps: VecDeque<WalkStep>,
    /// How many chunks were read since SQLite asked for more rows.
    chunks_read: usize,
}

/// The next step of reading: chunks by their positions in the scan.
enum WalkStep {
    Chunk(usize),
    /// Chunks whose times overlap.
    Group(Vec<usize>),
    /// The rows of a group in a range of times, both ends inclusive.
    Window(Vec<usize>, (i64, i64)),
}

/// Rows that were read.
pub(crate) struct ReadRows {
    pub(crate) chunks: Vec<ChunkRows>,
    order: RowOrder,
}

enum RowOrder {
    /// Rows of the one chunk.
    Ascending(Range<usize>),
    Descending(Range<usize>),
    /// Chunks and rows.
    Sorted(Vec<(u32, u32)>),
}

impl ReadRows {
    pub(crate) fn len(&self) -> usize {
        match &self.order {
            RowOrder::Ascending(rows) | RowOrder::Descending(rows) => rows.len(),
            RowOrder::Sorted(rows) => rows.len(),
        }
    }

    /// The chunk and the row at a position.
    pub(crate) fn at(&self, position: usize) -> (&ChunkRows, usize) {
        match &self.order {
            RowOrder::Ascending(rows) => (&self.chunks[0], rows.start + position),
            RowOrder::Descending(rows) => (&self.chunks[0], rows.end - 1 - position),
            RowOrder::Sorted(rows) => {
                let (chunk, row) = rows[position];
                (&self.chunks[chunk as usize], row as usize)
            }
        }
    }
}

impl ScanProgress {
    pub(crate) fn new(
        stores: Arc<Stores>,
        snapshot: Arc<ReadSnapshot>,
        table: &Table,
        request: Request,
        order: Option<ScanOrder>,
    ) -> Result<Self> {
        let Request { scan: mut request, rowids } = request;
        let time = table.definition.time_column().and_then(|time| table.definition.position(&time.name).ok());
        let mut time_at = 0;
        if let (Some(ScanOrder { by: OrderBy::Time, .. }), Some(time)) = (order, time) {
            time_at = request.columns.iter().position(|column| *column == time).unwrap_or_else(|| {
                request.columns.push(time);
                request.columns.len() - 1
            });
        }
        let scan = snapshot.scan(table, &request).map_err(of_store)?;
        let types = request.columns.iter().map(|column| table.definition.columns[*column].column_type).collect();
        let steps = steps(&scan, order, &rowids)?;
        let table = table.clone();
        Ok(Self { stores, snapshot, table, request, rowids, scan, types, order, time_at, steps, chunks_read: 0 })
    }

    /// The next rows, at least one, or `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<ReadRows>> {
        self.chunks_read = 0;
        while let Some(step) = self.steps.pop_front() {
            let rows = match step {
                WalkStep::Chunk(position) => self.read_chunk(position)?,
                WalkStep::Window(positions, within) => self.read_sorted(&positions, within)?,
                WalkStep::Group(positions) if self.row_count(&positions) <= WINDOW_ROWS => {
                    self.read_sorted(&positions, (i64::MIN, i64::MAX))?
                }
                WalkStep::Group(positions) => {
                    self.cut(&positions)?;
                    None
                }
            };
            if let Some(rows) = rows.filter(|rows| rows.len() > 0) {
                return Ok(Some(rows));
            }
        }
        Ok(None)
    }

    fn row_count(&self, positions: &[usize]) -> u64 {
        positions.iter().map(|position| u64::from(self.scan.chunks()[*position].entry.row_count)).sum()
    }

    /// Notes that a chunk is read, unless the statement was interrupted. Between rows SQLite checks for interrupts
    /// itself.
    fn note_chunk(&mut self) -> Result<()> {
        if self.chunks_read > 0 {
            self.stores.connection.check_interrupt()?;
        }
        self.chunks_read += 1;
        self.stores.count_chunk();
        Ok(())
    }

    fn decode(&mut self, position: usize) -> Result<Option<ChunkRows>> {
        self.note_chunk()?;
        let chunk = self.scan.chunks()[position].entry.id.0;
        let read = self.scan.read_numbered(position).map_err(of_store)?;
        read.map(|(rows, numbers)| ChunkRows::new(&rows, numbers, chunk, &self.types)).transpose()
    }

    fn read_chunk(&mut self, position: usize) -> Result<Option<ReadRows>> {
        let Some(rows) = self.decode(position)? else { return Ok(None) };
        let range = rows.rows_with(&self.rowids);
        let order = match self.order {
            Some(ScanOrder { descending: true, .. }) => RowOrder::Descending(range),
            _ => RowOrder::Ascending(range),
        };
        Ok(Some(ReadRows { chunks: vec![rows], order }))
    }

    /// Reads chunks, and sorts their rows in a range of times by time.
    fn read_sorted(&mut self, positions: &[usize], within: (i64, i64)) -> Result<Option<ReadRows>> {
        let (first, last) = within;
        let scale = self.table.definition.time_scale();
        let (mut chunks, mut keys) = (Vec::new(), Vec::new());
        for position in positions {
            let entry = &self.scan.chunks()[*position].entry;
            if entry.time_max < first || last < entry.time_min {
                continue;
            }
            let Some(rows) = self.decode(*position)? else { continue };
            let number = chunks.len() as u32;
            for row in rows.rows_with(&self.rowids) {
                let time = rows.time(self.time_at, row).saturating_mul(scale);
                if first <= time && time <= last {
                    keys.push((time, number, row as u32));
                }
            }
            chunks.push(rows);
        }
        match self.order {
            Some(ScanOrder { descending: true, .. }) => keys.sort_unstable_by_key(|key| Reverse(*key)),
            _ => keys.sort_unstable(),
        }
        let order = RowOrder::Sorted(keys.into_iter().map(|(_, chunk, row)| (chunk, row)).collect());
        Ok(Some(ReadRows { chunks, order }))
    }

    /// Cuts the time of a group into windows of about [`WINDOW_ROWS`] rows.
    fn cut(&mut self, positions: &[usize]) -> Result<()> {
        let row_count = self.row_count(positions);
        let stride = (row_count / SAMPLES).max(1);
        let mut samples = self.sample(positions, stride)?;
        samples.sort_unstable();
        let windows = windows(&samples, (WINDOW_ROWS / stride).max(1) as usize);
        let mut steps = Vec::new();
        for (first, last) in windows {
            if first == last {
                // All times are equal, so any order is correct, and the chunks need not be in memory together.
                steps.extend(positions.iter().map(|position| WalkStep::Window(vec![*position], (first, last))));
            } else {
                steps.push(WalkStep::Window(positions.to_vec(), (first, last)));
            }
        }
        if self.order.is_some_and(|order| order.descending) {
            steps.reverse();
        }
        steps.into_iter().rev().for_each(|step| self.steps.push_front(step));
        Ok(())
    }

    /// Every `stride`-th time of the rows of chunks.
    fn sample(&mut self, positions: &[usize], stride: u64) -> Result<Vec<i64>> {
        let columns = vec![self.request.columns[self.time_at]];
        let times =
            self.snapshot.scan(&self.table, &ScanRequest { columns, ..self.request.clone() }).map_err(of_store)?;
        let scale = self.table.definition.time_scale();
        let mut samples = Vec::new();
        for position in positions {
            self.note_chunk()?;
            // The scans have the same chunks, since they are of one snapshot.
            let Some((rows, numbers)) = times.read_numbered(*position).map_err(of_store)? else { continue };
            let rows = ChunkRows::new(&rows, numbers, 0, &[self.types[self.time_at]])?;
            let picked = (0..rows.len()).step_by(usize::try_from(stride).unwrap_or(usize::MAX));
            samples.extend(picked.map(|row| rows.time(0, row).saturating_mul(scale)));
        }
        Ok(samples)
    }
}

/// Windows over all times with about `per_window` of the samples each. A time that many samples share gets a window for
/// itself.
fn windows(samples: &[i64], per_window: usize) -> Vec<(i64, i64)> {
    // The first times of windows.
    let mut starts = vec![i64::MIN];
    let mut at = per_window;
    while let Some(time) = samples.get(at) {
        starts.push(*time);
        let is_frequent = samples.get(at + per_window / 2).is_some_and(|later| later == time);
        if is_frequent && *time < i64::MAX {
            starts.push(*time + 1);
        }
        at += per_window;
    }
    starts.sort_unstable();
    starts.dedup();
    let ends = starts.iter().skip(1).map(|start| start - 1).chain([i64::MAX]);
    starts.iter().copied().zip(ends).collect()
}

/// The steps of reading, in the wanted order.
fn steps(scan: &Scan, order: Option<ScanOrder>, rowids: &RangeInclusive<i64>) -> Result<VecDeque<WalkStep>> {
    let mut positions = Vec::with_capacity(scan.chunks().len());
    for (position, chunk) in scan.chunks().iter().enumerate() {
        let first = first_rowid(chunk.entry.id.0)?;
        if first <= *rowids.end() && *rowids.start() <= last_rowid(first) {
            positions.push(position);
        }
    }
    let entry = |position: &usize| &scan.chunks()[*position].entry;
    let mut steps: Vec<WalkStep> = match order.map(|order| order.by) {
        Some(OrderBy::Time) => {
            positions.sort_by_key(|position| entry(position).time_min);
            let mut groups: Vec<(i64, Vec<usize>)> = Vec::new();
            for position in positions {
                let (time_min, time_max) = (entry(&position).time_min, entry(&position).time_max);
                match groups.last_mut().filter(|(end, _)| time_min <= *end) {
                    Some((end, group)) => {
                        *end = time_max.max(*end);
                        group.push(position);
                    }
                    None => groups.push((time_max, vec![position])),
                }
            }
            groups.into_iter().map(|(_, group)| WalkStep::Group(group)).collect()
        }
        Some(OrderBy::Rowid) => {
            positions.sort_by_key(|position| entry(position).id);
            positions.into_iter().map(WalkStep::Chunk).collect()
        }
        None => positions.into_iter().map(WalkStep::Chunk).collect(),
    };
    if order.is_some_and(|order| order.descending) {
        steps.reverse();
    }
    Ok(steps.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_cover_all_times_once_and_frequent_times_are_alone() {
        for samples in [vec![], (0..100).collect::<Vec<i64>>(), vec![7; 100], {
            let mut mixed: Vec<i64> = (0..50).chain([50; 100]).chain(51..99).collect();
            mixed.sort_unstable();
            mixed
        }] {
            let windows = windows(&samples, 10);
            assert_eq!((windows[0].0, windows[windows.len() - 1].1), (i64::MIN, i64::MAX));
            for pair in windows.windows(2) {
                assert_eq!(pair[0].1 + 1, pair[1].0, "{windows:?}");
            }
            let inside =
                |(first, last): &(i64, i64)| samples.iter().filter(|time| (first..=last).contains(time)).count();
            let large = windows.iter().filter(|window| inside(window) > 21 && window.0 != window.1).count();
            assert_eq!(large, 0, "{windows:?}");
        }
    }
}
