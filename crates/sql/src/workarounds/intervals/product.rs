//! An interval times a number. A fraction of a month becomes days, and a fraction of a day hours and smaller units.
//!
//! Part of [`arithmetic`](super::arithmetic).

use crate::functions::arguments::per_second;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, IntervalMonthDayNanoArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Float64Type, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit,
};
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
        let lengths = as_intervals(&arrays[0])?;
        let lengths = lengths.as_primitive::<IntervalMonthDayNanoType>();
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

fn as_intervals(array: &ArrayRef) -> Result<ArrayRef> {
    let DataType::Duration(unit) = array.data_type() else { return Ok(cast(array, &INTERVAL)?) };
    let nanos = 1_000_000_000 / per_second(*unit);
    let counts = cast(array, &DataType::Int64)?;
    let length = |count: i64| IntervalMonthDayNano { months: 0, days: 0, nanoseconds: count.saturating_mul(nanos) };
    let lengths = counts.as_primitive::<Int64Type>().iter().map(|count| count.map(length));
    Ok(Arc::new(lengths.collect::<IntervalMonthDayNanoArray>()))
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
