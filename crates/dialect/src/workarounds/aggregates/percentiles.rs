//! `percentile_cont` with all digits of the weight between two values.
//!
//! DataFusion 55.2 cuts the weight after six digits, so that the percentile 0.95 of eight values, which is 65
//! hundredths of the way between two of them, is not exactly there. It still collects the values. Waits for
//! [#25266](https://github.com/apache/datafusion/issues/25266).

use crate::functions::base::of_inner::of_inner;
use datafusion::arrow::array::{ArrayRef, AsArray, BooleanArray, Float64Array, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, FieldRef, Float64Type, Schema};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::function::{AccumulatorArgs, AggregateFunctionSimplification, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, EmitTo, GroupsAccumulator};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use std::sync::Arc;

/// The name of the function.
pub const PERCENTILE: &str = "percentile_cont";

/// Replaces DataFusion's function.
pub(crate) fn register(context: &SessionContext) {
    if let Some(inner) = context.state().aggregate_functions().get(PERCENTILE) {
        context.register_udaf(AggregateUDF::new_from_impl(Percentile { inner: Arc::clone(inner) }));
    }
}

/// The part of the values that come before a percentile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fraction {
    value: f64,
    is_descending: bool,
}

impl Fraction {
    /// The fraction of a call, which is its second argument. `None` if that is not a constant from 0 to 1.
    pub fn of(arguments: &[Arc<dyn PhysicalExpr>], order: &[PhysicalSortExpr]) -> Option<Self> {
        let no_rows = RecordBatch::new_empty(Arc::new(Schema::empty()));
        let ColumnarValue::Scalar(value) = arguments.get(1)?.evaluate(&no_rows).ok()? else { return None };
        let ScalarValue::Float64(Some(value)) = value.cast_to(&DataType::Float64).ok()? else { return None };
        let is_descending = order.first().is_some_and(|key| key.options.descending);
        (0.0..=1.0).contains(&value).then_some(Self { value, is_descending })
    }

    /// The percentile of some numbers, in the total order of floating-point numbers. Between two of them it is as far
    /// from the first as the fraction says. `None` if there are no numbers, which are left in another order.
    pub fn percentile(self, values: &mut [f64]) -> Option<f64> {
        let last = values.len().checked_sub(1)?;
        let position = self.value * last as f64;
        let before = (position.floor() as usize).min(last);
        let weight = position - before as f64;
        let at = if self.is_descending { last - before } else { before };
        let (below, first, above) = values.select_nth_unstable_by(at, f64::total_cmp);
        let first = *first;
        let second = match self.is_descending {
            true => below.iter().copied().max_by(f64::total_cmp),
            false => above.iter().copied().min_by(f64::total_cmp),
        };
        Some(match second {
            Some(second) if weight > 0.0 && second != first => first + weight * (second - first),
            _ => first,
        })
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Percentile {
    inner: Arc<AggregateUDF>,
}

impl AggregateUDFImpl for Percentile {
    of_inner!(name, aliases, signature, return_type, documentation);

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        self.inner.state_fields(args)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let (fraction, result) = (Fraction::of(args.exprs, args.order_bys), args.return_field.data_type().clone());
        let is_null = args.expr_fields[0].data_type().is_null();
        let inner = self.inner.accumulator(args)?;
        Ok(match fraction.filter(|_| !is_null) {
            Some(fraction) => Box::new(Values { inner, fraction, result }),
            None => inner,
        })
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        self.inner.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        let (fraction, result) = (Fraction::of(args.exprs, args.order_bys), args.return_field.data_type().clone());
        let inner = self.inner.create_groups_accumulator(args)?;
        Ok(match fraction {
            Some(fraction) => Box::new(GroupedValues { inner, fraction, result }),
            None => inner,
        })
    }

    fn simplify(&self) -> Option<AggregateFunctionSimplification> {
        self.inner.simplify()
    }

    fn supports_within_group_clause(&self) -> bool {
        true
    }
}

/// The percentile of each list of an array.
fn percentiles(lists: &ArrayRef, fraction: Fraction, result: &DataType) -> Result<ArrayRef> {
    let percentile = |list: Option<ArrayRef>| {
        let Some(list) = list else { return Ok(None) };
        let numbers = cast(&list, &DataType::Float64)?;
        let mut values: Vec<f64> = numbers.as_primitive::<Float64Type>().iter().flatten().collect();
        Ok(fraction.percentile(&mut values))
    };
    let percentiles = lists.as_list::<i32>().iter().map(percentile).collect::<Result<Float64Array>>()?;
    Ok(cast(&percentiles, result)?)
}

/// The values of one group, as DataFusion's accumulator collects them.
#[derive(Debug)]
struct Values {
    inner: Box<dyn Accumulator>,
    fraction: Fraction,
    result: DataType,
}

impl Accumulator for Values {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.update_batch(values)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.inner.merge_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.inner.state()
    }

    /// A window function still needs the values, which the state consumes.
    fn evaluate(&mut self) -> Result<ScalarValue> {
        let state = self.inner.state()?.iter().map(ScalarValue::to_array).collect::<Result<Vec<_>>>()?;
        self.inner.merge_batch(&state)?;
        ScalarValue::try_from_array(&percentiles(&state[0], self.fraction, &self.result)?, 0)
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.retract_batch(values)
    }

    fn supports_retract_batch(&self) -> bool {
        self.inner.supports_retract_batch()
    }
}

/// The values of many groups, as DataFusion's accumulator collects them.
struct GroupedValues {
    inner: Box<dyn GroupsAccumulator>,
    fraction: Fraction,
    result: DataType,
}

impl GroupsAccumulator for GroupedValues {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.inner.update_batch(values, group_indices, opt_filter, total_num_groups)
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.inner.merge_batch(values, group_indices, total_num_groups)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        percentiles(&self.inner.state(emit_to)?[0], self.fraction, &self.result)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        self.inner.state(emit_to)
    }

    fn convert_to_state(&self, values: &[ArrayRef], opt_filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        self.inner.convert_to_state(values, opt_filter)
    }

    fn size(&self) -> usize {
        self.inner.size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_between_values_of_the_wanted_order() {
        let percentile = |value: f64, is_descending: bool, values: &[f64]| {
            Fraction { value, is_descending }.percentile(&mut values.to_vec())
        };
        let eight = [7.0, 3.0, 1.0, 1_000_007.0, 2.0, 5.0, 6.0, 4.0];
        assert_eq!(percentile(0.95, false, &eight), Some(7.0 + (0.95 * 7.0 - 6.0) * 1e6));
        assert_eq!(percentile(0.05, true, &eight), Some(1_000_007.0 - 0.05 * 7.0 * 1e6));
        assert_eq!(percentile(0.25, true, &[1.0, 2.0, 3.0, 4.0, 5.0]), Some(4.0));
        assert_eq!((percentile(0.0, false, &eight), percentile(0.0, true, &eight)), (Some(1.0), Some(1_000_007.0)));
        assert_eq!((percentile(1.0, false, &eight), percentile(1.0, true, &eight)), (Some(1_000_007.0), Some(1.0)));
        assert_eq!(percentile(0.5, false, &[f64::INFINITY; 2]), Some(f64::INFINITY));
        assert_eq!((percentile(0.5, false, &[]), percentile(0.5, true, &[3.0])), (None, Some(3.0)));
    }
}
