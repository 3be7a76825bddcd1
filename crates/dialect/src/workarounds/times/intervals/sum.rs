//! `sum` of intervals: months, days and the rest are added one by one. DataFusion's sum wraps around.
//!
//! Waits for [#3520](https://github.com/apache/datafusion/issues/3520).

use super::average::AverageLength;
use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::IntervalMonthDayNano;
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::Accumulator;

/// The sum of intervals. It has the state of their average.
#[derive(Debug, Default)]
pub(crate) struct LengthSum(AverageLength);

impl Accumulator for LengthSum {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.update_batch(values)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.retract_batch(values)
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.0.merge_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.0.state()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let Some((months, days, nanos)) = self.0.sums() else { return Ok(ScalarValue::IntervalMonthDayNano(None)) };
        match (i32::try_from(months), i32::try_from(days), i64::try_from(nanos)) {
            (Ok(months), Ok(days), Ok(nanoseconds)) => {
                let sum = IntervalMonthDayNano { months, days, nanoseconds };
                Ok(ScalarValue::IntervalMonthDayNano(Some(sum)))
            }
            _ => exec_err!("interval out of range"),
        }
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}
