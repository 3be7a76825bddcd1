//! `time_bucket(width, t [, time zone | origin | offset])`: the start of the bucket a time lies in.

use super::arguments::{external, per_second, plain_type, strictly, text_of, type_name};
use super::buckets::Buckets;
use super::grid::{DAY_NANOS, Grid};
use super::interval::{interval_of, parse_interval};
use super::zone::Zone;
use crate::error::sql_error;
use crate::time_text::{parse_time, read_time};
use atsdb_core::{Error, TimeUnit};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Field, FieldRef, Int64Type, IntervalMonthDayNano as Interval, TimeUnit as ArrowUnit,
};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use std::sync::Arc;

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct TimeBucket {
    signature: Signature,
}

impl TimeBucket {
    pub(crate) fn new() -> Self {
        Self { signature: Signature::variadic_any(Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for TimeBucket {
    fn name(&self) -> &str {
        "time_bucket"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        answer_type(types).map_err(external)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let types: Vec<DataType> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        let answer = answer_type(&types).map_err(external)?;
        // What is wrong with the constants is said before a row is read.
        let constants: Vec<Option<&ScalarValue>> =
            args.scalar_arguments.iter().enumerate().map(|(place, value)| value.filter(|_| place != 1)).collect();
        if constants.iter().enumerate().all(|(place, value)| place == 1 || value.is_some()) {
            cut(&answer, &constants).map_err(external)?;
        }
        Ok(Arc::new(Field::new(self.name(), answer, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constants: Vec<Option<&ScalarValue>> = args
            .args
            .iter()
            .map(|value| match value {
                ColumnarValue::Scalar(value) => Some(value),
                ColumnarValue::Array(_) => None,
            })
            .collect();
        if constants.iter().enumerate().any(|(place, value)| place != 1 && value.is_none()) {
            let error = sql_error("time_bucket: all but the time must be constants");
            return Err(external(error));
        }
        let answer = args.return_field.data_type();
        let Some(cut) = cut(answer, &constants).map_err(external)? else {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from(answer)?));
        };
        match &args.args[1] {
            ColumnarValue::Array(times) => Ok(ColumnarValue::Array(starts(&cut, times, answer)?)),
            ColumnarValue::Scalar(time) => {
                let starts = starts(&cut, &time.to_array()?, answer)?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&starts, 0)?))
            }
        }
    }

    /// Later times lie in later buckets.
    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        let constant =
            |(place, input): (usize, &ExprProperties)| place == 1 || input.sort_properties == SortProperties::Singleton;
        match inputs.get(1) {
            Some(time) if inputs.iter().enumerate().all(constant) => Ok(time.sort_properties),
            _ => Ok(SortProperties::Unordered),
        }
    }
}

/// The type of the time, without its dictionary; text becomes a time.
fn answer_type(types: &[DataType]) -> Result<DataType, Error> {
    if !(2..=5).contains(&types.len()) {
        return Err(sql_error(format!("time_bucket takes 2 to 5 arguments, not {}", types.len()))
            .with_hint("time_bucket(width, t [, timezone [, origin [, offset]]])"));
    }
    match plain_type(&types[1]) {
        time @ (DataType::Timestamp(..) | DataType::Date32 | DataType::Date64) => Ok(time.clone()),
        integer if integer.is_integer() => Ok(integer.clone()),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => {
            Ok(DataType::Timestamp(ArrowUnit::Microsecond, Some("UTC".into())))
        }
        other => Err(sql_error(format!("time_bucket: {} is no time", type_name(other)))
            .with_hint("time_bucket('5 minutes', t): t is a TIMESTAMP, a DATE or an integer")),
    }
}

/// How times are cut.
enum Cut {
    Times(Buckets),
    Integers { width: i64, offset: i64 },
}

/// `None` if the width is NULL. The constant of the time is not looked at.
fn cut(answer: &DataType, constants: &[Option<&ScalarValue>]) -> Result<Option<Cut>, Error> {
    let constant = |place: usize| constants.get(place).copied().flatten().filter(|value| !value.is_null());
    let Some(width) = constant(0) else { return Ok(None) };
    let (unit, tick_nanos) = match answer {
        DataType::Timestamp(unit, _) => (*unit, i128::from(1_000_000_000 / per_second(*unit))),
        DataType::Date32 | DataType::Date64 => (ArrowUnit::Second, DAY_NANOS),
        integer => return integers(integer, width, [constant(2), constant(3), constant(4)]).map(Some),
    };
    if width.data_type().is_numeric() {
        return Err(sql_error(format!("time_bucket: a width of {width}: of what?"))
            .with_hint(format!("write '{width} seconds', '{width} minutes'")));
    }
    let width = interval_of(width)?.unwrap_or(NOTHING);
    let mut choice = Choice { origin: constant(3), offset: constant(4), zone: None };
    choice.third(constant(2), constants.len() == 3)?;
    let is_date = tick_nanos == DAY_NANOS;
    if is_date && choice.zone.is_some() {
        return Err(sql_error("time_bucket: a DATE has no time zone").with_hint("cast it: CAST(t AS TIMESTAMP)"));
    }
    let zone = match (choice.zone, answer) {
        (Some(name), _) => Some(Zone::named(name)?),
        (None, DataType::Timestamp(_, Some(name))) => Some(Zone::named(name)?),
        _ => None,
    };
    let origin = match choice.origin {
        Some(origin) if is_date => Some(origin_ticks(origin, ArrowUnit::Second, None)?.div_euclid(86_400)),
        Some(origin) => Some(origin_ticks(origin, unit, zone.as_deref())?),
        None => None,
    };
    let offset = match choice.offset {
        Some(offset) => interval_of(offset)?.unwrap_or(NOTHING),
        None => NOTHING,
    };
    let grid = Grid::new(width, tick_nanos, origin, offset)?;
    Ok(Some(Cut::Times(Buckets::new(grid, zone, per_second(unit)))))
}

const NOTHING: Interval = Interval { months: 0, days: 0, nanoseconds: 0 };

/// What the arguments after the time are.
struct Choice<'a> {
    zone: Option<&'a str>,
    origin: Option<&'a ScalarValue>,
    offset: Option<&'a ScalarValue>,
}

impl<'a> Choice<'a> {
    /// The third argument is a time zone; standing alone it may be an origin or an offset.
    fn third(&mut self, value: Option<&'a ScalarValue>, alone: bool) -> Result<(), Error> {
        let Some(value) = value else { return Ok(()) };
        match text_of(value) {
            Some(text) if !alone || Zone::is_name(text) => self.zone = Some(text),
            Some(text) if read_time(text, TimeUnit::Nanosecond).is_some() => self.origin = Some(value),
            Some(text) if parse_interval(text).is_ok() => self.offset = Some(value),
            // Its error names the nearest zone.
            Some(text) => self.zone = Some(text),
            None if !alone => return Err(sql_error(format!("time_bucket: {value} is no time zone"))),
            None => match value.data_type() {
                DataType::Timestamp(..) | DataType::Date32 | DataType::Date64 => self.origin = Some(value),
                _ => self.offset = Some(value),
            },
        }
        Ok(())
    }
}

/// The time on local clocks that an origin names, in ticks.
fn origin_ticks(origin: &ScalarValue, unit: ArrowUnit, zone: Option<&Zone>) -> Result<i128, Error> {
    let no_time =
        || sql_error(format!("time_bucket: {origin} is no time")).with_hint("write an origin as '2024-01-01'");
    let (count, is_instant) = match text_of(origin) {
        Some(text) => {
            let time = read_time(text, core_unit(unit)).ok_or_else(no_time)?;
            // With an offset from UTC it names an instant, and takes no second one.
            (time.count, text.contains(':') && read_time(&format!("{text}Z"), TimeUnit::Second).is_none())
        }
        None => {
            let is_instant = match origin.data_type() {
                DataType::Timestamp(_, zone) => zone.is_some(),
                DataType::Date32 | DataType::Date64 => false,
                _ => return Err(no_time()),
            };
            let count = origin.cast_to(&DataType::Timestamp(unit, None)).ok();
            let count = count.and_then(|time| time.cast_to(&DataType::Int64).ok());
            let Some(ScalarValue::Int64(Some(count))) = count else { return Err(no_time()) };
            (i128::from(count), is_instant)
        }
    };
    let Some(zone) = zone.filter(|_| is_instant) else { return Ok(count) };
    let per_second = i128::from(per_second(unit));
    let seconds = i64::try_from(count.div_euclid(per_second)).map_err(|_| no_time())?;
    Ok(count + i128::from(zone.spans()[zone.span_at(seconds)].ahead) * per_second)
}

fn integers(integer: &DataType, width: &ScalarValue, rest: [Option<&ScalarValue>; 3]) -> Result<Cut, Error> {
    let whole = |what: &str, value: &ScalarValue| {
        let count = value.cast_to(&DataType::Int64).ok().filter(|_| value.data_type().is_integer());
        match count {
            Some(ScalarValue::Int64(Some(count))) => Ok(count),
            _ => Err(sql_error(format!("time_bucket: the {what} of {} is {value}", type_name(integer)))
                .with_hint("an integer is cut by an integer; or make it a time: to_timestamp_seconds(t)")),
        }
    };
    let count = whole("width", width)?;
    if count <= 0 {
        return Err(sql_error(format!("a width of {count} is not longer than nothing")));
    }
    let [third, origin, offset] = rest;
    if third.is_some() && offset.is_some() {
        return Err(sql_error("time_bucket: integers have no time zone"));
    }
    let given = [third, origin, offset].into_iter().flatten().next();
    Ok(Cut::Integers { width: count, offset: given.map_or(Ok(0), |value| whole("offset", value))? })
}

/// The start of each time's bucket, as the answer's type.
fn starts(cut: &Cut, times: &ArrayRef, answer: &DataType) -> Result<ArrayRef> {
    let times = counts(times, answer)?;
    let nulls = times.nulls();
    let starts = match cut {
        Cut::Times(buckets) => buckets.starts(times.values(), |row| nulls.is_some_and(|nulls| nulls.is_null(row))),
        Cut::Integers { width, offset } => {
            let phase = offset.rem_euclid(*width);
            let past = |time: i64| {
                let rest = time.rem_euclid(*width);
                if rest < phase { rest - phase + width } else { rest - phase }
            };
            times.values().iter().map(|time| time.checked_sub(past(*time)).ok_or(*time)).collect()
        }
    };
    let starts = starts.map_err(|time| {
        external(Error::invalid(format!("time_bucket: the bucket of {time} begins before every {}", type_name(answer))))
    })?;
    let starts: ArrayRef = Arc::new(Int64Array::new(starts.into(), nulls.cloned()));
    match answer {
        DataType::Date32 => Ok(cast(&cast(&starts, &DataType::Int32)?, answer)?),
        DataType::Date64 => Ok(cast(&cast(&cast(&starts, &DataType::Int32)?, &DataType::Date32)?, answer)?),
        _ => strictly(&starts, answer),
    }
}

/// Times as counts: of the answer's unit, of days, or themselves.
fn counts(times: &ArrayRef, answer: &DataType) -> Result<Int64Array> {
    let plain = plain_type(times.data_type());
    let times = if plain == times.data_type() { Arc::clone(times) } else { cast(times, plain)? };
    let times = match times.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => parsed(&cast(&times, &DataType::Utf8)?)?,
        DataType::Date32 => cast(&times, &DataType::Int32)?,
        DataType::Date64 => cast(&cast(&times, &DataType::Date32)?, &DataType::Int32)?,
        DataType::Null => cast(&times, answer)?,
        _ => times,
    };
    Ok(strictly(&times, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
}

fn parsed(texts: &ArrayRef) -> Result<ArrayRef> {
    let parse = |text: Option<&str>| match text {
        Some(text) => match parse_time(text, TimeUnit::Microsecond) {
            Some(time) => Ok(Some(time)),
            None => Err(external(sql_error(format!("time_bucket: '{text}' is no time")))),
        },
        None => Ok(None),
    };
    Ok(Arc::new(texts.as_string::<i32>().iter().map(parse).collect::<Result<Int64Array, DataFusionError>>()?))
}

fn core_unit(unit: ArrowUnit) -> TimeUnit {
    match unit {
        ArrowUnit::Second => TimeUnit::Second,
        ArrowUnit::Millisecond => TimeUnit::Millisecond,
        ArrowUnit::Microsecond => TimeUnit::Microsecond,
        ArrowUnit::Nanosecond => TimeUnit::Nanosecond,
    }
}
