//! `sum(DISTINCT ...)` of integers and decimals.

use super::wide_sum::{add_to, each_of, too_wide, value};
use datafusion::arrow::array::{ArrayRef, AsArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Accumulator;
use std::collections::HashMap;

/// The sum of the distinct values of one group, or of the rows in a window.
#[derive(Debug)]
pub(super) struct DistinctSum {
    result: DataType,
    /// The number of occurrences of each value.
    counts: HashMap<i128, u64>,
    sum: i128,
}

impl DistinctSum {
    pub(super) fn new(result: DataType) -> Self {
        Self { result, counts: HashMap::new(), sum: 0 }
    }

    /// Returns the sum of the distinct values, and their number.
    pub(super) fn sum_and_count(&self) -> (i128, u64) {
        (self.sum, self.counts.len() as u64)
    }

    fn add(&mut self, values: &ArrayRef) -> Result<()> {
        let mut is_beyond = false;
        each_of(values, |_, value| {
            let count = self.counts.entry(value).or_default();
            if *count == 0 {
                is_beyond |= add_to(&mut self.sum, value);
            }
            *count += 1;
        })?;
        if is_beyond { Err(too_wide("sum")) } else { Ok(()) }
    }
}

impl Accumulator for DistinctSum {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.add(&values[0])
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        each_of(&values[0], |_, value| {
            if let Some(count) = self.counts.get_mut(&value) {
                *count -= 1;
                if *count == 0 {
                    self.counts.remove(&value);
                    self.sum -= value;
                }
            }
        })
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        states[0].as_list::<i32>().iter().flatten().try_for_each(|values| self.add(&values))
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let values = self.counts.keys().map(|of| value(Some(*of), &self.result));
        let values = values.collect::<Result<Vec<_>>>()?;
        Ok(vec![ScalarValue::List(ScalarValue::new_list_nullable(&values, &self.result))])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        value((!self.counts.is_empty()).then_some(self.sum), &self.result)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.counts.capacity() * size_of::<(i128, u64)>()
    }
}
