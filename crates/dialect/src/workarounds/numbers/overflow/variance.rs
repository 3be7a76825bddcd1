//! `var_pop`, `var_samp`, `stddev_pop` and `stddev_samp`, by the [moments](Moments) by which tables compute them.
//! DataFusion's are 0 for a single infinite value, which has no variance, and no number for a large value that is
//! merged into an empty group. In a sliding frame, they subtract what leaves it: an infinite value or a NaN stays in
//! all later frames, and a variance may become negative. DataFusion has no standard deviation of distinct values.
//!
//! Part of [`overflow`](super).

use super::counted_moments::CountedMoments;
use super::frame_accumulator::{FrameAccumulator, FrameAggregate};
use super::frame_values::FrameValues;
use super::one_nan;
use crate::functions::base::arguments::is_wanted;
use crate::functions::base::of_inner::of_inner;
use atsdb_engine::Moments;
use datafusion::arrow::array::{ArrayRef, AsArray, BooleanArray, Float64Array, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Float64Type, UInt64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator};
use std::collections::HashSet;
use std::sync::Arc;

/// Replaces DataFusion's functions.
pub(super) fn register(context: &SessionContext) {
    let state = context.state();
    for (name, spread) in [
        ("var", Spread { is_sample: true, is_deviation: false }),
        ("var_pop", Spread { is_sample: false, is_deviation: false }),
        ("stddev", Spread { is_sample: true, is_deviation: true }),
        ("stddev_pop", Spread { is_sample: false, is_deviation: true }),
    ] {
        if let Some(inner) = state.aggregate_functions().get(name) {
            context.register_udaf(AggregateUDF::new_from_impl(Variance { inner: Arc::clone(inner), spread }));
        }
    }
}

/// How the deviations of some values become one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Spread {
    is_sample: bool,
    is_deviation: bool,
}

impl Spread {
    /// `None` if there are too few values.
    fn of(self, part: &CountedMoments) -> Option<f64> {
        let divisor = if self.is_sample { part.count.saturating_sub(1) } else { part.count };
        let variance = (divisor > 0).then(|| part.moments.sum_xx / divisor as f64)?;
        Some(one_nan::number(if self.is_deviation { variance.sqrt() } else { variance }))
    }
}

/// The states of parts, in the form of DataFusion's functions.
fn states_of(parts: &[CountedMoments]) -> Vec<ArrayRef> {
    vec![
        Arc::new(UInt64Array::from_iter_values(parts.iter().map(|part| part.count))),
        Arc::new(Float64Array::from_iter_values(parts.iter().map(|part| part.moments.mean_x))),
        Arc::new(Float64Array::from_iter_values(parts.iter().map(|part| part.moments.sum_xx))),
    ]
}

fn parts_of(states: &[ArrayRef]) -> impl Iterator<Item = CountedMoments> {
    let counts = states[0].as_primitive::<UInt64Type>().values().iter();
    let means = states[1].as_primitive::<Float64Type>().values().iter();
    let sums = states[2].as_primitive::<Float64Type>().values().iter();
    counts.zip(means).zip(sums).map(|((&count, &mean_x), &sum_xx)| CountedMoments {
        count,
        moments: Moments { mean_x, sum_xx, ..Moments::default() },
    })
}

/// One of DataFusion's functions, replaced.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Variance {
    inner: Arc<AggregateUDF>,
    spread: Spread,
}

impl AggregateUDFImpl for Variance {
    of_inner!(name, aliases, signature, return_type, documentation);

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        if args.is_distinct {
            return Ok(Box::new(DistinctVariance { spread: self.spread, values: HashSet::new() }));
        }
        Ok(Box::new(VarianceOfGroup { spread: self.spread, part: CountedMoments::default() }))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        if args.is_distinct {
            return self.accumulator(args);
        }
        Ok(Box::new(FrameAccumulator::new(self.spread)))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        if args.is_distinct {
            let values = DataType::new_list(DataType::Float64, true);
            return Ok(vec![Arc::new(Field::new(format_state_name(args.name, "distinct"), values, true))]);
        }
        self.inner.state_fields(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        !args.is_distinct
    }

    fn create_groups_accumulator(&self, _: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(VarianceOfGroups { spread: self.spread, parts: Vec::new() }))
    }
}

#[derive(Debug)]
struct VarianceOfGroup {
    spread: Spread,
    part: CountedMoments,
}

impl Accumulator for VarianceOfGroup {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for value in values[0].as_primitive::<Float64Type>().iter().flatten() {
            self.part.push(value, 0.0);
        }
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for part in parts_of(states) {
            self.part.merge(&part);
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        states_of(&[self.part]).iter().map(|state| ScalarValue::try_from_array(state, 0)).collect()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Float64(self.spread.of(&self.part)))
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

#[derive(Debug)]
struct DistinctVariance {
    spread: Spread,
    /// The bits of the values. Zeros are equal, and so are NaNs.
    values: HashSet<u64>,
}

impl DistinctVariance {
    fn add(&mut self, values: &ArrayRef) {
        let values = values.as_primitive::<Float64Type>().iter().flatten();
        for value in values {
            let value = if value.is_nan() { f64::NAN } else { value + 0.0 };
            self.values.insert(value.to_bits());
        }
    }

    /// The values in order, so that the sums of their squares are always the same.
    fn sorted(&self) -> Vec<f64> {
        let mut values: Vec<f64> = self.values.iter().map(|bits| f64::from_bits(*bits)).collect();
        values.sort_unstable_by(f64::total_cmp);
        values
    }
}

impl Accumulator for DistinctVariance {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.add(&values[0]);
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for values in states[0].as_list::<i32>().iter().flatten() {
            self.add(&values);
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let values: Vec<ScalarValue> = self.sorted().into_iter().map(ScalarValue::from).collect();
        Ok(vec![ScalarValue::List(ScalarValue::new_list_nullable(&values, &DataType::Float64))])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut part = CountedMoments::default();
        for value in self.sorted() {
            part.push(value, 0.0);
        }
        Ok(ScalarValue::Float64(self.spread.of(&part)))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.values.capacity() * size_of::<u64>()
    }
}

impl FrameAggregate for Spread {
    type Part = CountedMoments;

    fn parts(arguments: &[ArrayRef]) -> impl Iterator<Item = CountedMoments> {
        let values = arguments[0].as_primitive::<Float64Type>().iter().flatten();
        values.map(|value| CountedMoments::of(value, 0.0))
    }

    fn join(first: CountedMoments, next: CountedMoments) -> CountedMoments {
        first.with(next)
    }

    fn value(&self, frame: &FrameValues<CountedMoments>) -> ScalarValue {
        ScalarValue::Float64(frame.joined().and_then(|part| self.of(&part)))
    }
}

struct VarianceOfGroups {
    spread: Spread,
    parts: Vec<CountedMoments>,
}

impl GroupsAccumulator for VarianceOfGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.parts.resize(total_num_groups, CountedMoments::default());
        let values = values[0].as_primitive::<Float64Type>().iter();
        for (row, (&group, value)) in group_indices.iter().zip(values).enumerate() {
            if let Some(value) = value.filter(|_| is_wanted(opt_filter, row)) {
                self.parts[group].push(value, 0.0);
            }
        }
        Ok(())
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.parts.resize(total_num_groups, CountedMoments::default());
        for (&group, part) in group_indices.iter().zip(parts_of(values)) {
            self.parts[group].merge(&part);
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let parts = emit_to.take_needed(&mut self.parts);
        Ok(Arc::new(parts.iter().map(|part| self.spread.of(part)).collect::<Float64Array>()))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(states_of(&emit_to.take_needed(&mut self.parts)))
    }

    fn convert_to_state(&self, values: &[ArrayRef], opt_filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let values = values[0].as_primitive::<Float64Type>().iter().enumerate();
        let part = |(row, value): (usize, Option<f64>)| {
            let part = value.filter(|_| is_wanted(opt_filter, row)).map(|value| CountedMoments::of(value, 0.0));
            part.unwrap_or_default()
        };
        Ok(states_of(&values.map(part).collect::<Vec<_>>()))
    }

    fn size(&self) -> usize {
        self.parts.capacity() * size_of::<CountedMoments>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: Spread = Spread { is_sample: false, is_deviation: false };
    const SAMPLE: Spread = Spread { is_sample: true, is_deviation: true };

    fn column(values: &[Option<f64>]) -> Vec<ArrayRef> {
        vec![Arc::new(Float64Array::from(values.to_vec()))]
    }

    fn groups() -> VarianceOfGroups {
        VarianceOfGroups { spread: WHOLE, parts: Vec::new() }
    }

    fn variances(groups: &mut VarianceOfGroups) -> Vec<String> {
        let found = groups.evaluate(EmitTo::All).unwrap();
        found.as_primitive::<Float64Type>().iter().map(|value| format!("{value:?}")).collect()
    }

    #[test]
    fn one_value_has_no_variance_or_none_at_all() {
        for (value, whole) in [(2.0, "0"), (1e200, "0"), (f64::INFINITY, "NaN"), (f64::NAN, "NaN")] {
            let mut group = VarianceOfGroup { spread: WHOLE, part: CountedMoments::default() };
            group.update_batch(&column(&[None, Some(value)])).unwrap();
            let states: Vec<ArrayRef> = group.state().unwrap().iter().map(|state| state.to_array().unwrap()).collect();
            let mut merged = VarianceOfGroup { spread: WHOLE, part: CountedMoments::default() };
            merged.merge_batch(&states).unwrap();
            assert_eq!(
                (group.evaluate().unwrap().to_string(), merged.evaluate().unwrap().to_string()),
                (whole.to_owned(), whole.to_owned())
            );
            assert!(SAMPLE.of(&CountedMoments::of(value, 0.0)).is_none());
        }
        assert!(WHOLE.of(&CountedMoments::default()).is_none());
    }

    #[test]
    fn distinct_values_count_once() {
        for (values, whole) in [
            (vec![Some(1.0), Some(3.0), None, Some(1.0)], "1"),
            (vec![Some(f64::INFINITY); 2], "NaN"),
            (vec![Some(-0.0), Some(0.0)], "0"),
        ] {
            let mut group = DistinctVariance { spread: WHOLE, values: HashSet::new() };
            group.update_batch(&column(&values)).unwrap();
            let state = group.state().unwrap()[0].to_array().unwrap();
            let mut merged = DistinctVariance { spread: WHOLE, values: HashSet::new() };
            merged.update_batch(&column(&values[..1])).unwrap();
            merged.merge_batch(&[state]).unwrap();
            assert_eq!(group.values, merged.values);
            assert_eq!(merged.evaluate().unwrap().to_string(), whole);
        }
    }

    #[test]
    fn groups_are_merged_from_states() {
        let values = column(&[Some(1.0), Some(1e200), Some(3.0), None, Some(5.0)]);
        let filter = BooleanArray::from(vec![true, true, true, true, false]);
        let mut direct = groups();
        direct.update_batch(&values, &[0, 1, 0, 2, 0], Some(&filter), 3).unwrap();
        let states = groups().convert_to_state(&values, Some(&filter)).unwrap();
        let mut merged = groups();
        merged.merge_batch(&states, &[0, 1, 0, 2, 0], 3).unwrap();
        let mut again = groups();
        again.merge_batch(&merged.state(EmitTo::All).unwrap(), &[0, 1, 2], 3).unwrap();
        let expected = ["Some(1.0)", "Some(0.0)", "None"];
        assert_eq!(
            (variances(&mut direct), variances(&mut again)),
            (expected.map(str::to_owned).to_vec(), expected.map(str::to_owned).to_vec())
        );
    }

    #[test]
    fn what_has_left_a_frame_leaves_nothing_behind() {
        let values = [f64::INFINITY, 1e20, 0.1, 0.1, 0.1].map(Some);
        let mut frame = FrameAccumulator::new(SAMPLE);
        let mut found = Vec::new();
        for (at, value) in values.iter().enumerate() {
            frame.update_batch(&column(&[*value])).unwrap();
            if at >= 2 {
                frame.retract_batch(&column(&[values[at - 2]])).unwrap();
            }
            found.push(frame.evaluate().unwrap());
        }
        assert!(found[0].is_null());
        assert_eq!(found[1].to_string(), "NaN");
        assert_eq!(found[3..], [ScalarValue::from(0.0), ScalarValue::from(0.0)]);
    }
}
