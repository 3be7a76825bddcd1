//! The total length of an interval as a number that can be compared.
//!
//! Part of [`comparison`](super::comparison).

use crate::functions::base::arguments::per_second;
use atsdb_core::time::DAY_NANOSECONDS;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Decimal128Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

const SECOND_NANOS: i128 = 1_000_000_000;
/// PostgreSQL's length of a month, in days.
const MONTH_DAYS: i128 = 30;

/// The type of the length in nanoseconds.
const RESULT: DataType = DataType::Decimal128(38, 0);

/// An interval as a number that is compared in its place.
pub(super) fn order(interval: Expr) -> Expr {
    ScalarUDF::new_from_impl(IntervalOrder::new()).call(vec![interval])
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct IntervalOrder {
    signature: Signature,
}

impl IntervalOrder {
    fn new() -> Self {
        Self { signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for IntervalOrder {
    fn name(&self) -> &str {
        "interval_order"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(RESULT)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match &args.args[0] {
            ColumnarValue::Array(array) => Ok(ColumnarValue::Array(nanoseconds(array)?)),
            ColumnarValue::Scalar(value) => {
                ScalarValue::try_from_array(&nanoseconds(&value.to_array()?)?, 0).map(ColumnarValue::Scalar)
            }
        }
    }
}

/// The length of an interval in nanoseconds.
pub(super) fn nanos_of(length: IntervalMonthDayNano) -> i128 {
    let days = i128::from(length.months) * MONTH_DAYS + i128::from(length.days);
    days * i128::from(DAY_NANOSECONDS) + i128::from(length.nanoseconds)
}

fn nanoseconds(array: &ArrayRef) -> Result<ArrayRef> {
    let counts: Decimal128Array = match array.data_type() {
        DataType::Duration(unit) => {
            let nanos = SECOND_NANOS / i128::from(per_second(*unit));
            let counts = cast(array, &DataType::Int64)?;
            counts
                .as_primitive::<Int64Type>()
                .iter()
                .map(|count| count.map(|count| i128::from(count) * nanos))
                .collect()
        }
        _ => {
            let intervals = cast(array, &DataType::Interval(IntervalUnit::MonthDayNano))?;
            let intervals = intervals.as_primitive::<IntervalMonthDayNanoType>().iter();
            intervals.map(|of| of.map(nanos_of)).collect()
        }
    };
    Ok(std::sync::Arc::new(counts.with_data_type(RESULT)))
}
