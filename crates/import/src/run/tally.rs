//! The counts and bounds that are collected while rows are built.

use crate::build::column_values::Inexact;
use crate::build::{BuiltRows, UncountedColumns};
use crate::facts::distinct::Distinct;
use crate::facts::nulls::NullCounts;
use crate::facts::widened;
use crate::options::report::SkippedRecords;

/// The maximum number of distinct texts that are counted in all columns together. Beyond it, the column with the most
/// is no longer counted.
const DISTINCT_TOTAL_MAX: usize = 2_500_000;

/// The counters while rows are built.
pub(crate) struct Tally {
    pub(crate) row_count: u64,
    pub(crate) time_bounds: Option<(i64, i64)>,
    /// The distinct texts and the number of values of each column; `None` for columns that are not counted.
    pub(crate) distinct: Vec<Option<(Distinct, u64)>>,
    pub(crate) nulls: Vec<NullCounts>,
    pub(crate) inexact: Vec<Inexact>,
    pub(crate) skipped: SkippedRecords,
    /// Comments between the records.
    pub(crate) comment_count: u64,
    /// Records that repeat the header.
    pub(crate) header_count: u64,
}

impl Tally {
    pub(crate) fn new(column_count: usize) -> Self {
        Self {
            row_count: 0,
            time_bounds: None,
            distinct: vec![None; column_count],
            nulls: vec![NullCounts::default(); column_count],
            inexact: vec![Inexact::default(); column_count],
            skipped: SkippedRecords::default(),
            comment_count: 0,
            header_count: 0,
        }
    }

    /// Adds the rows of a block. Columns with too many distinct texts are added to `uncounted`.
    pub(crate) fn add(&mut self, rows: &BuiltRows, uncounted: &UncountedColumns) {
        self.row_count += rows.batch.num_rows() as u64;
        self.time_bounds = widened(self.time_bounds, rows.time_bounds);
        self.comment_count += rows.comment_count;
        self.header_count += rows.header_count;
        self.skipped.add_some(rows.skipped.iter().cloned(), rows.skipped.len() as u64);
        self.nulls.iter_mut().zip(&rows.nulls).for_each(|(all, new)| all.add_all(new));
        self.inexact.iter_mut().zip(&rows.inexact).for_each(|(all, new)| all.add(new));
        for (position, new) in rows.distinct.iter().enumerate() {
            let Some((new, value_count)) = new else { continue };
            let (all, all_values) = self.distinct[position].get_or_insert_with(Default::default);
            all.add_all(new);
            *all_values += value_count;
            if all.count().is_none() {
                uncounted.add(position);
            }
        }
        let count = |entry: &Option<(Distinct, u64)>| entry.as_ref().and_then(|(all, _)| all.count()).unwrap_or(0);
        while self.distinct.iter().map(count).sum::<usize>() > DISTINCT_TOTAL_MAX {
            if let Some(Some((largest, _))) = self.distinct.iter_mut().max_by_key(|entry| count(entry)) {
                largest.give_up();
            }
        }
    }
}
