//! Exact averages of many groups at once.

use super::wide_sum::{Scales, add, check, each_kept, each_of, states_of};
use crate::workarounds::shared::filters::unwanted;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Decimal128Array, UInt64Array};
use datafusion::arrow::compute::nullif;
use datafusion::arrow::datatypes::UInt64Type;
use datafusion::common::Result;
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use std::sync::Arc;

pub(super) struct AverageGroups {
    scales: Scales,
    sums: Vec<i128>,
    /// Whether a sum has exceeded 128 bits.
    overflows: bool,
    counts: Vec<u64>,
}

impl AverageGroups {
    pub(super) fn new(scales: Scales) -> Self {
        Self { scales, sums: Vec::new(), overflows: false, counts: Vec::new() }
    }

    fn reserve(&mut self, group_count: usize) {
        self.sums.resize(group_count, 0);
        self.counts.resize(group_count, 0);
    }
}

impl GroupsAccumulator for AverageGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.reserve(total_num_groups);
        let (sums, overflows, counts) = (&mut self.sums, &mut self.overflows, &mut self.counts);
        each_kept(&values[0], opt_filter, |row, value| {
            let group = group_indices[row];
            add(&mut sums[group], value, overflows);
            counts[group] += 1;
        })
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.reserve(total_num_groups);
        let (sums, overflows, counts) = (&mut self.sums, &mut self.overflows, &mut self.counts);
        let more = values[1].as_primitive::<UInt64Type>().values();
        // The partial sum of a row without a value is NULL, and is skipped.
        each_of(&values[0], |row, sum| {
            let group = group_indices[row];
            add(&mut sums[group], sum, overflows);
            counts[group] += more[row];
        })
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        check(self.overflows)?;
        let sums = emit_to.take_needed(&mut self.sums);
        let counts = emit_to.take_needed(&mut self.counts);
        let average = |(sum, count)| (count > 0).then(|| self.scales.average(sum, count));
        let averages = sums.into_iter().zip(counts).map(average).collect::<Decimal128Array>();
        Ok(Arc::new(averages.with_data_type(self.scales.average_type())))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        check(self.overflows)?;
        let sums = emit_to.take_needed(&mut self.sums);
        let counts = emit_to.take_needed(&mut self.counts);
        let sums = Decimal128Array::new(sums.into(), None).with_data_type(self.scales.sum_type());
        Ok(vec![Arc::new(sums), Arc::new(UInt64Array::from(counts))])
    }

    fn convert_to_state(&self, values: &[ArrayRef], opt_filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let mut sums = states_of(&values[0])?;
        if let Some(filter) = opt_filter {
            sums = nullif(&sums, &unwanted(filter))?;
        }
        let counts: Vec<u64> = match sums.nulls() {
            None => vec![1; sums.len()],
            Some(nulls) => nulls.iter().map(u64::from).collect(),
        };
        Ok(vec![sums, Arc::new(UInt64Array::from(counts))])
    }

    fn size(&self) -> usize {
        self.sums.capacity() * size_of::<i128>() + self.counts.capacity() * size_of::<u64>()
    }
}
