//! `first(v, t)` and `last(v, t)`: the value at the smallest and at the largest time. Among rows with the same time,
//! `first` takes the smallest value and `last` the greatest, and both prefer any value to NULL. So the answer does not
//! depend on the order in which rows are read. Rows without a time are ignored.

use super::bookend_groups::groups;
use super::ends::{End, scalar_at};
use crate::functions::base::arguments::{is_ordering, plain_type, type_name};
use crate::text::datafusion_errors::external;
use crate::text::errors::sql_error;
use atsdb_codec::{enumeration_field, enumeration_of};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array, make_comparator};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Int64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, GroupsAccumulator, Signature, Volatility};
use std::cmp::Ordering;
use std::collections::VecDeque;
use std::sync::Arc;

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Bookend {
    signature: Signature,
    end: End,
}

impl Bookend {
    pub(crate) fn new(end: End) -> Self {
        Self { signature: Signature::variadic_any(Volatility::Immutable), end }
    }
}

impl AggregateUDFImpl for Bookend {
    fn name(&self) -> &str {
        match self.end {
            End::First => "first",
            End::Last => "last",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let name = self.name();
        match types {
            [value, time] if is_ordering(time) => Ok(plain_type(value).clone()),
            [_, time] => Err(external(
                sql_error(format!("{name}: rows are not ordered by a {}", type_name(time)))
                    .with_hint(format!("{name}(value, time)")),
            )),
            _ => Err(external(
                sql_error(format!("{name} takes 2 arguments, not {}", types.len()))
                    .with_hint(format!("{name}(value, time)")),
            )),
        }
    }

    /// The result is a label of an enumerated type if the values are.
    fn return_field(&self, args: &[FieldRef]) -> Result<FieldRef> {
        let types: Vec<DataType> = args.iter().map(|field| field.data_type().clone()).collect();
        let field = Field::new(self.name(), self.return_type(&types)?, true);
        Ok(Arc::new(match args.first().and_then(|value| enumeration_of(value)) {
            Some(of) => enumeration_field(field, &of),
            None => field,
        }))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let value = Field::new(format_state_name(args.name, "value"), args.return_field.data_type().clone(), true);
        let nearness = Field::new(format_state_name(args.name, "nearness"), DataType::Int64, true);
        Ok(vec![Arc::new(value), Arc::new(nearness)])
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let value = ScalarValue::try_from(args.return_field.data_type())?;
        Ok(Box::new(BestRow { end: self.end, ignore_nulls: args.ignore_nulls, nearness: None, value }))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let none = ScalarValue::try_from(args.return_field.data_type())?;
        Ok(Box::new(Sliding {
            end: self.end,
            ignore_nulls: args.ignore_nulls,
            none,
            candidates: VecDeque::new(),
            entered: 0,
            left: 0,
        }))
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs<'_>) -> bool {
        true
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(groups(self.end, args.ignore_nulls, args.expr_fields[0].data_type()))
    }

    fn supports_null_handling_clause(&self) -> bool {
        true
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}

/// The best row so far.
#[derive(Debug)]
struct BestRow {
    end: End,
    ignore_nulls: bool,
    nearness: Option<i64>,
    value: ScalarValue,
}

impl BestRow {
    fn offer(&mut self, values: &ArrayRef, nearness: &Int64Array) -> Result<()> {
        let compare = make_comparator(values, values, self.end.preference()).ok();
        let mut best: Option<(i64, usize)> = None;
        for row in 0..nearness.len() {
            if nearness.is_null(row) || (self.ignore_nulls && values.is_null(row)) {
                continue;
            }
            let near = nearness.value(row);
            let better = best.is_none_or(|(least, chosen)| {
                let tie = || compare.as_ref().is_some_and(|compare| compare(row, chosen) == Ordering::Greater);
                near > least || (near == least && tie())
            });
            if better {
                best = Some((near, row));
            }
        }
        let Some((near, row)) = best else { return Ok(()) };
        let value = scalar_at(values, row)?;
        let better = match self.nearness {
            Some(own) => near > own || (near == own && self.end.prefers(&value, &self.value)),
            None => true,
        };
        if better {
            (self.nearness, self.value) = (Some(near), value);
        }
        Ok(())
    }
}

impl Accumulator for BestRow {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let nearness = self.end.nearness(&values[1])?;
        self.offer(&values[0], &nearness)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.offer(&states[0], states[1].as_primitive::<Int64Type>())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(self.value.clone())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.value.clone(), ScalarValue::Int64(self.nearness)])
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.value.size()
    }
}

/// The rows of a sliding window. A row that is followed by a better one will never be the answer and is dropped.
#[derive(Debug)]
struct Sliding {
    end: End,
    ignore_nulls: bool,
    none: ScalarValue,
    candidates: VecDeque<(u64, i64, ScalarValue)>,
    entered: u64,
    left: u64,
}

impl Accumulator for Sliding {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let nearness = self.end.nearness(&values[1])?;
        for row in 0..nearness.len() {
            let position = self.entered;
            self.entered += 1;
            if nearness.is_null(row) || (self.ignore_nulls && values[0].is_null(row)) {
                continue;
            }
            let (near, value) = (nearness.value(row), scalar_at(&values[0], row)?);
            while let Some((_, least, chosen)) = self.candidates.back()
                && (near > *least || (near == *least && !self.end.prefers(chosen, &value)))
            {
                self.candidates.pop_back();
            }
            self.candidates.push_back((position, near, value));
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.left += values[0].len() as u64;
        while self.candidates.front().is_some_and(|(position, ..)| *position < self.left) {
            self.candidates.pop_front();
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        datafusion::common::internal_err!("a window is not merged")
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(self.candidates.front().map_or(&self.none, |(.., value)| value).clone())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        datafusion::common::internal_err!("a window has no state")
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.candidates.capacity() * size_of::<(u64, i64, ScalarValue)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{Float64Array, TimestampSecondArray};
    use datafusion::logical_expr::EmitTo;

    type Row = (Option<f64>, Option<i64>);

    /// A naive implementation to compare with.
    fn naive(rows: &[Row], end: End, ignore_nulls: bool) -> Option<f64> {
        let rows = rows.iter().filter(|(value, time)| time.is_some() && !(ignore_nulls && value.is_none()));
        let wanted = match end {
            End::First => rows.clone().map(|row| row.1).min()?,
            End::Last => rows.clone().map(|row| row.1).max()?,
        };
        let values = rows.filter(|row| row.1 == wanted).filter_map(|row| row.0);
        match end {
            End::First => values.min_by(f64::total_cmp),
            End::Last => values.max_by(f64::total_cmp),
        }
    }

    fn arrays(rows: &[Row]) -> Vec<ArrayRef> {
        let values: Float64Array = rows.iter().map(|row| row.0).collect();
        let times: TimestampSecondArray = rows.iter().map(|row| row.1).collect();
        vec![Arc::new(values), Arc::new(times)]
    }

    #[test]
    fn all_ways_to_compute_it_agree_with_the_plain_one() {
        let mut seed = 7_u64;
        let mut random = |bound: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % bound
        };
        for round in 0..400 {
            let (end, ignore_nulls) = ([End::First, End::Last][round % 2], round % 3 == 0);
            let rows: Vec<Row> = (0..random(40))
                .map(|_| {
                    let value = (random(4) > 0).then(|| random(9) as f64 - 4.0);
                    (value, (random(6) > 0).then(|| random(12) as i64 - 6))
                })
                .collect();
            let none = ScalarValue::Float64(None);
            let best = || BestRow { end, ignore_nulls, nearness: None, value: none.clone() };
            let expected = ScalarValue::Float64(naive(&rows, end, ignore_nulls));

            let (mut left, mut right, mut merged) = (best(), best(), best());
            let (a, b) = rows.split_at(rows.len() / 2);
            left.update_batch(&arrays(a)).unwrap();
            right.update_batch(&arrays(b)).unwrap();
            for part in [&mut left, &mut right] {
                let state: Vec<ArrayRef> =
                    part.state().unwrap().iter().map(|value| value.to_array().unwrap()).collect();
                merged.merge_batch(&state).unwrap();
            }
            assert_eq!(merged.evaluate().unwrap(), expected, "{rows:?} {end:?} {ignore_nulls}");

            let groups_of: Vec<usize> = rows.iter().map(|_| random(3) as usize).collect();
            let mut groups = groups(end, ignore_nulls, &DataType::Float64);
            groups.update_batch(&arrays(&rows), &groups_of, None, 3).unwrap();
            let found = groups.evaluate(EmitTo::All).unwrap();
            for group in 0..3 {
                let own: Vec<Row> =
                    rows.iter().zip(&groups_of).filter(|(_, of)| **of == group).map(|(row, _)| *row).collect();
                let expected = ScalarValue::Float64(naive(&own, end, ignore_nulls));
                assert_eq!(ScalarValue::try_from_array(&found, group).unwrap(), expected, "{own:?} {end:?}");
            }

            let none = none.clone();
            let mut sliding = Sliding { end, ignore_nulls, none, candidates: VecDeque::new(), entered: 0, left: 0 };
            for row in 0..rows.len() {
                sliding.update_batch(&arrays(&rows[row..=row])).unwrap();
                if row >= 5 {
                    sliding.retract_batch(&arrays(&rows[row - 5..row - 4])).unwrap();
                }
                let window = &rows[row.saturating_sub(4)..=row];
                let expected = ScalarValue::Float64(naive(window, end, ignore_nulls));
                assert_eq!(sliding.evaluate().unwrap(), expected, "{window:?} {end:?}");
            }
        }
    }
}
