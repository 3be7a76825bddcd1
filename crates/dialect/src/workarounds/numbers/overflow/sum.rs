//! `sum` of integers and decimals, computed in 128 bits, so that only the result has to fit. The sum of a `BIGINT` is a
//! `DECIMAL(38, 0)`, as wide as PostgreSQL's `NUMERIC` is for it; the sum of a narrower integer is a `BIGINT`. A sum of
//! decimals has up to 38 digits. Sums of intervals are checked, too, and times of day are added up as intervals.

use super::one_nan;
use super::sliding_floats::SlidingFloats;
use super::sum_distinct::DistinctSum;
use super::sum_groups::SumGroups;
use super::wide_sum::{WideSum, coerced_by, each_of, state_type, value};
use crate::functions::base::of_inner::of_inner;
use crate::workarounds::times::intervals::average::{AverageLength, INTERVAL, is_length, length_type};
use crate::workarounds::times::intervals::sum::LengthSum;
use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Field, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, ReversedUDAF, Signature, Volatility,
};
use std::sync::Arc;

/// DataFusion's `sum`, replaced for integers, decimals and intervals. DataFusion's own sums wrap around.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct ExactSum {
    inner: Arc<AggregateUDF>,
    signature: Signature,
}

impl ExactSum {
    pub(super) fn new(inner: Arc<AggregateUDF>) -> Self {
        Self { inner, signature: Signature::user_defined(Volatility::Immutable) }
    }

    fn exact(args: &AccumulatorArgs<'_>) -> Option<Box<dyn Accumulator>> {
        if is_length(args.expr_fields) && !args.is_distinct {
            return Some(Box::<LengthSum>::default());
        }
        let result = args.return_field.data_type();
        match (is_exact(args.expr_fields), args.is_distinct) {
            (false, _) => None,
            (true, false) => Some(Box::new(Sum { result: result.clone(), sum: WideSum::default(), count: 0 })),
            (true, true) => Some(Box::new(DistinctSum::new(result.clone()))),
        }
    }
}

impl AggregateUDFImpl for ExactSum {
    of_inner!(name, aliases, documentation);

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Keeps integers and decimals in their type, because it decides the type of the result.
    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [data_type] if is_summed(data_type) => Ok(types.to_vec()),
            [data_type] if let Some(length) = length_type(data_type) => Ok(vec![length]),
            _ => coerced_by(&self.inner, types),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [data_type @ (DataType::Int64 | DataType::UInt64 | DataType::Decimal128(..))] => Ok(state_type(data_type)),
            [data_type] if data_type.is_integer() => Ok(DataType::Int64),
            [data_type] if length_type(data_type).is_some() => Ok(INTERVAL),
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
        match Self::exact(&args).or_else(|| SlidingFloats::Sum.accumulator(&args)) {
            Some(accumulator) => Ok(accumulator),
            None => self.inner.create_sliding_accumulator(args).map(one_nan::of_rows),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        match args.input_fields {
            [field] if is_summed(field.data_type()) && !args.is_distinct => {
                let data_type = state_type(field.data_type());
                Ok(vec![Arc::new(Field::new(format_state_name(args.name, "sum"), data_type, true))])
            }
            fields if is_length(fields) && !args.is_distinct => Ok(AverageLength::state_fields(args.name)),
            _ => self.inner.state_fields(args),
        }
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        !is_length(args.expr_fields) && self.inner.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        match is_exact(args.expr_fields) {
            true => Ok(Box::new(SumGroups::new(args.return_field.data_type().clone()))),
            false => self.inner.create_groups_accumulator(args).map(one_nan::of_groups),
        }
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}

fn is_exact(fields: &[FieldRef]) -> bool {
    matches!(fields, [field] if is_summed(field.data_type()))
}

fn is_summed(data_type: &DataType) -> bool {
    data_type.is_integer() || matches!(data_type, DataType::Decimal128(..))
}

/// The sum of one group, or of the rows in a window.
#[derive(Debug)]
struct Sum {
    result: DataType,
    sum: WideSum,
    /// The number of values. If it is 0, the sum is NULL.
    count: u64,
}

impl Accumulator for Sum {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let mut sum = self.sum;
        each_of(&values[0], |_, value| sum.add(value))?;
        self.sum = sum;
        self.count += (values[0].len() - values[0].null_count()) as u64;
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let mut sum = self.sum;
        each_of(&values[0], |_, value| sum.subtract(value))?;
        self.sum = sum;
        self.count -= (values[0].len() - values[0].null_count()) as u64;
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let sum = self.sum.checked()?;
        Ok(vec![ScalarValue::new_primitive::<Decimal128Type>(
            (self.count > 0).then_some(sum),
            &state_type(&self.result),
        )?])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let sum = self.sum.checked()?;
        value((self.count > 0).then_some(sum), &self.result)
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}
