//! `generate_series` and `range` over decimals, as a list and of constants in FROM. DataFusion's series are those of
//! integers and times. The values have as many digits after the point as the first one or the step, whichever has more.
//!
//! No upstream issue known.

use crate::functions::base::answers::{answer, are_constant};
use crate::functions::base::of_inner::of_inner;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Decimal128Array, ListArray, RecordBatch};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DataType, Decimal128Type, Field, FieldRef, Schema, SchemaRef,
};
use datafusion::catalog::streaming::StreamingTable;
use datafusion::catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{DataFusionError, Result, ScalarValue, exec_err};
use datafusion::execution::context::SessionContext;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use std::sync::Arc;

/// The functions, and whether the end of a series is part of it.
const FUNCTIONS: [(&str, bool); 2] = [("generate_series", true), ("range", false)];

/// The size of a value.
const VALUE_BYTES: i128 = 16;

/// Divides the memory limit into the largest size of one list, because several lists may exist at once.
const SHARE: usize = 4;

/// Replaces the functions. `memory_bytes` is a query's memory limit.
pub(crate) fn register(context: &SessionContext, memory_bytes: usize) {
    for (name, includes_end) in FUNCTIONS {
        if let Some(inner) = context.state().scalar_functions().get(name) {
            let types = vec![inner.signature().type_signature.clone(), TypeSignature::UserDefined];
            let signature = Signature::one_of(types, inner.signature().volatility);
            let (inner, bytes_max) = (Arc::clone(inner), memory_bytes / SHARE);
            let series = SeriesOfDecimals { inner, signature, includes_end, bytes_max };
            context.register_udf(ScalarUDF::new_from_impl(series));
        }
        if let Ok(function) = context.table_function(name) {
            context.register_udtf(name, Arc::new(SeriesTable { inner: Arc::clone(function.function()), includes_end }));
        }
    }
}

/// The types of a series of decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SeriesDigits {
    /// The digits after the point of the values and of the step.
    scale: i8,
    /// The digits after the point of the end.
    end_scale: i8,
}

impl SeriesDigits {
    /// The digits of a series with arguments of these types; `None` if it is no series of decimals.
    fn of(types: &[DataType]) -> Option<Self> {
        let (from, to, step) = match types {
            [from, to] => (from, to, None),
            [from, to, step] => (from, to, Some(step)),
            _ => return None,
        };
        if !types.iter().any(|of| matches!(of, DataType::Decimal128(..))) {
            return None;
        }
        let scale_of = |of: &DataType| match of {
            DataType::Decimal128(_, scale) => Some((*scale).max(0)),
            DataType::Null => Some(0),
            of if of.is_integer() => Some(0),
            _ => None,
        };
        let of_step = step.map_or(Some(0), scale_of)?;
        Some(Self { scale: scale_of(from)?.max(of_step), end_scale: scale_of(to)? })
    }

    /// The type of the values and of the step.
    fn value_type(self) -> DataType {
        DataType::Decimal128(DECIMAL128_MAX_PRECISION, self.scale)
    }

    fn end_type(self) -> DataType {
        DataType::Decimal128(DECIMAL128_MAX_PRECISION, self.end_scale)
    }

    /// The type of an argument by its position.
    fn argument_type(self, position: usize) -> DataType {
        if position == 1 { self.end_type() } else { self.value_type() }
    }

    /// The step of a series that gives none.
    fn one(self) -> i128 {
        power_of_ten(self.scale.unsigned_abs())
    }

    /// The values from one to another, which are counts of their last digits.
    fn steps(self, from: i128, to: i128, step: i128, includes_end: bool) -> Result<DecimalSteps> {
        if step == 0 {
            return exec_err!("step size cannot equal zero");
        }
        let factor = power_of_ten(self.scale.abs_diff(self.end_scale));
        let (below, above) = if self.scale >= self.end_scale {
            let end = to.saturating_mul(factor);
            (end, end)
        } else {
            let below = to.div_euclid(factor);
            (below, below + i128::from(to.rem_euclid(factor) != 0))
        };
        let last = match (step > 0, includes_end) {
            (true, true) => below,
            (true, false) => above.saturating_sub(1),
            (false, true) => above,
            (false, false) => below.saturating_add(1),
        };
        Ok(DecimalSteps { next: Some(from), last, step })
    }
}

fn power_of_ten(exponent: u8) -> i128 {
    10_i128.pow(exponent.into())
}

/// The values of a series. It ends at the last one of 38 digits.
#[derive(Debug, Clone)]
struct DecimalSteps {
    next: Option<i128>,
    last: i128,
    step: i128,
}

impl DecimalSteps {
    /// The number of values that are left.
    fn count_left(&self) -> i128 {
        let Some(next) = self.next.filter(|next| self.contains(*next)) else { return 0 };
        let steps = self.last.saturating_sub(next).checked_div(self.step);
        steps.map_or(i128::MAX, |steps| steps.saturating_add(1))
    }

    fn contains(&self, value: i128) -> bool {
        if self.step > 0 { value <= self.last } else { value >= self.last }
    }
}

impl Iterator for DecimalSteps {
    type Item = i128;

    fn next(&mut self) -> Option<i128> {
        let value = self.next.take().filter(|value| self.contains(*value))?;
        let has_room = |next: &i128| next.unsigned_abs() < power_of_ten(DECIMAL128_MAX_PRECISION).unsigned_abs();
        self.next = value.checked_add(self.step).filter(has_room);
        Some(value)
    }
}

fn decimals(values: Vec<i128>, scale: i8) -> Result<ArrayRef> {
    Ok(Arc::new(Decimal128Array::from(values).with_precision_and_scale(DECIMAL128_MAX_PRECISION, scale)?))
}

fn batch(schema: &SchemaRef, values: Vec<i128>, scale: i8) -> Result<RecordBatch> {
    Ok(RecordBatch::try_new(Arc::clone(schema), vec![decimals(values, scale)?])?)
}

fn element(of: DataType) -> FieldRef {
    Arc::new(Field::new_list_field(of, true))
}

/// A series as a list.
#[derive(Debug, PartialEq, Eq, Hash)]
struct SeriesOfDecimals {
    inner: Arc<ScalarUDF>,
    /// The arguments of the function that it replaces, or decimals.
    signature: Signature,
    includes_end: bool,
    /// The largest size of all lists of a batch.
    bytes_max: usize,
}

impl ScalarUDFImpl for SeriesOfDecimals {
    of_inner!(name, aliases, documentation);

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match SeriesDigits::of(types) {
            Some(digits) => Ok((0..types.len()).map(|position| digits.argument_type(position)).collect()),
            None => self.inner.coerce_types(types),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match SeriesDigits::of(types) {
            Some(digits) => Ok(DataType::List(element(digits.value_type()))),
            None => self.inner.return_type(types),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let types: Vec<DataType> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        match SeriesDigits::of(&types) {
            Some(_) => Ok(Arc::new(Field::new(self.name(), self.return_type(&types)?, true))),
            None => self.inner.return_field_from_args(args),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let types: Vec<DataType> = args.args.iter().map(ColumnarValue::data_type).collect();
        let Some(digits) = SeriesDigits::of(&types) else { return self.inner.invoke_with_args(args) };
        let is_scalar = are_constant(&args.args);
        let series = self.series(digits, &ColumnarValue::values_to_arrays(&args.args)?)?;
        answer(is_scalar, Arc::new(series))
    }
}

impl SeriesOfDecimals {
    /// The series of each row.
    fn series(&self, digits: SeriesDigits, arguments: &[ArrayRef]) -> Result<ListArray> {
        let cast_all =
            arguments.iter().enumerate().map(|(position, array)| cast(array, &digits.argument_type(position)));
        let arrays = cast_all.collect::<std::result::Result<Vec<_>, _>>()?;
        let columns: Vec<&Decimal128Array> =
            arrays.iter().map(|array| array.as_primitive::<Decimal128Type>()).collect();
        let row_count = columns.first().map_or(0, |column| column.len());
        let (mut values, mut lengths, mut are_valid) = (Vec::new(), Vec::new(), Vec::new());
        let mut bytes: i128 = 0;
        for row in 0..row_count {
            let is_valid = columns.iter().all(|column| column.is_valid(row));
            let before = values.len();
            if is_valid {
                let step = columns.get(2).map_or_else(|| digits.one(), |step| step.value(row));
                let steps = digits.steps(columns[0].value(row), columns[1].value(row), step, self.includes_end)?;
                bytes = bytes.saturating_add(steps.count_left().saturating_mul(VALUE_BYTES));
                if bytes > self.bytes_max as i128 {
                    let message = format!("the result of {} is too long", self.name());
                    return Err(DataFusionError::ResourcesExhausted(message));
                }
                values.extend(steps);
            }
            if i32::try_from(values.len()).is_err() {
                return exec_err!("the result of {} is too long", self.name());
            }
            lengths.push(values.len() - before);
            are_valid.push(is_valid);
        }
        let (offsets, nulls) = (OffsetBuffer::from_lengths(lengths), NullBuffer::from(are_valid));
        let values = decimals(values, digits.scale)?;
        Ok(ListArray::try_new(element(digits.value_type()), offsets, values, Some(nulls))?)
    }
}

/// A series of constants in FROM, made batch by batch.
#[derive(Debug)]
struct SeriesTable {
    inner: Arc<dyn TableFunctionImpl>,
    includes_end: bool,
}

impl TableFunctionImpl for SeriesTable {
    fn call_with_args(&self, args: TableFunctionArgs<'_, '_>) -> Result<Arc<dyn TableProvider>> {
        let literals = args.exprs().iter().map(Expr::as_literal).collect::<Option<Vec<_>>>().unwrap_or_default();
        let types: Vec<DataType> = literals.iter().map(|value| value.data_type()).collect();
        let Some(digits) = SeriesDigits::of(&types) else { return self.inner.call_with_args(args) };
        let count = |position: usize, value: &ScalarValue| match value.cast_to(&digits.argument_type(position))? {
            ScalarValue::Decimal128(count, ..) => Ok(count),
            other => exec_err!("{other} is not a decimal"),
        };
        let counts = literals.iter().enumerate().map(|(position, value)| count(position, value));
        let steps = match counts.collect::<Result<Vec<_>>>()?.as_slice() {
            [Some(from), Some(to)] => Some(digits.steps(*from, *to, digits.one(), self.includes_end)?),
            [Some(from), Some(to), Some(step)] => Some(digits.steps(*from, *to, *step, self.includes_end)?),
            // A NULL leaves nothing.
            _ => None,
        };
        let schema = Arc::new(Schema::new(vec![Field::new("value", digits.value_type(), false)]));
        let stream: Arc<dyn PartitionStream> =
            Arc::new(SeriesStream { schema: Arc::clone(&schema), scale: digits.scale, steps });
        Ok(Arc::new(StreamingTable::try_new(schema, vec![stream])?))
    }
}

/// The rows of a series.
#[derive(Debug)]
struct SeriesStream {
    schema: SchemaRef,
    scale: i8,
    /// `None` if there are none.
    steps: Option<DecimalSteps>,
}

impl PartitionStream for SeriesStream {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let (schema, scale) = (Arc::clone(&self.schema), self.scale);
        let row_count = context.session_config().batch_size().max(1);
        let mut steps = self.steps.clone().into_iter().flatten();
        let batches = std::iter::from_fn(move || {
            let values: Vec<i128> = steps.by_ref().take(row_count).collect();
            (!values.is_empty()).then(|| batch(&schema, values, scale))
        });
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), futures::stream::iter(batches)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(digits: (i8, i8), from: i128, to: i128, step: i128, includes_end: bool) -> Vec<i128> {
        let (scale, end_scale) = digits;
        SeriesDigits { scale, end_scale }.steps(from, to, step, includes_end).unwrap().collect()
    }

    #[test]
    fn a_series_goes_up_or_down_to_an_end_of_other_digits() {
        assert_eq!(values((1, 0), 15, 3, 5, true), [15, 20, 25, 30]);
        assert_eq!(values((1, 0), 15, 3, 5, false), [15, 20, 25]);
        assert_eq!(values((0, 1), 1, 35, 1, false), [1, 2, 3], "3.5 is not reached");
        assert_eq!(values((0, 1), 1, 30, 1, false), [1, 2]);
        assert_eq!(values((0, 1), 3, 5, -1, true), [3, 2, 1]);
        assert_eq!(values((0, 1), -3, -35, -1, true), [-3]);
        assert!(values((0, 0), 3, 1, 1, true).is_empty());
    }

    #[test]
    fn a_series_ends_with_the_digits_of_decimals() {
        let most = power_of_ten(38) - 1;
        assert_eq!(values((0, 0), most - 1, i128::MAX, 1, true), [most - 1, most]);
        let digits = SeriesDigits { scale: 0, end_scale: 0 };
        assert!(digits.steps(1, 2, 0, true).is_err());
        let counted = |from, to, step| digits.steps(from, to, step, true).unwrap().count_left();
        assert_eq!((counted(1, 5, 2), counted(5, 1, 2), counted(5, 1, -2)), (3, 0, 3));
        assert_eq!(counted(most, i128::MIN, -1), i128::MAX);
    }
}
