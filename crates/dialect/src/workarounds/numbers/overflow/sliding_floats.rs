//! `sum` and `avg` of floats in a sliding frame, such as `ROWS BETWEEN 9 PRECEDING AND CURRENT ROW`. DataFusion
//! subtracts what leaves the frame. So an infinite value or a NaN stays in all later frames, and a large value takes
//! the digits of small ones with it. PostgreSQL adds the values of each frame, and nothing is subtracted here either.
//!
//! Part of [`overflow`](super).

use super::frame_accumulator::{FrameAccumulator, FrameAggregate};
use super::frame_values::FrameValues;
use super::one_nan;
use datafusion::arrow::array::{ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Accumulator;
use datafusion::logical_expr::function::AccumulatorArgs;

/// An aggregate of the floats in a frame.
#[derive(Debug, Clone, Copy)]
pub(super) enum SlidingFloats {
    Sum,
    Average,
}

impl SlidingFloats {
    /// The accumulator of a sliding frame; `None` if the values are no floats, or only distinct ones count.
    pub(super) fn accumulator(self, args: &AccumulatorArgs<'_>) -> Option<Box<dyn Accumulator>> {
        let are_floats = matches!(args.expr_fields, [field] if *field.data_type() == DataType::Float64);
        (are_floats && !args.is_distinct).then(|| Box::new(FrameAccumulator::new(self)) as Box<dyn Accumulator>)
    }
}

impl FrameAggregate for SlidingFloats {
    type Part = f64;

    fn parts(arguments: &[ArrayRef]) -> impl Iterator<Item = f64> {
        arguments[0].as_primitive::<Float64Type>().iter().flatten()
    }

    fn join(first: f64, next: f64) -> f64 {
        first + next
    }

    fn value(&self, frame: &FrameValues<f64>) -> ScalarValue {
        let value = |sum: f64| match self {
            Self::Sum => sum,
            Self::Average => sum / frame.count() as f64,
        };
        ScalarValue::Float64(frame.joined().map(|sum| one_nan::number(value(sum))))
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
        let mut sum = FrameAccumulator::new(SlidingFloats::Sum);
        let mut average = FrameAccumulator::new(SlidingFloats::Average);
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
        let mut sum = FrameAccumulator::new(SlidingFloats::Sum);
        sum.update_batch(&column(&[Some(1.0), None])).unwrap();
        sum.retract_batch(&column(&[Some(1.0)])).unwrap();
        assert!(sum.evaluate().unwrap().is_null());
    }
}
