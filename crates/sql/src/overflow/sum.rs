//! `sum` of integers: in 128 bits, so that only the result has to fit.

use super::sum_distinct::DistinctSum;
use super::sum_groups::SumGroups;
use atsdb_core::Error;
use datafusion::arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Field, FieldRef, Int64Type, UInt64Type};
use datafusion::common::{DataFusionError, Result, ScalarValue, internal_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, GroupsAccumulator, ReversedUDAF, Signature,
};
use std::sync::Arc;

/// The type of a sum on its way.
pub(super) const STATE: DataType = DataType::Decimal128(38, 0);

/// DataFusion's `sum`, but for integers.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct IntegerSum {
    inner: Arc<AggregateUDF>,
}

impl IntegerSum {
    pub(super) fn new(inner: Arc<AggregateUDF>) -> Self {
        Self { inner }
    }

    fn integer(&self, args: &AccumulatorArgs<'_>) -> Option<Box<dyn Accumulator>> {
        let result = args.return_field.data_type();
        match (result.is_integer(), args.is_distinct) {
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
        self.inner.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        match self.integer(&args) {
            Some(accumulator) => Ok(accumulator),
            None => self.inner.accumulator(args),
        }
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        match self.integer(&args) {
            Some(accumulator) => Ok(accumulator),
            None => self.inner.create_sliding_accumulator(args),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        match args.return_type().is_integer() && !args.is_distinct {
            true => Ok(vec![Arc::new(Field::new(format_state_name(args.name, "sum"), STATE, true))]),
            false => self.inner.state_fields(args),
        }
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        self.inner.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        match args.return_field.data_type().is_integer() {
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

/// A sum in the result's type.
pub(super) fn fitting<T: TryFrom<i128>>(sum: i128) -> Result<T> {
    T::try_from(sum).map_err(|_| {
        let error = Error::invalid(format!("overflow: the sum is {sum}"));
        DataFusionError::External(Box::new(error.with_hint("sum a wider type: sum(CAST(x AS DECIMAL(38, 0)))")))
    })
}

/// A sum as a value of the result's type.
pub(super) fn value(sum: Option<i128>, result: &DataType) -> Result<ScalarValue> {
    match result {
        DataType::UInt64 => Ok(ScalarValue::UInt64(sum.map(fitting).transpose()?)),
        DataType::Int64 => Ok(ScalarValue::Int64(sum.map(fitting).transpose()?)),
        other => internal_err!("a sum of integers as {other}"),
    }
}

/// Does something with an array's values in 128 bits: integers, or sums on their way.
pub(super) fn each_of(array: &ArrayRef, mut each: impl FnMut(usize, i128)) -> Result<()> {
    fn visit<T: ArrowPrimitiveType<Native: Into<i128>>>(array: &PrimitiveArray<T>, mut each: impl FnMut(usize, i128)) {
        match array.nulls().filter(|nulls| nulls.null_count() > 0) {
            None => array.values().iter().enumerate().for_each(|(row, value)| each(row, (*value).into())),
            Some(nulls) => nulls.valid_indices().for_each(|row| each(row, array.value(row).into())),
        }
    }
    match array.data_type() {
        DataType::Int64 => visit(array.as_primitive::<Int64Type>(), &mut each),
        DataType::UInt64 => visit(array.as_primitive::<UInt64Type>(), &mut each),
        DataType::Decimal128(_, _) => visit(array.as_primitive::<Decimal128Type>(), &mut each),
        other => return internal_err!("a sum of integers over {other}"),
    }
    Ok(())
}

/// The sum of one group, or of the rows in a window.
#[derive(Debug)]
struct Sum {
    result: DataType,
    sum: i128,
    /// How many values are in it: of none the sum is NULL.
    count: u64,
}

impl Accumulator for Sum {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let mut sum = 0;
        each_of(&values[0], |_, value| sum += value)?;
        self.sum += sum;
        self.count += (values[0].len() - values[0].null_count()) as u64;
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let mut sum = 0;
        each_of(&values[0], |_, value| sum += value)?;
        self.sum -= sum;
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
        Ok(vec![ScalarValue::Decimal128((self.count > 0).then_some(self.sum), 38, 0)])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        value((self.count > 0).then_some(self.sum), &self.result)
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}
