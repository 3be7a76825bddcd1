//! Exact `avg` of a `BIGINT` and of decimals, with the type of PostgreSQL's `NUMERIC`. For a `BIGINT` DataFusion adds
//! up floats of 53 bits; its average of decimals wraps around, and is cut after four more digits. Averages of narrower
//! integers stay floats, which lose no digit of them. Intervals and times of day have an average, too: an interval.
//!
//! No upstream issue known.

use super::average_groups::AverageGroups;
use super::one_nan;
use super::sliding_floats::SlidingFloats;
use super::sum_distinct::DistinctSum;
use super::wide_sum::{Scales, WideSum, coerced_by, each_of};
use crate::functions::base::of_inner::of_inner;
use crate::workarounds::times::intervals::average::{AverageLength, INTERVAL, is_length, length_type};
use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Field, FieldRef, UInt64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, ReversedUDAF, Signature, Volatility,
};
use std::sync::Arc;

/// DataFusion's `avg`, replaced for integers of 64 bits and decimals.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct ExactAverage {
    inner: Arc<AggregateUDF>,
    signature: Signature,
}

impl ExactAverage {
    pub(super) fn new(inner: Arc<AggregateUDF>) -> Self {
        Self { inner, signature: Signature::user_defined(Volatility::Immutable) }
    }

    fn exact(args: &AccumulatorArgs<'_>) -> Option<Box<dyn Accumulator>> {
        if is_length(args.expr_fields) && !args.is_distinct {
            return Some(Box::<AverageLength>::default());
        }
        let scales = scales(args.expr_fields)?;
        Some(match args.is_distinct {
            false => Box::new(Average { scales, sum: WideSum::default(), count: 0 }),
            true => Box::new(DistinctAverage { scales, values: DistinctSum::new(scales.sum_type()) }),
        })
    }
}

/// The digits of an exact average; `None` if DataFusion computes the average.
fn scales(fields: &[FieldRef]) -> Option<Scales> {
    match fields {
        [field] => Scales::of(field.data_type()),
        _ => None,
    }
}

impl AggregateUDFImpl for ExactAverage {
    of_inner!(name, aliases, documentation);

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [data_type] if Scales::of(data_type).is_some() => Ok(types.to_vec()),
            [data_type] if let Some(length) = length_type(data_type) => Ok(vec![length]),
            _ => coerced_by(&self.inner, types),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [data_type] if length_type(data_type).is_some() => Ok(INTERVAL),
            [data_type] if let Some(scales) = Scales::of(data_type) => Ok(scales.average_type()),
            _ => self.inner.return_type(types),
        }
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        match Self::exact(&args) {
            Some(accumulator) => Ok(accumulator),
            None => self.inner.accumulator(args).map(one_nan::of_rows),
        }
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        match Self::exact(&args).or_else(|| SlidingFloats::Average.accumulator(&args)) {
            Some(accumulator) => Ok(accumulator),
            None => self.inner.create_sliding_accumulator(args).map(one_nan::of_rows),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        if is_length(args.input_fields) {
            return Ok(AverageLength::state_fields(args.name));
        }
        let Some(scales) = scales(args.input_fields) else { return self.inner.state_fields(args) };
        let sums = scales.sum_type();
        let field = |what: &str, data_type: DataType| -> FieldRef {
            Arc::new(Field::new(format_state_name(args.name, what), data_type, true))
        };
        Ok(match args.is_distinct {
            true => vec![field("values", DataType::new_list(sums, true))],
            false => vec![field("sum", sums), field("count", DataType::UInt64)],
        })
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        match scales(args.expr_fields) {
            Some(_) => !args.is_distinct,
            None if is_length(args.expr_fields) => false,
            None => self.inner.groups_accumulator_supported(args),
        }
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        match scales(args.expr_fields) {
            Some(scales) => Ok(Box::new(AverageGroups::new(scales))),
            None => self.inner.create_groups_accumulator(args).map(one_nan::of_groups),
        }
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}

fn value(scales: Scales, sum: i128, count: u64) -> Result<ScalarValue> {
    let average = (count > 0).then(|| scales.average(sum, count));
    ScalarValue::new_primitive::<Decimal128Type>(average, &scales.average_type())
}

/// The average of one group, or of the rows in a window.
#[derive(Debug)]
struct Average {
    scales: Scales,
    sum: WideSum,
    count: u64,
}

impl Accumulator for Average {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        each_of(&values[0], |_, value| self.sum.add(value))?;
        self.count += (values[0].len() - values[0].null_count()) as u64;
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        each_of(&values[0], |_, value| self.sum.subtract(value))?;
        self.count -= (values[0].len() - values[0].null_count()) as u64;
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        each_of(&states[0], |_, sum| self.sum.add(sum))?;
        self.count += states[1].as_primitive::<UInt64Type>().iter().flatten().sum::<u64>();
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let sum = Some(self.sum.checked()?);
        let sum = ScalarValue::new_primitive::<Decimal128Type>(sum, &self.scales.sum_type())?;
        Ok(vec![sum, ScalarValue::UInt64(Some(self.count))])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        value(self.scales, self.sum.checked()?, self.count)
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

/// The average of the distinct values.
#[derive(Debug)]
struct DistinctAverage {
    scales: Scales,
    values: DistinctSum,
}

impl Accumulator for DistinctAverage {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.values.update_batch(values)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.values.retract_batch(values)
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.values.merge_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.values.state()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let (sum, count) = self.values.sum_and_count()?;
        value(self.scales, sum, count)
    }

    fn size(&self) -> usize {
        self.values.size()
    }
}
