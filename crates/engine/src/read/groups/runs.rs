//! Cutting a batch into runs of rows with equal keys.

use super::key::{BucketOf, KeyValues, Packing};
use arrow::array::RecordBatch;
use arrow::buffer::{BooleanBuffer, NullBuffer};
use std::ops::Range;

/// Runs of rows: the start and the end of each run, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct Runs {
    starts: Vec<u32>,
    ends: Vec<u32>,
    /// The runs before the present key divides them further.
    before: Vec<Range<u32>>,
    row_count: usize,
}

/// A division of rows into spans, each of which is in one group.
#[derive(Debug, Clone, Copy)]
pub(super) enum Spans<'a> {
    /// Each run is a span.
    Runs(&'a Runs),
    /// Each row is a span.
    Rows,
}

impl Runs {
    /// Cuts the rows of a batch, or those of them for which `mask` is set.
    pub(super) fn cut(&mut self, packing: &Packing, batch: &RecordBatch, mask: Option<&BooleanBuffer>) {
        self.starts.clear();
        self.ends.clear();
        match mask {
            None if batch.num_rows() == 0 => {}
            None => self.push(0..batch.num_rows()),
            Some(mask) => mask.set_slices().for_each(|(start, end)| self.push(start..end)),
        }
        self.row_count = self.ranges().map(|rows| rows.len()).sum();
        for (values, nulls) in packing.values(batch) {
            match values {
                KeyValues::Bits8(values) => self.cut_by_values(&values, nulls),
                KeyValues::Bits16(values) => self.cut_by_values(&values, nulls),
                KeyValues::Bits32(values) => self.cut_by_values(&values, nulls),
                KeyValues::Bits64(values) => self.cut_by_values(&values, nulls),
                KeyValues::Buckets { times, bucket_of } => self.cut_by_buckets(&times, bucket_of),
            }
        }
    }

    fn push(&mut self, rows: Range<usize>) {
        self.starts.push(rows.start as u32);
        self.ends.push(rows.end as u32);
    }

    /// The first row of each run.
    pub(super) fn starts(&self) -> &[u32] {
        &self.starts
    }

    /// The rows of each run.
    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        self.starts.iter().zip(&self.ends).map(|(start, end)| *start as usize..*end as usize)
    }

    /// The number of rows in all runs.
    pub(super) fn row_count(&self) -> usize {
        self.row_count
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let bounds = self.starts.capacity() + self.ends.capacity();
        bounds * size_of::<u32>() + self.before.capacity() * size_of::<Range<u32>>()
    }

    /// Cuts each run further, by a function that appends the starts of the runs it finds after its first row.
    fn refine(&mut self, find: impl Fn(Range<usize>, &mut Vec<u32>)) {
        self.before.clear();
        self.before.extend(self.starts.iter().zip(&self.ends).map(|(start, end)| *start..*end));
        self.starts.clear();
        self.ends.clear();
        for rows in &self.before {
            self.starts.push(rows.start);
            let found = self.starts.len();
            find(rows.start as usize..rows.end as usize, &mut self.starts);
            self.ends.extend_from_slice(&self.starts[found..]);
            self.ends.push(rows.end);
        }
    }

    fn cut_by_values<T: Copy + PartialEq>(&mut self, values: &[T], nulls: Option<&NullBuffer>) {
        match nulls {
            None => self.refine(|rows, starts| {
                let start = rows.start;
                changes(&values[rows], |row| starts.push((start + row) as u32));
            }),
            // The value in a NULL row is arbitrary.
            Some(nulls) => self.refine(|rows, starts| {
                let value = |row: usize| nulls.is_valid(row).then(|| values[row]);
                let is_new = |row: &usize| value(*row) != value(row - 1);
                starts.extend((rows.start + 1..rows.end).filter(is_new).map(|row| row as u32));
            }),
        }
    }

    fn cut_by_buckets(&mut self, times: &[i64], bucket_of: &BucketOf) {
        // A time without a bucket is a separate run, and is reported when its key is packed.
        let bucket = |time: i64| bucket_of(time).unwrap_or((time, time));
        self.refine(|rows, starts| {
            let (mut first, mut last) = bucket(times[rows.start]);
            let start = rows.start;
            for (row, time) in times[rows].iter().enumerate().skip(1) {
                if *time < first || *time > last {
                    (first, last) = bucket(*time);
                    starts.push((start + row) as u32);
                }
            }
        });
    }
}

/// The number of values that are compared at once, without a branch for each.
const BLOCK: usize = 64;

/// Calls back with each position whose value differs from the one before.
fn changes<T: Copy + PartialEq>(values: &[T], mut found: impl FnMut(usize)) {
    let mut at = 1;
    while at < values.len() {
        let end = (at + BLOCK).min(values.len());
        let (block, before) = (&values[at..end], &values[at - 1..end - 1]);
        let differ = block.iter().zip(before).fold(false, |differ, (value, before)| differ | (value != before));
        if differ {
            for (offset, (value, before)) in block.iter().zip(before).enumerate() {
                if value != before {
                    found(at + offset);
                }
            }
        }
        at = end;
    }
}
