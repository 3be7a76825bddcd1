//! The difference of two times: an interval of days and hours, as in PostgreSQL. DataFusion's is a duration, which has
//! no days, and is computed in nanoseconds, whose range ends in 1677 and 2262.
//!
//! No upstream issue is known. The planner of arithmetic uses it in place of `-`.

use super::interval::of_nanos;
use crate::functions::base::answers::{answer, are_constant};
use crate::functions::base::arguments::per_second;
use atsdb_core::time::DAY_NANOSECONDS;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array, IntervalMonthDayNanoArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type, IntervalUnit};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use std::sync::Arc;

const NAME: &str = "time_difference";
const SECOND_NANOS: i128 = 1_000_000_000;

/// `later - earlier`, of times or dates.
pub fn difference(later: Expr, earlier: Expr) -> Expr {
    ScalarUDF::new_from_impl(TimeDifference::new()).call(vec![later, earlier])
}

/// The operands of a difference of times.
pub fn operands_of_difference(expr: &Expr) -> Option<(&Expr, &Expr)> {
    match expr {
        Expr::ScalarFunction(ScalarFunction { func, args }) if func.name() == NAME => match args.as_slice() {
            [later, earlier] => Some((later, earlier)),
            _ => None,
        },
        _ => None,
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct TimeDifference {
    signature: Signature,
}

impl TimeDifference {
    fn new() -> Self {
        Self { signature: Signature::any(2, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for TimeDifference {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Interval(IntervalUnit::MonthDayNano))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let (later, later_tick) = counts(&arrays[0])?;
        let (earlier, earlier_tick) = counts(&arrays[1])?;
        let lengths = later.iter().zip(earlier.iter()).map(|(later, earlier)| {
            let Some((later, earlier)) = later.zip(earlier) else { return Ok(None) };
            match of_nanos(i128::from(later) * later_tick - i128::from(earlier) * earlier_tick) {
                Some(length) => Ok(Some(length)),
                None => exec_err!("the interval is out of range"),
            }
        });
        let lengths: IntervalMonthDayNanoArray = lengths.collect::<Result<Vec<_>>>()?.into_iter().collect();
        answer(are_constant(&args.args), Arc::new(lengths))
    }
}

/// Times as counts of a number of nanoseconds.
fn counts(times: &ArrayRef) -> Result<(Int64Array, i128)> {
    let tick = match times.data_type() {
        DataType::Timestamp(unit, _) => SECOND_NANOS / i128::from(per_second(*unit)),
        DataType::Date32 => {
            let days = cast(&cast(times, &DataType::Int32)?, &DataType::Int64)?;
            return Ok((days.as_primitive::<Int64Type>().clone(), i128::from(DAY_NANOSECONDS)));
        }
        other => return exec_err!("{other} is not a time"),
    };
    Ok((cast(times, &DataType::Int64)?.as_primitive::<Int64Type>().clone(), tick))
}
