//! An interval times a number. A fraction of a month becomes days, and a fraction of a day hours and smaller units.
//!
//! Part of [`arithmetic`](super::arithmetic).

use crate::functions::interval::intervals;
use datafusion::arrow::array::{AsArray, IntervalMonthDayNanoArray};
use datafusion::arrow::datatypes::{DataType, Float64Type, IntervalMonthDayNano, IntervalUnit};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};
use std::sync::Arc;

const INTERVAL: DataType = DataType::Interval(IntervalUnit::MonthDayNano);
const MONTH_DAYS: f64 = 30.0;
const DAY_NANOS: f64 = 86_400e9;
const MICROSECOND_NANOS: f64 = 1e3;

/// `interval * number`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct IntervalProduct {
    signature: Signature,
}

impl IntervalProduct {
    pub(super) fn new() -> Self {
        Self { signature: Signature::any(2, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for IntervalProduct {
    fn name(&self) -> &str {
        "interval_product"
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
            Some((length, factor)) => product(length, factor).map(Some),
            None => Ok(None),
        });
        let products: IntervalMonthDayNanoArray = products.collect::<Result<Vec<_>>>()?.into_iter().collect();
        match args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_))) {
            true => ScalarValue::try_from_array(&products, 0).map(ColumnarValue::Scalar),
            false => Ok(ColumnarValue::Array(Arc::new(products))),
        }
    }
}

fn product(length: IntervalMonthDayNano, factor: f64) -> Result<IntervalMonthDayNano> {
    let (months, days) = (f64::from(length.months) * factor, f64::from(length.days) * factor);
    let days_left = (months - months.trunc()) * MONTH_DAYS;
    let nanos_left = (days - days.trunc() + days_left - days_left.trunc()) * DAY_NANOS;
    let nanos =
        length.nanoseconds as f64 * factor + (nanos_left / MICROSECOND_NANOS).round_ties_even() * MICROSECOND_NANOS;
    let (months, days) = (months.trunc(), days.trunc() + days_left.trunc());
    let fits = |value: f64, most: f64| value.is_finite() && value.abs() <= most;
    if !fits(months, f64::from(i32::MAX)) || !fits(days, f64::from(i32::MAX)) || !fits(nanos, 9.2e18) {
        return exec_err!("the interval is out of range");
    }
    let nanoseconds = ((nanos / MICROSECOND_NANOS).round_ties_even() * MICROSECOND_NANOS) as i64;
    Ok(IntervalMonthDayNano { months: months as i32, days: days as i32, nanoseconds })
}
