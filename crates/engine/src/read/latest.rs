//! The latest rows of each series, found without reading older chunks.
//!
//! Chunks are read in order of their latest times. From each chunk, only those rows are returned that are at least as
//! late as all earlier rows of their series. A chunk is skipped once every series that it can hold has a later row than
//! the whole chunk. A series is one index of a mapped column, or NULL.

use crate::chunk::missing::column_statistics;
use crate::chunk::slice_buffer::times_from;
use crate::read::condition::RowSelection;
use crate::read::scan::Scan;
use crate::read::scan_chunk::ScanChunk;
use arrow::array::{Array, AsArray, BooleanArray, BooleanBufferBuilder, Int64Array, RecordBatch, UInt32Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, UInt32Type};
use atsdb_core::{Bound, Error, Result};
use std::borrow::Cow;
use std::ops::Range;

/// The latest time of each series in the chunks read so far.
#[derive(Debug)]
pub struct LatestRows {
    /// The position in the table's definition of the mapped column that identifies the series.
    column: usize,
    /// The latest time read so far for each index of its dictionary, and at the end for NULL.
    found: Vec<Option<i64>>,
    /// Series that the predicates of the scan exclude.
    ruled_out: Vec<bool>,
}

impl LatestRows {
    /// Starts for a scan that reads `column`. `None` if the column is not mapped or the table has no time column.
    pub fn new(scan: &Scan, column: usize) -> Option<Self> {
        scan.table.definition.time_column()?;
        let series_count = scan.dictionaries.get(column)?.as_ref()?.len();
        let mut ruled_out = vec![false; series_count + 1];
        let conditions = scan.conditions.iter().filter(|condition| condition.predicate.column == column);
        for matching in conditions.filter_map(|condition| condition.matching.as_ref()) {
            // Only IS NULL selects NULL, and it has no matching strings.
            (0..series_count).for_each(|index| ruled_out[index] |= !matching.value(index));
        }
        Some(Self { column, found: vec![None; series_count + 1], ruled_out })
    }

    /// The order in which the chunks must be read: by their latest times, descending.
    pub fn order(scan: &Scan) -> Vec<usize> {
        let chunks = scan.chunks();
        let mut order: Vec<usize> = (0..chunks.len()).collect();
        order.sort_by_key(|position| std::cmp::Reverse(chunks[*position].entry.time_max));
        order
    }

    /// Returns whether a chunk of the scan can hold a row that is the latest of its series.
    pub fn can_add(&self, scan: &Scan, position: usize) -> bool {
        let Some(ScanChunk { entry, descriptor }) = scan.chunks().get(position) else { return false };
        // A chunk that is older than the column may have a value other than NULL in all of its rows.
        let statistics = column_statistics(descriptor, &scan.table.definition.columns[self.column]);
        let null = self.found.len() - 1;
        let (first, last) = match (&statistics.min, &statistics.max) {
            (Some(Bound::UInt(min)), Some(Bound::UInt(max))) => (*min as usize, (*max as usize).saturating_add(1)),
            _ => (0, null),
        };
        let any = (first..last.min(null)).any(|index| self.can_be_later(index, entry.time_max));
        any || (statistics.null_count > 0 && self.can_be_later(null, entry.time_max))
    }

    /// Rows with the same time as the latest one are latest rows, too.
    fn can_be_later(&self, series: usize, time: i64) -> bool {
        !self.ruled_out[series] && self.found[series].is_none_or(|found| found <= time)
    }

    /// The rows of a chunk that are the latest of their series in the chunks read so far. `None` if there are none.
    pub fn read(&mut self, scan: &Scan, position: usize) -> Result<Option<RecordBatch>> {
        let chunk =
            scan.chunks().get(position).ok_or_else(|| Error::usage(format!("the scan has no chunk {position}")))?;
        let Some(selection) = scan.select(chunk)? else { return Ok(None) };
        let definition = &scan.table.definition;
        let Some(time) = definition.time_column() else { return Ok(None) };
        let stored = scan.load(chunk, &[time, &definition.columns[self.column]])?;
        let times = times_from(definition, &stored[0])?;
        let indices = cast(&stored[1], &DataType::UInt32)?;
        let latest = self.latest_rows(&times, indices.as_primitive::<UInt32Type>(), &selection)?;
        if !latest.has_true() {
            return Ok(None);
        }
        scan.read_selected(chunk, &RowSelection::of(latest)).map(Some)
    }

    fn latest_rows(
        &mut self,
        times: &Int64Array,
        indices: &UInt32Array,
        selection: &RowSelection,
    ) -> Result<BooleanArray> {
        let candidates = self.add_times(times.values(), &self.series(indices)?, selection);
        let mut latest = BooleanBufferBuilder::new(times.len());
        for Candidate { rows, series, latest_time } in candidates {
            if self.found[series] == Some(latest_time) {
                latest.append_n(rows.start - latest.len(), false);
                times.values()[rows].iter().for_each(|time| latest.append(*time == latest_time));
            }
        }
        latest.append_n(times.len() - latest.len(), false);
        Ok(BooleanArray::new(latest.finish(), None))
    }

    /// The series of each row.
    fn series<'a>(&self, indices: &'a UInt32Array) -> Result<Cow<'a, [u32]>> {
        let null = self.found.len() - 1;
        let is_beyond = |index: Option<u32>| index.is_some_and(|index| index as usize >= null);
        let beyond = match indices.null_count() {
            0 => indices.values().iter().any(|index| *index as usize >= null),
            _ => indices.iter().any(is_beyond),
        };
        if beyond {
            return Err(Error::corrupt("a row has an index beyond the end of its dictionary"));
        }
        Ok(match indices.null_count() {
            0 => Cow::Borrowed(indices.values()),
            _ => {
                let null = u32::try_from(null).map_err(|_| Error::internal("too many strings in a dictionary"))?;
                indices.iter().map(|index| index.unwrap_or(null)).collect()
            }
        })
    }

    /// Compares the times of the selected rows with the latest ones known. Rows of one series that are adjacent, as
    /// they are in sealed chunks, are compared at once. Returns those among which the latest row of a series may be.
    fn add_times(&mut self, times: &[i64], series: &[u32], selection: &RowSelection) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        for selected in selection.runs(series.len()) {
            let mut start = selected.start;
            for equal in series[selected].chunk_by(|one, next| one == next) {
                let rows = start..start + equal.len();
                start = rows.end;
                let Some(latest_time) = times[rows.clone()].iter().copied().max() else { continue };
                let series = equal[0] as usize;
                if self.found[series].is_none_or(|found| found <= latest_time) {
                    self.found[series] = Some(latest_time);
                    candidates.push(Candidate { rows, series, latest_time });
                }
            }
        }
        candidates
    }
}

/// Adjacent rows of one series, none of whose earlier rows is later.
struct Candidate {
    rows: Range<usize>,
    series: usize,
    latest_time: i64,
}
