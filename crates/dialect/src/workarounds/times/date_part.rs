//! `extract` and `date_part`: the parts of intervals; `second` and `millisecond` of times with their fraction;
//! `decade`, `century`, `millennium` and `julian`; years before Christ. All other parts of times are left to
//! DataFusion's `date_part`.
//!
//! DataFusion 55.2 counts the seconds of the whole interval, counts a year and a month of an interval wrongly in
//! `epoch`, drops fractions, counts a year 0, and does not know those units. Waits for
//! [#14817](https://github.com/apache/datafusion/issues/14817).

use super::units_of_rows::{by_unit, unknown_unit};
use crate::functions::base::answers::answer;
use crate::functions::base::arguments::text_of;
use crate::functions::base::of_inner::of_inner;
use crate::functions::times::interval::intervals;
use atsdb_core::time;
use datafusion::arrow::array::{ArrayRef, AsArray, IntervalMonthDayNanoArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, FieldRef, Float64Type, Int32Type, Int64Type, IntervalMonthDayNano as Interval, TimeUnit,
};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::execution::context::SessionContext;
use datafusion::functions::datetime::date_part;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult};
use datafusion::logical_expr::preimage::PreimageResult;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};
use std::sync::Arc;

const DAY_SECONDS: f64 = time::DAY_SECONDS as f64;

const EPOCH_JULIAN_DAY: f64 = time::EPOCH_JULIAN_DAY as f64;

/// PostgreSQL's lengths: a year has 365.25 days, and each month beyond whole years 30.
const YEAR_DAYS: f64 = 365.25;
const MONTH_DAYS: f64 = 30.0;

/// Replaces DataFusion's `date_part`.
pub(crate) fn register(context: &SessionContext) {
    if let Some(inner) = context.state().scalar_functions().get("date_part") {
        context.register_udf(ScalarUDF::new_from_impl(DatePart::new(Arc::clone(inner))));
        let of_rows = PartOfRows { part: DatePart::new(Arc::clone(inner)), signature: inner.signature().clone() };
        context.register_udf(ScalarUDF::new_from_impl(of_rows));
    }
}

/// `date_part` with a unit that is not written in the statement. Its result is always a DOUBLE, because the unit is
/// known for each row only.
#[derive(Debug, PartialEq, Eq, Hash)]
struct PartOfRows {
    part: DatePart,
    signature: Signature,
}

impl ScalarUDFImpl for PartOfRows {
    fn name(&self) -> &'static str {
        "date_part_of_rows"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match &args.args[..] {
            [ColumnarValue::Array(_), _] => by_unit(&args, &DataType::Float64, |call| self.part.invoke_with_args(call)),
            [ColumnarValue::Scalar(unit), _] if unit.is_null() => Ok(ColumnarValue::Scalar(ScalarValue::Float64(None))),
            _ => self.part.invoke_with_args(args)?.cast_to(&DataType::Float64, None),
        }
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct DatePart {
    inner: Arc<ScalarUDF>,
}

impl DatePart {
    pub(crate) fn new(inner: Arc<ScalarUDF>) -> Self {
        Self { inner }
    }
}

impl ScalarUDFImpl for DatePart {
    of_inner!(name, aliases, signature, return_type, documentation);

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let part = args.scalar_arguments.first().copied().flatten();
        let has_fraction = part.and_then(text_of).is_some_and(|part| has_fraction(&normalized(part)));
        let field = self.inner.return_field_from_args(args)?;
        match has_fraction {
            true => Ok(Arc::new(field.as_ref().clone().with_data_type(DataType::Float64))),
            false => Ok(field),
        }
    }

    fn preimage(&self, args: &[Expr], literal: &Expr, info: &SimplifyContext) -> Result<PreimageResult> {
        match literal.as_literal() {
            // DataFusion's years before Christ are others.
            Some(ScalarValue::Int32(Some(year))) if *year <= 0 => Ok(PreimageResult::None),
            _ => self.inner.preimage(args, literal, info),
        }
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [ColumnarValue::Scalar(part), value] = args.args.as_slice() else {
            return self.inner.invoke_with_args(args);
        };
        let Some(part) = text_of(part).map(normalized) else { return self.inner.invoke_with_args(args) };
        if !is_part(&part) {
            return Err(unknown_unit(&part, &value.data_type()));
        }
        if matches!(value.data_type(), DataType::Interval(_) | DataType::Duration(_)) {
            let lengths = intervals(&value.clone().into_array(1)?)?;
            let parts = of_intervals(&part, &lengths)?;
            return answer(matches!(value, ColumnarValue::Scalar(_)), parts);
        }
        if part == "epoch" && matches!(value.data_type(), DataType::Timestamp(TimeUnit::Nanosecond, _)) {
            let counts = cast(&value.clone().into_array(1)?, &DataType::Int64)?;
            let seconds: ArrayRef = Arc::new(counts.as_primitive::<Int64Type>().unary::<_, Float64Type>(seconds_of));
            return answer(matches!(value, ColumnarValue::Scalar(_)), seconds);
        }
        let Some(DerivedPart { from, compute }) = DerivedPart::of(&part) else {
            let parts = self.inner.invoke_with_args(args)?;
            return Ok(if matches!(part.as_str(), "year" | "isoyear") { without_year_zero(parts) } else { parts });
        };
        args.args[0] = ColumnarValue::Scalar(ScalarValue::from(from));
        let result = if has_fraction(&part) { DataType::Float64 } else { DataType::Int32 };
        match self.inner.invoke_with_args(args)?.cast_to(&DataType::Float64, None)? {
            ColumnarValue::Scalar(ScalarValue::Float64(count)) => {
                ScalarValue::Float64(count.map(compute)).cast_to(&result).map(ColumnarValue::Scalar)
            }
            ColumnarValue::Array(counts) => {
                let parts: ArrayRef = Arc::new(counts.as_primitive::<Float64Type>().unary::<_, Float64Type>(compute));
                Ok(ColumnarValue::Array(cast(&parts, &result)?))
            }
            other => Ok(other),
        }
    }
}

/// A part without quotes, plural and case.
pub(crate) fn normalized(part: &str) -> String {
    let part = part.trim_matches(['"', '\'']).to_ascii_lowercase();
    let name = match part.as_str() {
        "second" | "seconds" | "sec" | "secs" | "s" => "second",
        "millisecond" | "milliseconds" | "msecond" | "mseconds" | "msec" | "msecs" | "ms" => "millisecond",
        "microsecond" | "microseconds" | "usecond" | "useconds" | "usec" | "usecs" | "us" => "microsecond",
        "nanosecond" | "nanoseconds" | "nsecond" | "nseconds" | "nsec" | "nsecs" | "ns" => "nanosecond",
        "minute" | "minutes" | "min" | "mins" | "m" => "minute",
        "hour" | "hours" | "hr" | "hrs" | "h" => "hour",
        "day" | "days" | "d" => "day",
        "week" | "weeks" | "w" => "week",
        "month" | "months" | "mon" | "mons" => "month",
        "quarter" | "qtr" => "quarter",
        "year" | "years" | "yr" | "yrs" | "y" => "year",
        "decade" | "decades" | "dec" | "decs" => "decade",
        "century" | "centuries" | "cent" | "c" => "century",
        "millennium" | "millennia" | "millenium" | "mil" | "mils" => "millennium",
        "julian" | "jd" | "j" => "julian",
        _ => return part,
    };
    name.to_owned()
}

/// Returns whether there is a part of this name in some type.
fn is_part(part: &str) -> bool {
    const PARTS: [&str; 23] = [
        "century",
        "day",
        "decade",
        "dow",
        "doy",
        "epoch",
        "hour",
        "isodow",
        "isoyear",
        "julian",
        "microsecond",
        "millennium",
        "millisecond",
        "minute",
        "month",
        "nanosecond",
        "quarter",
        "second",
        "timezone",
        "timezone_hour",
        "timezone_minute",
        "week",
        "year",
    ];
    PARTS.contains(&part)
}

fn has_fraction(part: &str) -> bool {
    matches!(part, "second" | "millisecond" | "julian")
}

/// A part of a time that is computed from another part, which DataFusion knows.
struct DerivedPart {
    from: &'static str,
    compute: fn(f64) -> f64,
}

impl DerivedPart {
    fn of(part: &str) -> Option<Self> {
        let derived = |from, compute: fn(f64) -> f64| Some(Self { from, compute });
        match part {
            "second" => derived("nanosecond", |nanos| nanos / 1e9),
            "millisecond" => derived("nanosecond", |nanos| nanos / 1e6),
            "decade" => derived("year", |year| (year / 10.0).floor()),
            // The first century began in the year 1. There is no century 0.
            "century" => derived("year", |year| numbered(year, 100.0)),
            "millennium" => derived("year", |year| numbered(year, 1_000.0)),
            "julian" => derived("epoch", |seconds| seconds / DAY_SECONDS + EPOCH_JULIAN_DAY),
            // All times are UTC.
            "timezone" | "timezone_hour" | "timezone_minute" => derived("year", |_| 0.0),
            _ => None,
        }
    }
}

/// Nanoseconds as seconds. A float has not enough digits for all of the nanoseconds at once.
fn seconds_of(nanos: i64) -> f64 {
    const SECOND: i64 = 1_000_000_000;
    nanos.div_euclid(SECOND) as f64 + nanos.rem_euclid(SECOND) as f64 / 1e9
}

/// Years as they are named: before the year 1 comes -1, the first year before Christ, which DataFusion counts as 0.
fn without_year_zero(years: ColumnarValue) -> ColumnarValue {
    let named = |year: i32| if year > 0 { year } else { year - 1 };
    match years {
        ColumnarValue::Array(years) => {
            let numbers = years.as_primitive_opt::<Int32Type>();
            let names = numbers.map(|numbers| -> ArrayRef { Arc::new(numbers.unary::<_, Int32Type>(named)) });
            ColumnarValue::Array(names.unwrap_or(years))
        }
        ColumnarValue::Scalar(ScalarValue::Int32(Some(year))) => {
            ColumnarValue::Scalar(ScalarValue::Int32(Some(named(year))))
        }
        other => other,
    }
}

/// The number of a span of years, where the spans before Christ count down from -1.
fn numbered(year: f64, span: f64) -> f64 {
    match year > 0.0 {
        true => (year / span).ceil(),
        false => ((year - 1.0) / span).floor(),
    }
}

/// A part of intervals, as PostgreSQL counts it: years have whole months, minutes whole seconds, and days are not
/// carried.
fn of_intervals(part: &str, lengths: &IntervalMonthDayNanoArray) -> Result<ArrayRef> {
    const MINUTE: i64 = 60_000_000_000;
    let whole = |compute: fn(Interval) -> i64| -> Result<ArrayRef> {
        let parts: ArrayRef = Arc::new(lengths.unary::<_, Int64Type>(compute));
        Ok(cast(&parts, &DataType::Int32)?)
    };
    let float = |compute: fn(Interval) -> f64| -> ArrayRef { Arc::new(lengths.unary::<_, Float64Type>(compute)) };
    match part {
        "epoch" => Ok(float(|of| (days(of.months) + f64::from(of.days)) * DAY_SECONDS + of.nanoseconds as f64 / 1e9)),
        "second" => Ok(float(|of| (of.nanoseconds % MINUTE) as f64 / 1e9)),
        "millisecond" => Ok(float(|of| (of.nanoseconds % MINUTE) as f64 / 1e6)),
        "microsecond" => whole(|of| of.nanoseconds % MINUTE / 1_000),
        "nanosecond" => Ok(Arc::new(lengths.unary::<_, Int64Type>(|of| of.nanoseconds % MINUTE))),
        "minute" => whole(|of| of.nanoseconds / MINUTE % 60),
        "hour" => whole(|of| of.nanoseconds / (60 * MINUTE)),
        "day" => whole(|of| i64::from(of.days)),
        "month" => whole(|of| i64::from(of.months % 12)),
        "quarter" => whole(|of| i64::from(of.months % 12 / 3 + 1)),
        "year" => whole(|of| i64::from(of.months / 12)),
        "decade" => whole(|of| i64::from(of.months / 120)),
        "century" => whole(|of| i64::from(of.months / 1_200)),
        "millennium" => whole(|of| i64::from(of.months / 12_000)),
        other => exec_err!("an INTERVAL has no {other:.30}: write year, month, day, hour, minute, second or epoch"),
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

fn days(months: i32) -> f64 {
    f64::from(months / 12) * YEAR_DAYS + f64::from(months % 12) * MONTH_DAYS
}
