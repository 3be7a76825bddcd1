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

/// The latest time of each series in the chunks read so far.
#[derive(Debug)]
pub struct LatestRows {
    /// The position in the table's definition of the mapped column that identifies the series.
    column: usize,
    /// For each index of its dictionary, and last for NULL, the latest time read so far.
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

    /// Whether a chunk of the scan can hold a row that is the latest of its series.
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
        let null = self.found.len() - 1;
        let series_of = |row: usize| if indices.is_null(row) { null } else { indices.value(row) as usize };
        if (0..indices.len()).any(|row| series_of(row) > null || (indices.is_valid(row) && series_of(row) == null)) {
            return Err(Error::corrupt("a row has an index beyond the end of its dictionary"));
        }
        for row in (0..times.len()).filter(|row| selection.holds(*row)) {
            let found = &mut self.found[series_of(row)];
            *found = (*found).max(Some(times.value(row)));
        }
        let mut latest = BooleanBufferBuilder::new(times.len());
        for row in 0..times.len() {
            latest.append(selection.holds(row) && self.found[series_of(row)] == Some(times.value(row)));
        }
        Ok(BooleanArray::new(latest.finish(), None))
    }
}
