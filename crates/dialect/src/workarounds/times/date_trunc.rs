//! `date_trunc(unit, t)`, which truncates times in UTC as `time_bucket` does, truncates intervals, takes a date for the
//! instant of its midnight, and leaves all others to DataFusion. DataFusion goes through the calendar for each time
//! that has a zone, as all times of tables have, and through nanoseconds, whose range ends in 1677 and 2262, for dates
//! as well. It knows no unit beyond the year, no intervals, and no units of columns.
//!
//! Waits for [#25432](https://github.com/apache/datafusion/issues/25432) (the years); for the speed of times with a
//! zone no upstream issue is known.

use super::date_part::normalized;
use super::units_of_rows::{by_unit, unknown_unit};
use crate::functions::base::answers::answer;
use crate::functions::base::arguments::text_of;
use crate::functions::base::of_inner::of_inner;
use crate::functions::bucketing::cut::{Arguments, Cut};
use crate::functions::bucketing::time_bucket::preimage_of;
use crate::functions::times::interval::intervals;
use crate::functions::times::types::is_utc;
use crate::text::datafusion_errors::external;
use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::{
    DataType, Field, FieldRef, IntervalMonthDayNano as Interval, IntervalMonthDayNanoType, TimeUnit,
};
use datafusion::common::types::{logical_date, logical_string};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::execution::context::SessionContext;
use datafusion::functions::datetime::date_trunc;
use datafusion::logical_expr::preimage::PreimageResult;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    Cast, Coercion, ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    TypeSignature, TypeSignatureClass, Volatility,
};
use std::sync::Arc;

/// The units and their widths.
const UNITS: [(&str, &str); 13] = [
    ("microsecond", "1 microsecond"),
    ("millisecond", "1 millisecond"),
    ("second", "1 second"),
    ("minute", "1 minute"),
    ("hour", "1 hour"),
    ("day", "1 day"),
    ("week", "1 week"),
    ("month", "1 month"),
    ("quarter", "3 months"),
    ("year", "1 year"),
    ("decade", "10 years"),
    ("century", "100 years"),
    ("millennium", "1000 years"),
];

/// Centuries and millennia begin with the year 1.
const FIRST_DAY_OF_CENTURY: &str = "2001-01-01";

/// Replaces DataFusion's `date_trunc`.
pub(crate) fn register(context: &SessionContext) {
    context.register_udf(ScalarUDF::new_from_impl(DateTrunc::new()));
}

/// `date_trunc`, with DataFusion's behind it.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct DateTrunc {
    inner: Arc<ScalarUDF>,
    signature: Signature,
}

impl Default for DateTrunc {
    fn default() -> Self {
        Self::new()
    }
}

impl DateTrunc {
    /// Returns the function.
    pub fn new() -> Self {
        let inner = date_trunc();
        let of_intervals = TypeSignature::Coercible(vec![
            Coercion::new_exact(TypeSignatureClass::Native(logical_string())),
            Coercion::new_exact(TypeSignatureClass::Interval),
        ]);
        let of_dates = TypeSignature::Coercible(vec![
            Coercion::new_exact(TypeSignatureClass::Native(logical_string())),
            Coercion::new_exact(TypeSignatureClass::Native(logical_date())),
        ]);
        let mut takes = match &inner.signature().type_signature {
            TypeSignature::OneOf(takes) => takes.clone(),
            other => vec![other.clone()],
        };
        takes.extend([of_intervals, of_dates]);
        Self { inner, signature: Signature::one_of(takes, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for DateTrunc {
    of_inner!(name, aliases, return_type);

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let is_nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        if args.arg_fields.get(1).is_some_and(|field| is_date(field.data_type())) {
            return Ok(Arc::new(Field::new(self.name(), of_midnights(), is_nullable)));
        }
        let field = self.inner.return_field_from_args(args)?;
        Ok(Arc::new(field.as_ref().clone().with_nullable(is_nullable)))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let Some(dates) = args.args.get_mut(1)
            && is_date(&dates.data_type())
        {
            *dates = dates.cast_to(args.return_field.data_type(), None)?;
        }
        match &args.args[..] {
            [ColumnarValue::Array(_), _] => {
                return by_unit(&args, args.return_field.data_type(), |call| self.invoke_with_args(call));
            }
            [ColumnarValue::Scalar(operand), _] | [_, ColumnarValue::Scalar(operand)] if operand.is_null() => {
                return ScalarValue::try_from(args.return_field.data_type()).map(ColumnarValue::Scalar);
            }
            [ColumnarValue::Scalar(unit), values] => {
                let unit = text_of(unit).unwrap_or_default();
                let known = normalized(unit);
                if !UNITS.iter().any(|(name, _)| *name == known) {
                    return Err(unknown_unit(unit, &values.data_type()));
                }
            }
            _ => {}
        }
        if let [ColumnarValue::Scalar(unit), lengths] = &args.args[..]
            && matches!(lengths.data_type(), DataType::Interval(_))
        {
            return truncated(unit, lengths);
        }
        let cut = match &args.args[..] {
            [ColumnarValue::Scalar(unit), ColumnarValue::Array(times)] => cut(unit, times.data_type())?,
            [ColumnarValue::Scalar(unit), ColumnarValue::Scalar(time)] => cut(unit, &time.data_type())?,
            _ => None,
        };
        match (cut, &args.args[..]) {
            (Some(cut), [_, ColumnarValue::Array(times)]) => {
                Ok(ColumnarValue::Array(cut.starts(times, times.data_type())?))
            }
            (Some(cut), [_, ColumnarValue::Scalar(time)]) => {
                let starts = cut.starts(&time.to_array()?, &time.data_type())?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&starts, 0)?))
            }
            _ => self.inner.invoke_with_args(args),
        }
    }

    /// Turns `date_trunc('day', t) = '2024-03-01'` into a range of `t`, by which chunks are skipped.
    fn preimage(&self, args: &[Expr], literal: &Expr, info: &SimplifyContext) -> Result<PreimageResult> {
        let [Expr::Literal(unit, _), time] = args else { return Ok(PreimageResult::None) };
        let mut times = info.get_data_type(time)?;
        let mut time = time.clone();
        if is_date(&times) {
            (time, times) = (Expr::Cast(Cast::new(Box::new(time), of_midnights())), of_midnights());
        }
        match cut(unit, &times)? {
            Some(cut) => preimage_of(&cut, &time, literal, info),
            None => Ok(PreimageResult::None),
        }
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        self.inner.output_ordering(inputs)
    }
}

/// The type of the instants at which days begin.
fn of_midnights() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

fn is_date(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Date32 | DataType::Date64)
}

/// How to truncate these times; `None` if DataFusion's function does it: other zones and types. Also for unknown units.
pub fn cut(unit: &ScalarValue, times: &DataType) -> Result<Option<Cut>> {
    let is_utc = match times {
        DataType::Timestamp(_, zone) => zone.as_deref().is_none_or(is_utc),
        _ => false,
    };
    let unit = text_of(unit).map(normalized);
    let width = unit.and_then(|unit| UNITS.iter().find(|(name, _)| *name == unit));
    match width {
        Some((name, width)) if is_utc => {
            let (width, century) = (ScalarValue::from(*width), ScalarValue::from(FIRST_DAY_OF_CENTURY));
            let origin = matches!(*name, "century" | "millennium").then_some(&century);
            Arguments { width: Some(&width), origin, ..Arguments::default() }.cut(times).map_err(external)
        }
        _ => Ok(None),
    }
}

/// Intervals without everything that is shorter than a unit.
fn truncated(unit: &ScalarValue, lengths: &ColumnarValue) -> Result<ColumnarValue> {
    const MICROSECOND: i64 = 1_000;
    let Some(unit) = text_of(unit).map(normalized) else { return exec_err!("date_trunc takes the name of a unit") };
    let (months, nanos) = match unit.as_str() {
        "microsecond" => (None, Some(MICROSECOND)),
        "millisecond" => (None, Some(1_000 * MICROSECOND)),
        "second" => (None, Some(1_000_000 * MICROSECOND)),
        "minute" => (None, Some(60_000_000 * MICROSECOND)),
        "hour" => (None, Some(3_600_000_000 * MICROSECOND)),
        "day" => (None, None),
        "month" => (Some(1), None),
        "quarter" => (Some(3), None),
        "year" => (Some(12), None),
        "decade" => (Some(120), None),
        "century" => (Some(1_200), None),
        "millennium" => (Some(12_000), None),
        other => {
            return exec_err!("date_trunc: an INTERVAL has no {other:.30}: write year, month, day, hour or minute");
        }
    };
    let short = |of: Interval| match (months, nanos) {
        (Some(months), _) => Interval { months: of.months / months * months, days: 0, nanoseconds: 0 },
        (None, Some(nanos)) => Interval { nanoseconds: of.nanoseconds / nanos * nanos, ..of },
        (None, None) => Interval { nanoseconds: 0, ..of },
    };
    let found: ArrayRef =
        Arc::new(intervals(&lengths.clone().into_array(1)?)?.unary::<_, IntervalMonthDayNanoType>(short));
    answer(matches!(lengths, ColumnarValue::Scalar(_)), found)
}
