//! The one NaN of SQL. Processors set the sign of NaN in some results, such as that of `Infinity - Infinity`, and
//! comparing and sorting distinguish NaNs by their bits. So results lose it where they are computed.
//!
//! Part of [`overflow`](super).

use datafusion::arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray};
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};
use std::sync::Arc;

/// A number without a sign of NaN.
pub(super) fn number(value: f64) -> f64 {
    if value.is_nan() { f64::NAN } else { value }
}

/// A value without a sign of NaN.
pub(super) fn value(value: ScalarValue) -> ScalarValue {
    match value {
        ScalarValue::Float64(Some(value)) if value.is_nan() => ScalarValue::Float64(Some(f64::NAN)),
        ScalarValue::Float32(Some(value)) if value.is_nan() => ScalarValue::Float32(Some(f32::NAN)),
        other => other,
    }
}

/// Values without a sign of NaN.
pub(super) fn values(values: ArrayRef) -> ArrayRef {
    match values.data_type() {
        DataType::Float64 => one_nan_of::<Float64Type>(values, f64::NAN),
        DataType::Float32 => one_nan_of::<Float32Type>(values, f32::NAN),
        _ => values,
    }
}

fn one_nan_of<T: ArrowPrimitiveType<Native: Into<f64>>>(values: ArrayRef, nan: T::Native) -> ArrayRef {
    let floats = values.as_primitive::<T>();
    let has_sign = |value: T::Native| {
        let value: f64 = value.into();
        value.is_nan() & value.is_sign_negative()
    };
    // All results are checked without a branch first, because nearly always there is none.
    if !floats.values().iter().fold(false, |found, value| found | has_sign(*value)) {
        return values;
    }
    Arc::new(floats.unary::<_, T>(|value| if has_sign(value) { nan } else { value }))
}

/// An aggregate of DataFusion's without a sign of NaN.
pub(super) fn of_rows(aggregate: Box<dyn Accumulator>) -> Box<dyn Accumulator> {
    Box::new(OneNan(aggregate))
}

/// An aggregate of DataFusion's over groups without a sign of NaN.
pub(super) fn of_groups(aggregate: Box<dyn GroupsAccumulator>) -> Box<dyn GroupsAccumulator> {
    Box::new(OneNanOfGroups(aggregate))
}

#[derive(Debug)]
struct OneNan(Box<dyn Accumulator>);

impl Accumulator for OneNan {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.update_batch(values)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.retract_batch(values)
    }

    fn supports_retract_batch(&self) -> bool {
        self.0.supports_retract_batch()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.0.merge_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.0.state()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.0.evaluate().map(value)
    }

    fn size(&self) -> usize {
        self.0.size()
    }
}

struct OneNanOfGroups(Box<dyn GroupsAccumulator>);

impl GroupsAccumulator for OneNanOfGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.0.update_batch(values, group_indices, opt_filter, total_num_groups)
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.0.merge_batch(values, group_indices, total_num_groups)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        self.0.evaluate(emit_to).map(values)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        self.0.state(emit_to)
    }

    fn convert_to_state(&self, values: &[ArrayRef], opt_filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        self.0.convert_to_state(values, opt_filter)
    }

    fn size(&self) -> usize {
        self.0.size()
    }
}
