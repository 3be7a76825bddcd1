//! Exact `avg` of a `BIGINT` and of decimals, with the type of PostgreSQL's `NUMERIC`. DataFusion adds up floats of 53
//! bits, and gives an average of decimals four digits more than they have. Averages
//! of narrower integers stay floats, which lose no digit of them. Intervals have an average, too.
//!
//! No upstream issue known.

use super::average_groups::AverageGroups;
use super::sum_distinct::DistinctSum;
use super::wide_sum::{added, average_scale, average_type, coerced_by, decimal_average, removed, scale_of, state_of};
use crate::text::decimals::DIGITS_MAX;
use crate::workarounds::intervals::average::{AverageLength, INTERVAL};
use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, UInt64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, GroupsAccumulator, ReversedUDAF, Signature, Volatility,
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
        let [field] = args.expr_fields else { return None };
        let (data_type, scale) = (field.data_type(), scale_of(field.data_type()));
        match (is_wide(data_type), args.is_distinct) {
            (false, _) => None,
            (true, false) => Some(Box::new(Average { sum: 0, count: 0, scale })),
            (true, true) => Some(Box::new(DistinctAverage { sum: DistinctSum::new(state_of(data_type)), scale })),
        }
    }
}

fn is_exact(fields: &[FieldRef]) -> bool {
    matches!(fields, [field] if is_wide(field.data_type()))
}

fn is_length(fields: &[FieldRef]) -> bool {
    matches!(fields, [field] if matches!(field.data_type(), DataType::Interval(_)))
}

fn is_wide(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Int64 | DataType::UInt64 | DataType::Decimal128(..))
}

impl AggregateUDFImpl for ExactAverage {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [data_type] if is_wide(data_type) => Ok(types.to_vec()),
            [DataType::Interval(_)] => Ok(vec![INTERVAL]),
            _ => coerced_by(&self.inner, types),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [data_type] if is_wide(data_type) => Ok(average_type(scale_of(data_type))),
            [DataType::Interval(_)] => Ok(INTERVAL),
            _ => self.inner.return_type(types),
        }
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        match Self::exact(&args) {
            Some(accumulator) => Ok(accumulator),
            None => self.inner.accumulator(args),
        }
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        match Self::exact(&args) {
            Some(accumulator) => Ok(accumulator),
            None => self.inner.create_sliding_accumulator(args),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        if is_length(args.input_fields) {
            return Ok(AverageLength::state_fields(args.name));
        }
        if !is_exact(args.input_fields) {
            return self.inner.state_fields(args);
        }
        let state = state_of(args.input_fields[0].data_type());
        let field = |what: &str, data_type: DataType| -> FieldRef {
            Arc::new(Field::new(format_state_name(args.name, what), data_type, true))
        };
        Ok(match args.is_distinct {
            true => vec![field("values", DataType::new_list(state, true))],
            false => vec![field("sum", state), field("count", DataType::UInt64)],
        })
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        match is_exact(args.expr_fields) {
            true => !args.is_distinct,
            false if is_length(args.expr_fields) => false,
            false => self.inner.groups_accumulator_supported(args),
        }
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        match is_exact(args.expr_fields) {
            true => Ok(Box::new(AverageGroups::new(scale_of(args.expr_fields[0].data_type())))),
            false => self.inner.create_groups_accumulator(args),
        }
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }
}

fn value(sum: i128, count: u64, scale: i8) -> Result<ScalarValue> {
    let average = if count > 0 { Some(decimal_average(sum, count, scale)?) } else { None };
    Ok(ScalarValue::Decimal128(average, DIGITS_MAX, average_scale(scale)))
}

/// The average of one group, or of the rows in a window.
#[derive(Debug)]
struct Average {
    sum: i128,
    count: u64,
    /// The digits behind the point of the values.
    scale: i8,
}

impl Accumulator for Average {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.sum = added(self.sum, &values[0])?;
        self.count += (values[0].len() - values[0].null_count()) as u64;
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.sum = removed(self.sum, &values[0])?;
        self.count -= (values[0].len() - values[0].null_count()) as u64;
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.sum = added(self.sum, &states[0])?;
        self.count += states[1].as_primitive::<UInt64Type>().iter().flatten().sum::<u64>();
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![ScalarValue::Decimal128(Some(self.sum), DIGITS_MAX, self.scale), ScalarValue::UInt64(Some(self.count))])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        value(self.sum, self.count, self.scale)
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

/// The average of the distinct values.
#[derive(Debug)]
struct DistinctAverage {
    sum: DistinctSum,
    scale: i8,
}

impl Accumulator for DistinctAverage {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.sum.update_batch(values)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.sum.retract_batch(values)
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.sum.merge_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.sum.state()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let (sum, count) = self.sum.sum_and_count();
        value(sum, count, self.scale)
    }

    fn size(&self) -> usize {
        self.sum.size()
    }
}
