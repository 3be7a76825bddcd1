//! `min` and `max` of floats for many groups. DataFusion's start with the largest finite number, so a group that holds
//! only infinities does not find its value, and they forget a NaN when a number follows. Intervals are compared by
//! their length. Other types are left to DataFusion.
//!
//! The results of growing and shrinking frames are not taken for sorted: NULL is the least and the greatest value of a
//! frame without values, and DataFusion's order of it is not that of the rows. No issue describes it.
//!
//! [#24432](https://github.com/apache/datafusion/issues/24432) is closed upstream, but 55.2 has no fix.

use crate::functions::base::of_inner::of_inner;
use crate::functions::base::text_types::TextType;
use crate::workarounds::shared::filters::unwanted;
use crate::workarounds::times::intervals::average::INTERVAL;
use crate::workarounds::times::intervals::extremes::{ExtremeLength, ExtremeLengthOfWindow};
use datafusion::arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, PrimitiveArray};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::nullif;
use datafusion::arrow::datatypes::{ArrowNativeTypeOp, DataType, FieldRef, Float32Type, Float64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF, SetMonotonicity,
    StatisticsArgs,
};
use std::sync::Arc;

/// Replaces DataFusion's `min` and `max`.
pub(crate) fn register(context: &SessionContext) {
    let state = context.state();
    for name in ["min", "max"] {
        if let Some(inner) = state.aggregate_functions().get(name) {
            context.register_udaf(AggregateUDF::new_from_impl(Extreme::new(Arc::clone(inner))));
        }
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Extreme {
    inner: Arc<AggregateUDF>,
    is_max: bool,
}

impl Extreme {
    /// `inner` is `min` or `max`.
    fn new(inner: Arc<AggregateUDF>) -> Self {
        let is_max = inner.name() == "max";
        Self { inner, is_max }
    }
}

impl AggregateUDFImpl for Extreme {
    of_inner!(name, aliases, signature, coerce_types, return_type, documentation);

    /// The result is a label of an enumerated type, or an address, if the values are.
    fn return_field(&self, args: &[FieldRef]) -> Result<FieldRef> {
        let field = self.inner.return_field(args)?;
        Ok(match args.first().and_then(|value| TextType::of(value)).filter(TextType::has_own_order) {
            Some(of) => Arc::new(of.mark(field.as_ref().clone())),
            None => field,
        })
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        if *args.return_field.data_type() == INTERVAL {
            return Ok(Box::new(ExtremeLength::new(self.is_max)));
        }
        self.inner.accumulator(args)
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        if *args.return_field.data_type() == INTERVAL {
            return Ok(Box::new(ExtremeLengthOfWindow::new(self.is_max)));
        }
        self.inner.create_sliding_accumulator(args)
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        self.inner.state_fields(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        *args.return_field.data_type() != INTERVAL && self.inner.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        match args.return_field.data_type() {
            DataType::Float64 => Ok(Box::new(Groups::<Float64Type>::new(self.is_max))),
            DataType::Float32 => Ok(Box::new(Groups::<Float32Type>::new(self.is_max))),
            _ => self.inner.create_groups_accumulator(args),
        }
    }

    fn is_descending(&self) -> Option<bool> {
        self.inner.is_descending()
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn value_from_stats(&self, statistics: &StatisticsArgs<'_>) -> Option<ScalarValue> {
        self.inner.value_from_stats(statistics)
    }

    /// A window's result is NULL until its frame has a value, so it is not sorted as DataFusion takes it to be.
    fn set_monotonicity(&self, _: &DataType) -> SetMonotonicity {
        SetMonotonicity::NotMonotonic
    }
}

/// The least or greatest value of each group, in the order of `ORDER BY`.
struct Groups<T: ArrowPrimitiveType> {
    is_max: bool,
    values: Vec<T::Native>,
    seen: Vec<bool>,
}

impl<T: ArrowPrimitiveType> Groups<T> {
    fn new(is_max: bool) -> Self {
        Self { is_max, values: Vec::new(), seen: Vec::new() }
    }
}

impl<T: ArrowPrimitiveType> GroupsAccumulator for Groups<T> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        let values = values[0].as_primitive::<T>();
        self.values.resize(total_num_groups, T::Native::ZERO);
        self.seen.resize(total_num_groups, false);
        let unfiltered = values.null_count() == 0 && opt_filter.is_none();
        for (row, (&group, &value)) in group_indices.iter().zip(values.values()).enumerate() {
            let is_wanted = || values.is_valid(row) && opt_filter.is_none_or(|of| of.is_valid(row) && of.value(row));
            if !unfiltered && !is_wanted() {
                continue;
            }
            let found = self.values[group];
            let is_better = if self.is_max { value.is_gt(found) } else { value.is_lt(found) };
            if is_better || !self.seen[group] {
                self.values[group] = value;
                self.seen[group] = true;
            }
        }
        Ok(())
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.update_batch(values, group_indices, None, total_num_groups)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let values = emit_to.take_needed(&mut self.values);
        let seen = NullBuffer::from(emit_to.take_needed(&mut self.seen));
        Ok(Arc::new(PrimitiveArray::<T>::new(values.into(), Some(seen))))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(emit_to)?])
    }

    fn convert_to_state(&self, values: &[ArrayRef], opt_filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        match opt_filter {
            None => Ok(vec![Arc::clone(&values[0])]),
            Some(filter) => Ok(vec![nullif(&values[0], &unwanted(filter))?]),
        }
    }

    fn size(&self) -> usize {
        self.values.capacity() * size_of::<T::Native>() + self.seen.capacity()
    }
}
