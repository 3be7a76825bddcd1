//! Cutting a batch into runs of rows with equal keys.

use super::key::{BucketOf, KeyValues, Packing};
use arrow::array::RecordBatch;
use arrow::buffer::NullBuffer;

/// Runs of rows: the start of each run, in order, and the end of the last one.
#[derive(Debug, Clone, Default)]
pub(super) struct Runs {
    starts: Vec<u32>,
    /// The starts of runs before the present key divides them further.
    before: Vec<u32>,
    row_count: u32,
}

impl Runs {
    /// Cuts a batch of at least one row.
    pub(super) fn cut(&mut self, packing: &Packing, batch: &RecordBatch) {
        self.row_count = batch.num_rows() as u32;
        self.starts.clear();
        self.starts.push(0);
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

    /// The first row of each run.
    pub(super) fn starts(&self) -> &[u32] {
        &self.starts
    }

    /// The rows of each run.
    pub(super) fn ranges(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        let ends = self.starts.iter().skip(1).copied().chain([self.row_count]);
        self.starts.iter().zip(ends).map(|(start, end)| *start as usize..end as usize)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        (self.starts.capacity() + self.before.capacity()) * size_of::<u32>()
    }

    /// Cuts each run further, by a function that appends the starts of the runs it finds after its first row.
    fn refine(&mut self, find: impl Fn(std::ops::Range<usize>, &mut Vec<u32>)) {
        std::mem::swap(&mut self.starts, &mut self.before);
        self.starts.clear();
        let ends = self.before.iter().skip(1).copied().chain([self.row_count]);
        for (start, end) in self.before.iter().zip(ends) {
            self.starts.push(*start);
            find(*start as usize..end as usize, &mut self.starts);
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

/// How many values are compared at once, without a branch for each.
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
