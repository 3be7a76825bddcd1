//! `sum` of integers and decimals, computed in 128 bits, so that only the result has to fit. The sum of a `BIGINT` is a
//! `DECIMAL(38, 0)`, as wide as PostgreSQL's `NUMERIC` is for it; the sum of a narrower type is a `BIGINT`.
//! DataFusion's sum of decimals wraps around.

use super::sum_distinct::DistinctSum;
use super::sum_groups::SumGroups;
use super::wide_sum::{added, coerced_by, is_exact, removed, state_of, value};
use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, GroupsAccumulator, ReversedUDAF, Signature, Volatility,
};
use std::sync::Arc;

/// DataFusion's `sum`, replaced for integers and decimals.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct IntegerSum {
    inner: Arc<AggregateUDF>,
    signature: Signature,
}

impl IntegerSum {
    pub(super) fn new(inner: Arc<AggregateUDF>) -> Self {
        Self { inner, signature: Signature::user_defined(Volatility::Immutable) }
    }

    fn exact(args: &AccumulatorArgs<'_>) -> Option<Box<dyn Accumulator>> {
        let result = args.return_field.data_type();
        match (is_summed(args.expr_fields), args.is_distinct) {
            (false, _) => None,
            (true, false) => Some(Box::new(Sum { result: result.clone(), sum: 0, count: 0 })),
            (true, true) => Some(Box::new(DistinctSum::new(result.clone()))),
        }
    }
}

impl AggregateUDFImpl for IntegerSum {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Keeps integers and decimals in their type, because it decides the type of the result.
    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [data_type] if is_exact(data_type) => Ok(types.to_vec()),
            _ => coerced_by(&self.inner, types),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [data_type @ (DataType::Int64 | DataType::UInt64 | DataType::Decimal128(..))] => Ok(state_of(data_type)),
            [data_type] if data_type.is_integer() => Ok(DataType::Int64),
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
        match is_summed(args.input_fields) && !args.is_distinct {
            true => Ok(vec![Arc::new(Field::new(
                format_state_name(args.name, "sum"),
                state_of(args.input_fields[0].data_type()),
                true,
            ))]),
            false => self.inner.state_fields(args),
        }
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        self.inner.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        match is_summed(args.expr_fields) {
            true => Ok(Box::new(SumGroups::new(args.return_field.data_type().clone()))),
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

fn is_summed(fields: &[FieldRef]) -> bool {
    matches!(fields, [field] if is_exact(field.data_type()))
}

/// The sum of one group, or of the rows in a window.
#[derive(Debug)]
struct Sum {
    result: DataType,
    sum: i128,
    /// The number of values. If it is 0, the sum is NULL.
    count: u64,
}

impl Accumulator for Sum {
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
        self.update_batch(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![value((self.count > 0).then_some(self.sum), &state_of(&self.result))?])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        value((self.count > 0).then_some(self.sum), &self.result)
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}
