//! Sums of many groups at once.

use super::wide_sum::{add, check, each_kept, state_type, states_of, sums_as};
use crate::workarounds::shared::filters::unwanted;
use datafusion::arrow::array::{ArrayRef, BooleanArray, Decimal128Array};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::nullif;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use std::sync::Arc;

pub(super) struct SumGroups {
    result: DataType,
    sums: Vec<i128>,
    /// Whether a sum has exceeded 128 bits.
    overflows: bool,
    /// Whether a group has a value. The sum of a group without one is NULL.
    seen: Vec<bool>,
}

impl SumGroups {
    pub(super) fn new(result: DataType) -> Self {
        Self { result, sums: Vec::new(), overflows: false, seen: Vec::new() }
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
        let (sums, overflows, seen) = (&mut self.sums, &mut self.overflows, &mut self.seen);
        each_kept(&values[0], opt_filter, |row, value| {
            let group = group_indices[row];
            add(&mut sums[group], value, overflows);
            seen[group] = true;
        })
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.update_batch(values, group_indices, None, total_num_groups)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        check(self.overflows)?;
        let sums = emit_to.take_needed(&mut self.sums);
        let seen = emit_to.take_needed(&mut self.seen);
        let seen = NullBuffer::from(seen);
        sums_as(sums, seen, &self.result)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        check(self.overflows)?;
        let sums = emit_to.take_needed(&mut self.sums);
        let seen = NullBuffer::from(emit_to.take_needed(&mut self.seen));
        Ok(vec![Arc::new(Decimal128Array::new(sums.into(), Some(seen)).with_data_type(state_type(&self.result)))])
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
