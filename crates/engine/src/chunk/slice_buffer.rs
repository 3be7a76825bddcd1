//! Buffers rows in stored form until they fill a chunk, slice by slice.

use crate::chunk::long_values::LongValues;
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, UInt32Array};
use arrow::compute::{cast, concat_batches, max, min, take_record_batch};
use arrow::datatypes::{DataType, Int64Type};
use atsdb_core::limits::{CHUNK_ROWS_MAX, CHUNK_TEXT_BYTES_MAX};
use atsdb_core::{Error, Result, Slice, TableDefinition};
use std::collections::BTreeMap;
use std::ops::Range;

/// The rows of a future chunk: at most [`CHUNK_ROWS_MAX`], all of one slice, in order of arrival.
pub(crate) struct ChunkRows {
    pub(crate) slice: Slice,
    pub(crate) time_min: i64,
    pub(crate) time_max: i64,
    pub(crate) rows: RecordBatch,
}

/// The waiting rows of one table.
#[derive(Default)]
pub(crate) struct SliceBuffer {
    slices: BTreeMap<i64, SliceRows>,
    byte_count: usize,
}

struct SliceRows {
    slice: Slice,
    time_min: i64,
    time_max: i64,
    row_count: usize,
    text_bytes: usize,
    batches: Vec<RecordBatch>,
}

impl SliceBuffer {
    /// Adds rows and returns the chunks that are now full.
    pub(crate) fn push(&mut self, definition: &TableDefinition, rows: RecordBatch) -> Result<Vec<ChunkRows>> {
        let mut full = Vec::new();
        for part in split_by_slice(definition, rows)? {
            let part = self.fill(definition, part, &mut full)?;
            for piece in cut(definition, part) {
                self.add(piece, &mut full)?;
            }
        }
        Ok(full)
    }

    /// Size of the waiting rows in bytes.
    pub(crate) fn byte_count(&self) -> usize {
        self.byte_count
    }

    /// Takes all waiting rows as chunks.
    pub(crate) fn drain(&mut self) -> Result<Vec<ChunkRows>> {
        self.byte_count = 0;
        std::mem::take(&mut self.slices).into_values().map(SliceRows::finish).collect()
    }

    /// Completes the waiting chunk of a part's slice with the part's first rows, if it has more than are missing.
    /// Returns the other rows.
    fn fill(&mut self, definition: &TableDefinition, part: ChunkRows, full: &mut Vec<ChunkRows>) -> Result<ChunkRows> {
        let Some(waiting) = self.slices.get(&part.slice.start) else { return Ok(part) };
        let (row_count, missing) = (part.rows.num_rows(), CHUNK_ROWS_MAX - waiting.row_count);
        if missing == 0 || row_count <= missing {
            return Ok(part);
        }
        let first = part.range(definition, 0..missing);
        if waiting.text_bytes + text_byte_count(&first.rows) > CHUNK_TEXT_BYTES_MAX {
            return Ok(part);
        }
        self.add(first, full)?;
        Ok(part.range(definition, missing..row_count))
    }

    fn add(&mut self, piece: ChunkRows, full: &mut Vec<ChunkRows>) -> Result<()> {
        let (rows, text_bytes) = (piece.rows.num_rows(), text_byte_count(&piece.rows));
        let is_full = |rows, text_bytes| rows > CHUNK_ROWS_MAX || text_bytes > CHUNK_TEXT_BYTES_MAX;
        if let Some(waiting) = self.slices.get(&piece.slice.start)
            && is_full(waiting.row_count + rows, waiting.text_bytes + text_bytes)
        {
            full.extend(self.take(piece.slice.start).transpose()?);
        }
        if rows == CHUNK_ROWS_MAX {
            full.push(piece);
            return Ok(());
        }
        self.byte_count += piece.rows.get_array_memory_size();
        let waiting = self.slices.entry(piece.slice.start).or_insert_with(|| SliceRows {
            slice: piece.slice,
            time_min: piece.time_min,
            time_max: piece.time_max,
            row_count: 0,
            text_bytes: 0,
            batches: Vec::new(),
        });
        waiting.time_min = waiting.time_min.min(piece.time_min);
        waiting.time_max = waiting.time_max.max(piece.time_max);
        waiting.row_count += rows;
        waiting.text_bytes += text_bytes;
        waiting.batches.push(piece.rows);
        Ok(())
    }

    fn take(&mut self, slice_start: i64) -> Option<Result<ChunkRows>> {
        let waiting = self.slices.remove(&slice_start)?;
        let byte_count: usize = waiting.batches.iter().map(RecordBatch::get_array_memory_size).sum();
        self.byte_count = self.byte_count.saturating_sub(byte_count);
        Some(waiting.finish())
    }
}

impl SliceRows {
    fn finish(mut self) -> Result<ChunkRows> {
        let rows = match self.batches.len() {
            1 => self.batches.remove(0),
            _ => concat_batches(&self.batches[0].schema(), &self.batches)?,
        };
        Ok(ChunkRows { slice: self.slice, time_min: self.time_min, time_max: self.time_max, rows })
    }
}

impl ChunkRows {
    /// Some of the rows.
    fn range(&self, definition: &TableDefinition, rows: Range<usize>) -> Self {
        let rows = self.rows.slice(rows.start, rows.len());
        let (time_min, time_max) = match times_of(definition, &rows) {
            Ok(Some(times)) => (min(&times).unwrap_or(self.time_min), max(&times).unwrap_or(self.time_max)),
            _ => (self.time_min, self.time_max),
        };
        Self { slice: self.slice, time_min, time_max, rows }
    }
}

/// The values of the time column, in the table's unit. The caller has checked that no time is NULL.
pub(crate) fn times_of(definition: &TableDefinition, rows: &RecordBatch) -> Result<Option<arrow::array::Int64Array>> {
    let Some(column) = definition.time_column() else { return Ok(None) };
    let position = definition.columns.iter().position(|other| other.id == column.id);
    let array = rows.column(position.ok_or_else(|| Error::internal("no time column"))?);
    times_from(definition, array).map(Some)
}

/// The values of an array of the time column's stored type, in the table's unit.
pub(crate) fn times_from(definition: &TableDefinition, array: &ArrayRef) -> Result<arrow::array::Int64Array> {
    let signed = match array.data_type() {
        DataType::Int64 => array.clone(),
        DataType::Date32 => cast(&cast(array, &DataType::Int32)?, &DataType::Int64)?,
        DataType::UInt64 => {
            let values = array.as_primitive::<arrow::datatypes::UInt64Type>();
            if let Some(row) = values.values().iter().position(|time| i64::try_from(*time).is_err()) {
                let message =
                    format!("row {}: time {} does not fit into a signed 64-bit integer", row + 1, values.value(row));
                return Err(Error::invalid(message));
            }
            cast(array, &DataType::Int64)?
        }
        _ => cast(array, &DataType::Int64)?,
    };
    let times = signed.as_primitive::<Int64Type>().clone();
    match definition.time_scale() {
        1 => Ok(times),
        scale => Ok(times.unary(|time| time * scale)),
    }
}

fn split_by_slice(definition: &TableDefinition, rows: RecordBatch) -> Result<Vec<ChunkRows>> {
    if rows.num_rows() == 0 {
        return Ok(Vec::new());
    }
    let Some(times) = times_of(definition, &rows)? else {
        return Ok(vec![ChunkRows { slice: Slice::PLAIN, time_min: 0, time_max: 0, rows }]);
    };
    let (Some(time_min), Some(time_max)) = (min(&times), max(&times)) else {
        return Err(Error::internal("times without an end"));
    };
    let slice = definition.slice_of(time_min);
    if slice.contains(time_max) {
        return Ok(vec![ChunkRows { slice, time_min, time_max, rows }]);
    }
    let mut by_slice: BTreeMap<i64, (Slice, Vec<u32>)> = BTreeMap::new();
    let mut current = slice;
    for (row, time) in times.values().iter().enumerate() {
        if !current.contains(*time) {
            current = definition.slice_of(*time);
        }
        by_slice.entry(current.start).or_insert_with(|| (current, Vec::new())).1.push(row as u32);
    }
    by_slice.into_values().map(|(slice, numbers)| pick(&times, &rows, slice, numbers)).collect()
}

fn pick(times: &arrow::array::Int64Array, rows: &RecordBatch, slice: Slice, numbers: Vec<u32>) -> Result<ChunkRows> {
    let picked = || numbers.iter().map(|row| times.value(*row as usize));
    let (time_min, time_max) = (picked().min().unwrap_or(slice.start), picked().max().unwrap_or(slice.start));
    let rows = match (numbers.first(), numbers.last()) {
        // Rows usually arrive in order: then the rows of a slice are contiguous.
        (Some(first), Some(last)) if (last - first) as usize + 1 == numbers.len() => {
            rows.slice(*first as usize, numbers.len())
        }
        _ => take_record_batch(rows, &UInt32Array::from(numbers))?,
    };
    Ok(ChunkRows { slice, time_min, time_max, rows })
}

/// Splits rows of one slice into pieces that fit into a chunk.
fn cut(definition: &TableDefinition, part: ChunkRows) -> Vec<ChunkRows> {
    let row_count = part.rows.num_rows();
    let text_bytes = text_byte_count(&part.rows);
    if row_count <= CHUNK_ROWS_MAX && (text_bytes <= CHUNK_TEXT_BYTES_MAX || row_count == 1) {
        return vec![part];
    }
    let length = match text_bytes > CHUNK_TEXT_BYTES_MAX {
        true => row_count.div_ceil(2).min(CHUNK_ROWS_MAX),
        false => CHUNK_ROWS_MAX,
    };
    let starts = (0..row_count).step_by(length);
    let pieces = starts.map(|start| part.range(definition, start..(start + length).min(row_count)));
    pieces.flat_map(|piece| cut(definition, piece)).collect()
}

/// The bytes that the long values of some rows count for in a chunk's limit.
fn text_byte_count(rows: &RecordBatch) -> usize {
    rows.columns().iter().filter_map(LongValues::of).map(|values| values.chunk_bytes(0..values.row_count())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Int64Array, StringArray};
    use atsdb_codec::stored_schema;
    use atsdb_core::{ColumnType, SliceWidth, TimeUnit};
    use std::sync::Arc;

    /// The chunks of rows at consecutive seconds, which come in batches of these lengths.
    fn chunks_of(lengths: &[usize]) -> Vec<ChunkRows> {
        let definition = TableDefinition::new("t").with_column("time", ColumnType::Int64, None);
        let definition = definition.with_time("time", TimeUnit::Second).unwrap();
        let definition = TableDefinition { slice: SliceWidth::Year, ..definition };
        let (mut slices, mut chunks, mut start) = (SliceBuffer::default(), Vec::new(), 0);
        for length in lengths {
            let times: ArrayRef = Arc::new(Int64Array::from_iter_values(start..start + *length as i64));
            let rows = RecordBatch::try_new(stored_schema(&definition), vec![times]).unwrap();
            chunks.extend(slices.push(&definition, rows).unwrap());
            start += *length as i64;
        }
        chunks.extend(slices.drain().unwrap());
        assert_eq!(slices.byte_count(), 0);
        chunks
    }

    #[test]
    fn batches_of_any_length_fill_chunks() {
        for (lengths, expected) in [
            (vec![100_000; 4], vec![CHUNK_ROWS_MAX, CHUNK_ROWS_MAX, CHUNK_ROWS_MAX, 6_784]),
            (vec![70_000; 3], vec![CHUNK_ROWS_MAX, 78_928]),
            (vec![65_536, 65_536, 1], vec![CHUNK_ROWS_MAX, 1]),
            (vec![65_536, 65_536, 200_000], vec![CHUNK_ROWS_MAX, CHUNK_ROWS_MAX, 68_928]),
            (vec![1, 300_000], vec![CHUNK_ROWS_MAX, CHUNK_ROWS_MAX, 37_857]),
            (vec![CHUNK_ROWS_MAX, 5], vec![CHUNK_ROWS_MAX, 5]),
            (vec![5, 0, 6], vec![11]),
        ] {
            let chunks = chunks_of(&lengths);
            let row_counts: Vec<usize> = chunks.iter().map(|chunk| chunk.rows.num_rows()).collect();
            assert_eq!(row_counts, expected, "{lengths:?}");
            let mut next = 0;
            for chunk in chunks {
                let times = chunk.rows.column(0).as_primitive::<Int64Type>();
                let last = next + times.len() as i64 - 1;
                assert_eq!((chunk.time_min, chunk.time_max), (next, last), "{lengths:?}");
                assert!(times.values().iter().copied().eq(next..=last), "{lengths:?}: rows stay in order");
                next = last + 1;
            }
        }
    }

    #[test]
    fn a_chunk_is_not_filled_beyond_its_bytes_of_text() {
        let definition = TableDefinition::new("t").with_column("s", ColumnType::Text, None);
        let rows = |text: String, count: usize| {
            let texts: ArrayRef = Arc::new(StringArray::from_iter_values(std::iter::repeat_n(text, count)));
            RecordBatch::try_new(stored_schema(&definition), vec![texts]).unwrap()
        };
        let mut slices = SliceBuffer::default();
        let half = rows("x".repeat(CHUNK_TEXT_BYTES_MAX / 2), 1);
        assert!(slices.push(&definition, half).unwrap().is_empty());
        let mut chunks = slices.push(&definition, rows("x".repeat(300), CHUNK_ROWS_MAX)).unwrap();
        chunks.extend(slices.drain().unwrap());
        let row_counts: Vec<usize> = chunks.iter().map(|chunk| chunk.rows.num_rows()).collect();
        assert_eq!(row_counts, [1, CHUNK_ROWS_MAX]);
    }
}
