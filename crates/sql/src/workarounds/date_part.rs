//! `extract(epoch FROM interval)`, and `second` and `millisecond` with their fraction, as PostgreSQL counts them. All
//! other parts are left to DataFusion's `date_part`.
//!
//! DataFusion 55 counts the seconds of the whole interval, and drops fractions. Waits for
//! [#14817](https://github.com/apache/datafusion/issues/14817).

use crate::functions::arguments::{per_second, text_of};
use datafusion::arrow::array::{ArrayRef, AsArray, Float64Array, PrimitiveArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, FieldRef, Float64Type, Int64Type, IntervalDayTimeType, IntervalMonthDayNanoType, IntervalUnit,
    IntervalYearMonthType,
};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::context::SessionContext;
use datafusion::functions::datetime::date_part;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult};
use datafusion::logical_expr::preimage::PreimageResult;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};
use std::sync::Arc;

const DAY_SECONDS: f64 = 86_400.0;

/// PostgreSQL's lengths: a year has 365.25 days, and each month beyond whole years 30.
const YEAR_DAYS: f64 = 365.25;
const MONTH_DAYS: f64 = 30.0;

/// Replaces DataFusion's `date_part`.
pub(super) fn register(context: &SessionContext) {
    if let Some(inner) = context.state().scalar_functions().get("date_part") {
        context.register_udf(ScalarUDF::new_from_impl(DatePart::new(Arc::clone(inner))));
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct DatePart {
    inner: Arc<ScalarUDF>,
}

impl DatePart {
    pub(super) fn new(inner: Arc<ScalarUDF>) -> Self {
        Self { inner }
    }
}

impl ScalarUDFImpl for DatePart {
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

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let part = args.scalar_arguments.first().copied().flatten();
        let has_fraction = part.and_then(nanoseconds_in).is_some();
        let field = self.inner.return_field_from_args(args)?;
        match has_fraction {
            true => Ok(Arc::new(field.as_ref().clone().with_data_type(DataType::Float64))),
            false => Ok(field),
        }
    }

    fn preimage(&self, args: &[Expr], literal: &Expr, info: &SimplifyContext) -> Result<PreimageResult> {
        self.inner.preimage(args, literal, info)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let Some(ColumnarValue::Scalar(part)) = args.args.first()
            && let Some(nanoseconds) = nanoseconds_in(part)
        {
            args.args[0] = ColumnarValue::Scalar(ScalarValue::from("nanosecond"));
            let counts = self.inner.invoke_with_args(args)?.cast_to(&DataType::Float64, None)?;
            return match counts {
                ColumnarValue::Scalar(ScalarValue::Float64(count)) => {
                    Ok(ColumnarValue::Scalar(ScalarValue::Float64(count.map(|count| count / nanoseconds))))
                }
                ColumnarValue::Array(counts) => {
                    let counts = counts.as_primitive::<Float64Type>();
                    let parts = counts.unary::<_, Float64Type>(|count| count / nanoseconds);
                    Ok(ColumnarValue::Array(Arc::new(parts)))
                }
                other => Ok(other),
            };
        }
        if let [ColumnarValue::Scalar(part), value] = args.args.as_slice()
            && text_of(part).is_some_and(|part| part.trim_matches(['"', '\'']).eq_ignore_ascii_case("epoch"))
        {
            match value {
                ColumnarValue::Array(array) => {
                    if let Some(seconds) = seconds(array)? {
                        return Ok(ColumnarValue::Array(Arc::new(seconds)));
                    }
                }
                ColumnarValue::Scalar(scalar) => {
                    if let Some(seconds) = seconds(&scalar.to_array()?)? {
                        return ScalarValue::try_from_array(&seconds, 0).map(ColumnarValue::Scalar);
                    }
                }
            }
        }
        self.inner.invoke_with_args(args)
    }
}

/// The length of a part that has a fraction, in nanoseconds; `None` for other parts.
fn nanoseconds_in(part: &ScalarValue) -> Option<f64> {
    match text_of(part)?.trim_matches(['"', '\'']).to_ascii_lowercase().as_str() {
        "second" | "seconds" | "sec" | "secs" | "s" => Some(1e9),
        "millisecond" | "milliseconds" | "msec" | "msecs" | "ms" => Some(1e6),
        _ => None,
    }
}

/// Plans `extract` as this function. DataFusion's own planner would take its own.
#[derive(Debug)]
pub(crate) struct Extract;

impl ExprPlanner for Extract {
    fn plan_extract(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        let function = Arc::new(ScalarUDF::new_from_impl(DatePart::new(date_part())));
        Ok(PlannerResult::Planned(Expr::ScalarFunction(ScalarFunction::new_udf(function, args))))
    }
}

/// Intervals and durations in seconds; `None` for other types.
fn seconds(array: &ArrayRef) -> Result<Option<Float64Array>> {
    Ok(Some(match array.data_type() {
        DataType::Duration(unit) => {
            let per_second = per_second(*unit) as f64;
            let counts = cast(array, &DataType::Int64)?;
            counts.as_primitive::<Int64Type>().unary::<_, Float64Type>(|count| count as f64 / per_second)
        }
        DataType::Interval(IntervalUnit::YearMonth) => {
            let months: &PrimitiveArray<IntervalYearMonthType> = array.as_primitive();
            months.unary(|months| days(months) * DAY_SECONDS)
        }
        DataType::Interval(IntervalUnit::DayTime) => {
            let intervals: &PrimitiveArray<IntervalDayTimeType> = array.as_primitive();
            intervals.unary(|of| f64::from(of.days) * DAY_SECONDS + f64::from(of.milliseconds) / 1e3)
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let intervals: &PrimitiveArray<IntervalMonthDayNanoType> = array.as_primitive();
            intervals.unary(|of| (days(of.months) + f64::from(of.days)) * DAY_SECONDS + of.nanoseconds as f64 / 1e9)
        }
        _ => return Ok(None),
    }))
}

fn days(months: i32) -> f64 {
    f64::from(months / 12) * YEAR_DAYS + f64::from(months % 12) * MONTH_DAYS
}
