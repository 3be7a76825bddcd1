//! `sum` and `avg` of floats in a sliding frame, such as `ROWS BETWEEN 9 PRECEDING AND CURRENT ROW`. DataFusion
//! subtracts what leaves the frame. So an infinite value or a NaN stays in all later frames, and a large value takes
//! the digits of small ones with it. PostgreSQL adds the values of each frame, and nothing is subtracted here either.
//!
//! Part of [`overflow`](super).

use super::frame_values::FrameValues;
use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, FieldRef, Float64Type};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::Accumulator;

/// Whether these are the arguments of an aggregate of floats.
pub(super) fn are_floats(fields: &[FieldRef]) -> bool {
    matches!(fields, [field] if *field.data_type() == DataType::Float64)
}

/// The sum of a frame, or its average.
#[derive(Debug)]
pub(super) struct SlidingFloats {
    is_average: bool,
    values: FrameValues<f64>,
}

impl SlidingFloats {
    pub(super) fn new(is_average: bool) -> Self {
        Self { is_average, values: FrameValues::<f64>::new(|first, next| first + next) }
    }
}

impl Accumulator for SlidingFloats {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for value in values[0].as_primitive::<Float64Type>().iter().flatten() {
            self.values.enter(value);
        }
        Ok(())
    }

    /// The values that leave are those that entered first.
    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.values.leave(values[0].len() - values[0].null_count());
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let count = self.values.count() as f64;
        let value = self.values.joined().map(|sum| if self.is_average { sum / count } else { sum });
        Ok(ScalarValue::Float64(value))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.values.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        internal_err!("a frame has no partial state")
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        internal_err!("a frame has no partial state")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::Float64Array;
    use std::sync::Arc;

    fn column(values: &[Option<f64>]) -> Vec<ArrayRef> {
        vec![Arc::new(Float64Array::from(values.to_vec()))]
    }

    #[test]
    fn what_has_left_a_frame_leaves_nothing_behind() {
        let values = [Some(f64::INFINITY), None, Some(1e15), Some(f64::NAN), Some(1.0), Some(2.0), Some(3.0)];
        let (mut sum, mut average) = (SlidingFloats::new(false), SlidingFloats::new(true));
        let mut found = Vec::new();
        for (at, value) in values.iter().enumerate() {
            for frame in [&mut sum, &mut average] {
                frame.update_batch(&column(&[*value])).unwrap();
                if at >= 2 {
                    frame.retract_batch(&column(&[values[at - 2]])).unwrap();
                }
            }
            found.push((sum.evaluate().unwrap().to_string(), average.evaluate().unwrap().to_string()));
        }
        let expected = [
            ("inf", "inf"),
            ("inf", "inf"),
            ("1000000000000000", "1000000000000000"),
            ("NaN", "NaN"),
            ("NaN", "NaN"),
            ("3", "1.5"),
            ("5", "2.5"),
        ];
        assert_eq!(found, expected.map(|(sum, average)| (sum.to_owned(), average.to_owned())));
    }

    #[test]
    fn a_frame_without_values_has_no_sum() {
        let mut sum = SlidingFloats::new(false);
        sum.update_batch(&column(&[Some(1.0), None])).unwrap();
        sum.retract_batch(&column(&[Some(1.0)])).unwrap();
        assert!(sum.evaluate().unwrap().is_null());
    }
}
