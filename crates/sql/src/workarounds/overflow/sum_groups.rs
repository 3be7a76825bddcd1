//! Sums of many groups at once.

use super::wide_sum::{add_to, each_of, state_of, states_of, sums_as, too_wide};
use crate::workarounds::filters::unwanted;
use datafusion::arrow::array::{Array, ArrayRef, BooleanArray, Decimal128Array};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::nullif;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use std::sync::Arc;

pub(super) struct SumGroups {
    result: DataType,
    sums: Vec<i128>,
    /// True for groups that have a value. The sum of others is NULL.
    seen: Vec<bool>,
}

impl SumGroups {
    pub(super) fn new(result: DataType) -> Self {
        Self { result, sums: Vec::new(), seen: Vec::new() }
    }
}

impl GroupsAccumulator for SumGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.sums.resize(total_num_groups, 0);
        self.seen.resize(total_num_groups, false);
        let (sums, seen) = (&mut self.sums, &mut self.seen);
        let mut is_beyond = false;
        let mut add = |row: usize, value: i128| {
            let group = group_indices[row];
            is_beyond |= add_to(&mut sums[group], value);
            seen[group] = true;
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
        self.update_batch(values, group_indices, None, total_num_groups)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let sums = emit_to.take_needed(&mut self.sums);
        let seen = emit_to.take_needed(&mut self.seen);
        let seen = NullBuffer::from(seen);
        sums_as(sums, seen, &self.result)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let sums = emit_to.take_needed(&mut self.sums);
        let seen = NullBuffer::from(emit_to.take_needed(&mut self.seen));
        Ok(vec![Arc::new(Decimal128Array::new(sums.into(), Some(seen)).with_data_type(state_of(&self.result)))])
    }

    fn convert_to_state(&self, values: &[ArrayRef], opt_filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let sums = states_of(&values[0])?;
        match opt_filter {
            None => Ok(vec![sums]),
            Some(filter) => Ok(vec![nullif(&sums, &unwanted(filter))?]),
        }
    }

    fn size(&self) -> usize {
        self.sums.capacity() * size_of::<i128>() + self.seen.capacity()
    }
}
