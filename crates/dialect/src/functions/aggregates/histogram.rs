//! `histogram(v, min, max, n)`: how many values lie below `min`, in each of `n` equal parts, and from `max` on.

use super::points::Number;
use crate::functions::base::arguments::{constant_count, constant_number, is_wanted, plain_type, type_name};
use crate::text::datafusion_errors::external;
use crate::text::errors::sql_error;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, ListArray};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Float64Type, Int64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, EmitTo, GroupsAccumulator, Signature, Volatility};
use std::cmp::Ordering;
use std::sync::Arc;

/// The maximum number of parts.
const PARTS_MAX: usize = 100_000;

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Histogram {
    signature: Signature,
}

impl Histogram {
    pub(crate) fn new() -> Self {
        Self { signature: Signature::variadic_any(Volatility::Immutable) }
    }

    fn counts(args: &AccumulatorArgs<'_>) -> Result<Counts> {
        let number = |what: &str, place: usize| constant_number("histogram", what, &args.exprs[place]);
        let (min, max) = (number("min", 1).map_err(external)?, number("max", 2).map_err(external)?);
        let parts = constant_count("histogram", "the number of parts", &args.exprs[3], (1, PARTS_MAX));
        if min.partial_cmp(&max) != Some(Ordering::Less) {
            return Err(external(sql_error(format!("histogram: min {min} is not less than max {max}"))));
        }
        if !(max - min).is_finite() {
            return Err(external(sql_error("histogram: the distance from min to max exceeds a DOUBLE")));
        }
        Ok(Counts { scale: Scale { min, max, parts: parts.map_err(external)? }, counts: Vec::new(), seen: Vec::new() })
    }
}

impl AggregateUDFImpl for Histogram {
    fn name(&self) -> &str {
        "histogram"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let wrong = |problem: String| {
            Err(external(sql_error(format!("histogram {problem}")).with_hint("histogram(value, min, max, parts)")))
        };
        match types {
            [value, _, _, _] if Number::of(value).is_some() => Ok(list_type()),
            [value, _, _, _] => wrong(format!("needs a number, not {}", type_name(value))),
            _ => wrong(format!("takes 4 arguments, not {}", types.len())),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        Ok(vec![Arc::new(Field::new(format_state_name(args.name, "counts"), list_type(), true))])
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(OneGroup(Self::counts(&args)?)))
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs<'_>) -> bool {
        true
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(Self::counts(&args)?))
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}

fn item() -> FieldRef {
    Arc::new(Field::new_list_field(DataType::Int64, true))
}

fn list_type() -> DataType {
    DataType::List(item())
}

#[derive(Debug, Clone, Copy)]
struct Scale {
    min: f64,
    max: f64,
    parts: usize,
}

impl Scale {
    /// The part that contains a value: 0 is below `min`; the last, `parts + 1`, begins at `max` and includes NaN.
    fn place(self, value: f64) -> usize {
        if value < self.min {
            0
        } else if value < self.max {
            // Rounding must not move a value below `max` beyond the last part.
            let part = ((value - self.min) / (self.max - self.min) * self.parts as f64) as usize;
            part.min(self.parts - 1) + 1
        } else {
            self.parts + 1
        }
    }

    fn width(self) -> usize {
        self.parts + 2
    }
}

/// The counts of many groups, one after the other.
#[derive(Debug)]
struct Counts {
    scale: Scale,
    counts: Vec<i64>,
    /// The number of values in each group.
    seen: Vec<i64>,
}

impl Counts {
    fn resize(&mut self, groups: usize) {
        self.counts.resize(groups * self.scale.width(), 0);
        self.seen.resize(groups, 0);
    }

    fn add(&mut self, values: &ArrayRef, by: i64, group_of: impl Fn(usize) -> Option<usize>) -> Result<()> {
        let values = floats(values)?;
        for row in 0..values.len() {
            if let Some(group) = group_of(row).filter(|_| values.is_valid(row)) {
                self.counts[group * self.scale.width() + self.scale.place(values.value(row))] += by;
                self.seen[group] += by;
            }
        }
        Ok(())
    }

    fn count(&mut self, group: usize, place: usize) {
        self.counts[group * self.scale.width() + place] += 1;
        self.seen[group] += 1;
    }

    /// Merges a state, which is the counts, or for a single value only its part.
    fn merge(&mut self, states: &ArrayRef, group_of: impl Fn(usize) -> usize) {
        let states = states.as_list::<i32>();
        for row in (0..states.len()).filter(|row| states.is_valid(*row)) {
            let counts = states.value(row);
            let (group, width) = (group_of(row), self.scale.width());
            if counts.len() == 1 {
                self.count(group, counts.as_primitive::<Int64Type>().value(0) as usize);
                continue;
            }
            for (own, count) in self.counts[group * width..].iter_mut().zip(counts.as_primitive::<Int64Type>().values())
            {
                *own += count;
                self.seen[group] += count;
            }
        }
    }

    fn lists(&self, counts: Vec<i64>, seen: &[i64]) -> Result<ListArray> {
        let offsets = OffsetBuffer::from_lengths(seen.iter().map(|_| self.scale.width()));
        let nulls: NullBuffer = seen.iter().map(|seen| *seen > 0).collect();
        Ok(ListArray::try_new(item(), offsets, Arc::new(Int64Array::from(counts)), Some(nulls))?)
    }
}

fn floats(values: &ArrayRef) -> Result<Float64Array> {
    let plain = cast(values, plain_type(values.data_type()))?;
    Ok(cast(&plain, &DataType::Float64)?.as_primitive::<Float64Type>().clone())
}

impl GroupsAccumulator for Counts {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.resize(total_num_groups);
        self.add(&values[0], 1, |row| is_wanted(opt_filter, row).then(|| group_indices[row]))
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], total_num_groups: usize) -> Result<()> {
        self.resize(total_num_groups);
        self.merge(&values[0], |row| group_indices[row]);
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let seen = emit_to.take_needed(&mut self.seen);
        let counts = match emit_to {
            EmitTo::All => std::mem::take(&mut self.counts),
            EmitTo::First(groups) => EmitTo::First(groups * self.scale.width()).take_needed(&mut self.counts),
        };
        Ok(Arc::new(self.lists(counts, &seen)?))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(emit_to)?])
    }

    fn convert_to_state(&self, values: &[ArrayRef], opt_filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let values = floats(&values[0])?;
        let wanted = |row: usize| values.is_valid(row) && is_wanted(opt_filter, row);
        let rows = || (0..values.len()).map(wanted);
        let places: Int64Array = (0..values.len())
            .filter(|row| wanted(*row))
            .map(|row| Some(self.scale.place(values.value(row)) as i64))
            .collect();
        let offsets = OffsetBuffer::from_lengths(rows().map(usize::from));
        Ok(vec![Arc::new(ListArray::try_new(item(), offsets, Arc::new(places), Some(rows().collect()))?)])
    }

    fn size(&self) -> usize {
        (self.counts.capacity() + self.seen.capacity()) * 8
    }
}

/// The counts of one group, or of the rows in a window.
#[derive(Debug)]
struct OneGroup(Counts);

impl Accumulator for OneGroup {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.resize(1);
        self.0.add(&values[0], 1, |_| Some(0))
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.add(&values[0], -1, |_| Some(0))
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.0.resize(1);
        self.0.merge(&states[0], |_| 0);
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.0.resize(1);
        Ok(ScalarValue::List(Arc::new(self.0.lists(self.0.counts.clone(), &self.0.seen)?)))
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn size(&self) -> usize {
        GroupsAccumulator::size(&self.0) + size_of_val(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_lies_in_the_part_that_begins_at_or_below_it() {
        let scale = Scale { min: 0.0, max: 0.3, parts: 3 };
        for (value, place) in [
            (-0.1, 0),
            (-0.0, 1),
            (0.05, 1),
            (0.25, 3),
            (0.3_f64.next_down(), 3),
            (0.3, 4),
            (f64::INFINITY, 4),
            (f64::NAN, 4),
            (f64::NEG_INFINITY, 0),
        ] {
            assert_eq!(scale.place(value), place, "{value}");
        }
    }
}
