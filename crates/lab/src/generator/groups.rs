//! The rows of `groupby`, as db-benchmark's generator draws them: six columns to group by and three of values, each
//! uniform and independent of the others. `K` small groups and `N / K` large ones: with 10 million rows and K = 100 it
//! is the data set that is called `G1_1e7_1e2_0_0` there. Below 400,000 rows K is smaller, so that a group of two
//! small columns keeps 40 rows.

use crate::generator::random::Random;
use arrow::array::{ArrayRef, Float64Array, Int32Array, RecordBatch, StringArray};
use std::sync::Arc;

/// The maximum of K.
pub const SMALL_MAX: u64 = 100;
/// The minimum number of rows in a group of two small columns, unless there are too few rows for two groups.
const ROWS_OF_A_PAIR: u64 = 40;
/// The integers that are summed are from 1 to these.
const VALUES_MAX: (i64, i64) = (5, 15);
/// A value of the last column is below 100 and has six decimals.
const FRACTIONS: (u64, f64) = (100_000_000, 1e6);

/// Makes the rows of a seed, in order.
#[derive(Debug, Clone)]
pub struct GroupsGenerator {
    random: Random,
    /// K.
    small: u64,
    /// N / K.
    large: u64,
}

impl GroupsGenerator {
    /// Creates the generator of a seed, for a table of this many rows.
    pub fn new(seed: u64, rows: u64) -> Self {
        let small = (rows / ROWS_OF_A_PAIR).isqrt().clamp(2, SMALL_MAX);
        Self { random: Random::new(seed, 40), small, large: (rows / small).max(1) }
    }

    /// The next rows, as a batch: `id1` to `id6`, `v1` to `v3`.
    pub fn batch(&mut self, rows: usize) -> RecordBatch {
        let (small, large) = (self.small, self.large);
        let columns: Vec<(String, ArrayRef)> = vec![
            ("id1".to_owned(), self.texts(rows, small, 3)),
            ("id2".to_owned(), self.texts(rows, small, 3)),
            ("id3".to_owned(), self.texts(rows, large, 10)),
            ("id4".to_owned(), self.integers(rows, small as i64)),
            ("id5".to_owned(), self.integers(rows, small as i64)),
            ("id6".to_owned(), self.integers(rows, large as i64)),
            ("v1".to_owned(), self.integers(rows, VALUES_MAX.0)),
            ("v2".to_owned(), self.integers(rows, VALUES_MAX.1)),
            ("v3".to_owned(), self.fractions(rows)),
        ];
        RecordBatch::try_from_iter(columns).expect("columns of one length")
    }

    /// `id` and a number from 1 to `groups`, filled up with zeros.
    fn texts(&mut self, rows: usize, groups: u64, digits: usize) -> ArrayRef {
        let text = |_| format!("id{:0digits$}", 1 + self.random.below(groups));
        Arc::new(StringArray::from_iter_values((0..rows).map(text)))
    }

    fn integers(&mut self, rows: usize, last: i64) -> ArrayRef {
        Arc::new(Int32Array::from_iter_values((0..rows).map(|_| self.random.between(1, last) as i32)))
    }

    fn fractions(&mut self, rows: usize) -> ArrayRef {
        let fraction = |_| self.random.below(FRACTIONS.0) as f64 / FRACTIONS.1;
        Arc::new(Float64Array::from_iter_values((0..rows).map(fraction)))
    }
}
