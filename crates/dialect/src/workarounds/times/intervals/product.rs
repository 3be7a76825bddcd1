//! An interval times or divided by a number. A fraction of a month becomes days, and a fraction of a day hours and
//! smaller units.
//!
//! Part of [`arithmetic`](super::arithmetic).

use crate::functions::base::answers::{answer, are_constant};
use crate::functions::times::interval::intervals;
use atsdb_core::time;
use datafusion::arrow::array::{AsArray, IntervalMonthDayNanoArray};
use datafusion::arrow::datatypes::{DataType, Float64Type, IntervalMonthDayNano, IntervalUnit};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};
use std::sync::Arc;

const INTERVAL: DataType = DataType::Interval(IntervalUnit::MonthDayNano);
const MONTH_DAYS: f64 = 30.0;
const DAY_SECONDS: f64 = time::DAY_SECONDS as f64;
const SECOND_NANOS: f64 = 1e9;
const MICROSECOND_NANOS: f64 = 1e3;

/// `interval * number` or `interval / number`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct IntervalProduct {
    is_quotient: bool,
    signature: Signature,
}

impl IntervalProduct {
    pub(super) fn new(is_quotient: bool) -> Self {
        Self { is_quotient, signature: Signature::any(2, Volatility::Immutable) }
    }

    fn compute(&self, length: IntervalMonthDayNano, number: f64) -> Result<IntervalMonthDayNano> {
        let (months, days, nanos) = (f64::from(length.months), f64::from(length.days), length.nanoseconds as f64);
        if !self.is_quotient {
            return of_parts((months * number, days * number, nanos * number));
        }
        if number == 0.0 {
            return exec_err!("division by zero");
        }
        quotient((months, days, nanos), number)
    }
}

impl ScalarUDFImpl for IntervalProduct {
    fn name(&self) -> &str {
        if self.is_quotient { "interval_quotient" } else { "interval_product" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(INTERVAL)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let lengths = intervals(&arrays[0])?;
        let products = lengths.iter().zip(arrays[1].as_primitive::<Float64Type>()).map(|(length, factor)| match length
            .zip(factor)
        {
            Some((length, factor)) => self.compute(length, factor).map(Some),
            None => Ok(None),
        });
        let products: IntervalMonthDayNanoArray = products.collect::<Result<Vec<_>>>()?.into_iter().collect();
        answer(are_constant(&args.args), Arc::new(products))
    }
}

/// A length in months, days and nanoseconds, divided by a number other than zero.
pub(super) fn quotient((months, days, nanos): (f64, f64, f64), divisor: f64) -> Result<IntervalMonthDayNano> {
    of_parts((months / divisor, days / divisor, nanos / divisor))
}

/// Carries fractions, with PostgreSQL's roundings.
fn of_parts((months, days, nanos): (f64, f64, f64)) -> Result<IntervalMonthDayNano> {
    let days_left = to_millionths((months - months.trunc()) * MONTH_DAYS);
    let seconds_left = to_millionths((days - days.trunc() + days_left - days_left.trunc()) * DAY_SECONDS);
    let carried = (seconds_left / DAY_SECONDS).trunc();
    let nanos = nanos + (seconds_left - carried * DAY_SECONDS) * SECOND_NANOS;
    let (months, days) = (months.trunc(), days.trunc() + days_left.trunc() + carried);
    let fits = |value: f64, most: f64| value.is_finite() && value.abs() <= most;
    if !fits(months, f64::from(i32::MAX)) || !fits(days, f64::from(i32::MAX)) || !fits(nanos, 9.2e18) {
        return exec_err!("the interval is out of range");
    }
    let nanoseconds = ((nanos / MICROSECOND_NANOS).round_ties_even() * MICROSECOND_NANOS) as i64;
    Ok(IntervalMonthDayNano { months: months as i32, days: days as i32, nanoseconds })
}

fn to_millionths(value: f64) -> f64 {
    (value * 1e6).round_ties_even() / 1e6
}
