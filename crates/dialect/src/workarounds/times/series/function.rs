//! A series as a list, in a SELECT list or of columns in FROM.

use super::steps::{Steps, type_of_times};
use crate::functions::base::answers::{answer, are_constant};
use crate::functions::base::arguments::strictly;
use crate::functions::base::of_inner::of_inner;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array, ListArray};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Int64Type, IntervalMonthDayNanoType, IntervalUnit};
use datafusion::common::{Result, exec_err};
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::{ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl};
use std::sync::Arc;

pub(super) fn register(context: &SessionContext, name: &str, includes_end: bool) {
    if let Some(inner) = context.state().scalar_functions().get(name) {
        context.register_udf(ScalarUDF::new_from_impl(SeriesOfTimes { inner: Arc::clone(inner), includes_end }));
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct SeriesOfTimes {
    inner: Arc<ScalarUDF>,
    includes_end: bool,
}

impl ScalarUDFImpl for SeriesOfTimes {
    of_inner!(name, aliases, signature, coerce_types, documentation);

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match type_of_times(types) {
            Some(of) => Ok(DataType::List(element(of))),
            None => self.inner.return_type(types),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let types: Vec<DataType> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        let field = self.inner.return_field_from_args(args)?;
        Ok(match type_of_times(&types) {
            Some(of) => Arc::new(field.as_ref().clone().with_data_type(DataType::List(element(of)))),
            None => field,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let types: Vec<DataType> = args.args.iter().map(ColumnarValue::data_type).collect();
        let Some(of) = type_of_times(&types) else { return self.inner.invoke_with_args(args) };
        let is_scalar = are_constant(&args.args);
        let series = self.series(&of, &ColumnarValue::values_to_arrays(&args.args)?)?;
        answer(is_scalar, Arc::new(series))
    }
}

impl SeriesOfTimes {
    /// The series of each row.
    fn series(&self, of: &DataType, arguments: &[ArrayRef]) -> Result<ListArray> {
        let [from, to, step] = arguments else { return exec_err!("a series of times has three arguments") };
        let (from, to) = (counts(from, of)?, counts(to, of)?);
        let step = cast(step, &DataType::Interval(IntervalUnit::MonthDayNano))?;
        let step = step.as_primitive::<IntervalMonthDayNanoType>();
        let (mut times, mut lengths, mut are_valid) = (Vec::new(), Vec::new(), Vec::new());
        for row in 0..from.len() {
            let is_valid = from.is_valid(row) && to.is_valid(row) && step.is_valid(row);
            let before = times.len();
            if is_valid {
                for time in Steps::new(of, [from.value(row), to.value(row)], step.value(row), self.includes_end)? {
                    times.push(time?);
                }
            }
            if i32::try_from(times.len()).is_err() {
                return exec_err!("the result of {} is too long", self.name());
            }
            lengths.push(times.len() - before);
            are_valid.push(is_valid);
        }
        let times: ArrayRef = Arc::new(Int64Array::from(times));
        let (offsets, nulls) = (OffsetBuffer::from_lengths(lengths), NullBuffer::from(are_valid));
        Ok(ListArray::try_new(element(of.clone()), offsets, cast(&times, of)?, Some(nulls))?)
    }
}

fn element(of: DataType) -> FieldRef {
    Arc::new(Field::new_list_field(of, true))
}

/// The counts of times in the unit of the series.
fn counts(times: &ArrayRef, of: &DataType) -> Result<Int64Array> {
    let counts = strictly(&strictly(times, of)?, &DataType::Int64)?;
    Ok(counts.as_primitive::<Int64Type>().clone())
}
