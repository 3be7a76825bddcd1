//! Exact averages of many groups at once.

use super::wide_sum::{add_to, average_type, decimal_average, each_of, states_of, too_wide};
use crate::text::decimals::DIGITS_MAX;
use crate::workarounds::filters::unwanted;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Decimal128Array, UInt64Array};
use datafusion::arrow::compute::nullif;
use datafusion::arrow::datatypes::{DataType, UInt64Type};
use datafusion::common::Result;
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use std::sync::Arc;

pub(super) struct AverageGroups {
    sums: Vec<i128>,
    counts: Vec<u64>,
    /// The digits behind the point of the values.
    scale: i8,
}

impl AverageGroups {
    pub(super) fn new(scale: i8) -> Self {
        Self { sums: Vec::new(), counts: Vec::new(), scale }
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
        let (sums, counts) = (&mut self.sums, &mut self.counts);
        let mut is_beyond = false;
        let mut add = |row: usize, value: i128| {
            let group = group_indices[row];
            is_beyond |= add_to(&mut sums[group], value);
            counts[group] += 1;
        };
        match opt_filter {
            None => each_of(&values[0], add)?,
            Some(filter) => each_of(&values[0], |row, value| {
                if filter.is_valid(row) && filter.value(row) {
                    add(row, value);
                }
            })?,
        }
        if is_beyond { Err(too_wide("sum")) } else { Ok(()) }
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.reserve(total_num_groups);
        let (sums, counts) = (&mut self.sums, &mut self.counts);
        let more = values[1].as_primitive::<UInt64Type>().values();
        // The partial sum of a row without a value is NULL, and is skipped.
        let mut is_beyond = false;
        each_of(&values[0], |row, sum| {
            let group = group_indices[row];
            is_beyond |= add_to(&mut sums[group], sum);
            counts[group] += more[row];
        })?;
        if is_beyond { Err(too_wide("sum")) } else { Ok(()) }
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let sums = emit_to.take_needed(&mut self.sums);
        let counts = emit_to.take_needed(&mut self.counts);
        let average = |(sum, count)| match count {
            0 => Ok(None),
            count => decimal_average(sum, count, self.scale).map(Some),
        };
        let averages = sums.into_iter().zip(counts).map(average).collect::<Result<Decimal128Array>>()?;
        Ok(Arc::new(averages.with_data_type(average_type(self.scale))))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let sums = emit_to.take_needed(&mut self.sums);
        let counts = emit_to.take_needed(&mut self.counts);
        let sums = Decimal128Array::new(sums.into(), None).with_data_type(DataType::Decimal128(DIGITS_MAX, self.scale));
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
