//! `sum(DISTINCT ...)` of integers and decimals.

use super::wide_sum::{WideSum, each_of, value};
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
    sum: WideSum,
}

impl DistinctSum {
    pub(super) fn new(result: DataType) -> Self {
        Self { result, counts: HashMap::new(), sum: WideSum::default() }
    }

    /// Returns the sum of the distinct values, and their number.
    pub(super) fn sum_and_count(&self) -> Result<(i128, u64)> {
        Ok((self.sum.checked()?, self.counts.len() as u64))
    }

    fn add(&mut self, values: &ArrayRef) -> Result<()> {
        each_of(values, |_, value| {
            let count = self.counts.entry(value).or_default();
            if *count == 0 {
                self.sum.add(value);
            }
            *count += 1;
        })
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
                    self.sum.subtract(value);
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
        let sum = self.sum.checked()?;
        value((!self.counts.is_empty()).then_some(sum), &self.result)
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.counts.capacity() * size_of::<(i128, u64)>()
    }
}
