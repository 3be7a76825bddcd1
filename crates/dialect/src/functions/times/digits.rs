//! `round_time(t, digits)`: a time with fewer digits after the seconds, to which `CAST(t AS TIMESTAMP(0))` and
//! `CURRENT_TIMESTAMP(3)` are rewritten. A time in the middle is rounded away from the beginning of the year 2000, as
//! in PostgreSQL. DataFusion's casts cut digits off, and know only 0, 3, 6 and 9 of them. An interval is rounded away
//! from zero; its months and days stay.

use crate::functions::base::arguments::{per_second, strictly};
use atsdb_core::time::DAY_SECONDS;
use datafusion::arrow::array::{ArrayRef, AsArray, PrimitiveArray};
use datafusion::arrow::datatypes::{DataType, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use std::sync::Arc;

/// The beginning of the year 2000, in seconds since the epoch.
const MIDDLE_SECONDS: i64 = 946_684_800;

pub(super) fn function() -> ScalarUDF {
    ScalarUDF::new_from_impl(RoundTime { signature: Signature::any(2, Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct RoundTime {
    signature: Signature,
}

impl ScalarUDFImpl for RoundTime {
    fn name(&self) -> &str {
        "round_time"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [time @ (DataType::Timestamp(..) | DataType::Time64(_)), _] => Ok(time.clone()),
            [interval @ DataType::Interval(IntervalUnit::MonthDayNano), _] => Ok(interval.clone()),
            _ => exec_err!("round_time takes a time and a number of digits"),
        }
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [times, ColumnarValue::Scalar(digits)] = args.args.as_slice() else {
            return exec_err!("round_time takes a constant number of digits");
        };
        let ScalarValue::Int64(Some(digits)) = digits.cast_to(&DataType::Int64)? else {
            return exec_err!("round_time takes a number of digits");
        };
        match times {
            ColumnarValue::Array(times) => rounded(times, digits).map(ColumnarValue::Array),
            ColumnarValue::Scalar(time) => {
                ScalarValue::try_from_array(&rounded(&time.to_array()?, digits)?, 0).map(ColumnarValue::Scalar)
            }
        }
    }
}

fn rounded(times: &ArrayRef, digits: i64) -> Result<ArrayRef> {
    if let Some(intervals) = times.as_primitive_opt::<IntervalMonthDayNanoType>() {
        return rounded_intervals(intervals, digits);
    }
    let (per_second, middle_seconds, end) = match times.data_type() {
        DataType::Timestamp(unit, _) => (per_second(*unit), MIDDLE_SECONDS, i64::MAX),
        DataType::Time64(unit) => (per_second(*unit), 0, DAY_SECONDS * per_second(*unit)),
        other => return exec_err!("round_time takes a time, not {other}"),
    };
    let step = step_of(per_second, digits);
    if step <= 1 {
        return Ok(Arc::clone(times));
    }
    let counts = strictly(times, &DataType::Int64)?;
    let middle = middle_seconds * per_second;
    let rounded = counts.as_primitive::<Int64Type>().try_unary::<_, Int64Type, _>(|count| {
        match round_from(count, middle, step).filter(|count| *count < end) {
            Some(count) => Ok(count),
            None => exec_err!("a time rounded to {digits} digits is out of range"),
        }
    })?;
    strictly(&(Arc::new(rounded) as ArrayRef), times.data_type())
}

fn rounded_intervals(intervals: &PrimitiveArray<IntervalMonthDayNanoType>, digits: i64) -> Result<ArrayRef> {
    let step = step_of(1_000_000_000, digits);
    if step <= 1 {
        return Ok(Arc::new(intervals.clone()));
    }
    let rounded = intervals.try_unary::<_, IntervalMonthDayNanoType, _>(|interval| {
        match round_from(interval.nanoseconds, 0, step) {
            Some(nanoseconds) => Ok(IntervalMonthDayNano { nanoseconds, ..interval }),
            None => exec_err!("an interval rounded to {digits} digits is out of range"),
        }
    })?;
    Ok(Arc::new(rounded))
}

/// The distance of two times with this many digits after the seconds.
fn step_of(per_second: i64, digits: i64) -> i64 {
    let steps = u32::try_from(digits).ok().and_then(|digits| 10_i64.checked_pow(digits)).unwrap_or(i64::MAX);
    per_second / steps
}

/// The nearest count that is a multiple of `step`; of two, the one farther from `middle`, which is such a count, too.
fn round_from(count: i64, middle: i64, step: i64) -> Option<i64> {
    let distance = i128::from(count) - i128::from(middle);
    let step = i128::from(step);
    let steps = (distance.abs() + step / 2) / step;
    i64::try_from(i128::from(middle) + distance.signum() * steps * step).ok()
}

#[cfg(test)]
mod tests {
    use super::round_from;

    #[test]
    fn a_time_in_the_middle_is_rounded_away_from_the_beginning_of_the_epoch() {
        for (count, expected) in [(4, 0), (5, 10), (-4, 0), (-5, -10), (-15, -20), (14, 10)] {
            assert_eq!(round_from(count, 0, 10), Some(expected), "{count}");
        }
        assert_eq!(round_from(45, 100, 10), Some(40));
        assert_eq!(round_from(i64::MAX, 0, 10), None);
    }
}
