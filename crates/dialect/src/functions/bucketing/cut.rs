//! Turns the arguments of `time_bucket` and `date_bin` into buckets, and times of any type into the starts of their
//! buckets.

use super::buckets::Buckets;
use super::grid::Grid;
use crate::functions::base::arguments::{per_second, plain_type, strictly, text_of, type_name};
use crate::functions::times::interval::{interval_of, parse_interval};
use crate::text::datafusion_errors::external;
use crate::text::errors::sql_error;
use crate::text::time_text::{parse_time, read_time};
use crate::text::zone::Zone;
use atsdb_codec::time_unit_of;
use atsdb_core::time::{DAY_NANOSECONDS, DAY_SECONDS};
use atsdb_core::{Error, TimeUnit};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type, IntervalMonthDayNano as Interval, TimeUnit as ArrowUnit};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use std::sync::Arc;

/// How times are divided into buckets.
pub enum Cut {
    /// Buckets of times.
    Times(Buckets),
    /// Buckets of integers.
    Integers {
        /// The width of a bucket.
        width: i64,
        /// The distance by which all buckets are moved.
        offset: i64,
    },
}

/// The arguments that define the buckets.
#[derive(Debug, Default, Clone, Copy)]
pub struct Arguments<'a> {
    /// The width of a bucket.
    pub width: Option<&'a ScalarValue>,
    /// The time zone in which buckets begin.
    pub zone: Option<&'a str>,
    /// A moment at which a bucket begins.
    pub origin: Option<&'a ScalarValue>,
    /// The distance by which all buckets are moved.
    pub offset: Option<&'a ScalarValue>,
}

const NOTHING: Interval = Interval { months: 0, days: 0, nanoseconds: 0 };

impl<'a> Arguments<'a> {
    /// Accepts an argument that is a time zone, an origin or an offset, and recognises which one it is.
    pub fn guess(&mut self, value: &'a ScalarValue) {
        match text_of(value) {
            Some(text) if Zone::is_name(text) => self.zone = Some(text),
            Some(text) if read_time(text, TimeUnit::Nanosecond).is_some() => self.origin = Some(value),
            Some(text) if parse_interval(text).is_ok() => self.offset = Some(value),
            // The error for an unknown zone names the nearest one.
            Some(text) => self.zone = Some(text),
            None => match value.data_type() {
                DataType::Timestamp(..) | DataType::Date32 | DataType::Date64 => self.origin = Some(value),
                _ => self.offset = Some(value),
            },
        }
    }

    /// The buckets for times, or integers, of a type. `None` if the width is NULL.
    pub fn cut(self, times: &DataType) -> Result<Option<Cut>, Error> {
        let Some(width) = self.width else { return Ok(None) };
        let (unit, tick_nanos) = match times {
            DataType::Timestamp(unit, _) => (*unit, i128::from(1_000_000_000 / per_second(*unit))),
            DataType::Date32 | DataType::Date64 => (ArrowUnit::Second, i128::from(DAY_NANOSECONDS)),
            integer => return self.integers(integer, width).map(Some),
        };
        if width.data_type().is_numeric() {
            return Err(sql_error(format!("a width of {width} has no unit"))
                .with_hint(format!("write '{width} seconds', '{width} minutes'")));
        }
        let width = interval_of(width)?.unwrap_or(NOTHING);
        let is_date = tick_nanos == i128::from(DAY_NANOSECONDS);
        if is_date && self.zone.is_some() {
            return Err(sql_error("a DATE has no time zone").with_hint("cast it: CAST(t AS TIMESTAMP)"));
        }
        let zone = match (self.zone, times) {
            (Some(name), _) => Some(Zone::named(name)?),
            (None, DataType::Timestamp(_, Some(name))) => Some(Zone::named(name)?),
            _ => None,
        };
        let origin = match self.origin {
            Some(origin) if is_date => {
                Some(origin_ticks(origin, ArrowUnit::Second, None)?.div_euclid(DAY_SECONDS.into()))
            }
            Some(origin) => Some(origin_ticks(origin, unit, zone.as_deref())?),
            None => None,
        };
        let offset = match self.offset {
            Some(offset) => interval_of(offset)?.unwrap_or(NOTHING),
            None => NOTHING,
        };
        let grid = Grid::new(width, tick_nanos, origin, offset)?;
        Ok(Some(Cut::Times(Buckets::new(grid, zone, per_second(unit)))))
    }

    fn integers(self, integer: &DataType, width: &ScalarValue) -> Result<Cut, Error> {
        let whole = |what: &str, value: &ScalarValue| {
            let count = value.cast_to(&DataType::Int64).ok().filter(|_| value.data_type().is_integer());
            match count {
                Some(ScalarValue::Int64(Some(count))) => Ok(count),
                _ => Err(sql_error(format!("the {what} of {} is {value}", type_name(integer)))
                    .with_hint("give an integer, or convert the time: to_timestamp_seconds(t)")),
            }
        };
        let count = whole("width", width)?;
        if count <= 0 {
            return Err(sql_error(format!("a width of {count} is not positive")));
        }
        if self.zone.is_some() {
            return Err(sql_error("an integer has no time zone").with_hint("convert it: to_timestamp_seconds(t)"));
        }
        let origin = self.origin.map_or(Ok(0), |value| whole("origin", value))?;
        let offset = self.offset.map_or(Ok(0), |value| whole("offset", value))?;
        // Only the remainder matters, so the sum may wrap around a multiple of the width.
        Ok(Cut::Integers { width: count, offset: (origin.rem_euclid(count) + offset.rem_euclid(count)) % count })
    }
}

/// The local time that an origin names, in ticks.
fn origin_ticks(origin: &ScalarValue, unit: ArrowUnit, zone: Option<&Zone>) -> Result<i128, Error> {
    let no_time = || sql_error(format!("{origin} is not a time")).with_hint("write an origin as '2024-01-01'");
    let (count, is_instant) = match text_of(origin) {
        Some(text) => {
            let time = read_time(text, time_unit_of(unit)).ok_or_else(no_time)?;
            // With an offset from UTC, it is an instant.
            (time.count, time.has_offset)
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

impl Cut {
    /// The start of each time's bucket, in the type `answer`.
    pub fn starts(&self, times: &ArrayRef, answer: &DataType) -> Result<ArrayRef> {
        let times = counts(times, answer)?;
        let nulls = times.nulls();
        let is_null = |row| nulls.is_some_and(|nulls| nulls.is_null(row));
        let starts = match self {
            Self::Times(buckets) => buckets.starts(times.values(), is_null),
            Self::Integers { width, offset } => {
                let start = |(row, time): (usize, &i64)| {
                    let rest = time.rem_euclid(*width);
                    let past = if rest < *offset { rest - offset + width } else { rest - offset };
                    time.checked_sub(past).or_else(|| is_null(row).then_some(*time)).ok_or(*time)
                };
                times.values().iter().enumerate().map(start).collect()
            }
        };
        let starts = starts.map_err(|time| {
            external(Error::invalid(format!("the bucket of {time} begins before every {}", type_name(answer))))
        })?;
        let starts: ArrayRef = Arc::new(Int64Array::new(starts.into(), nulls.cloned()));
        match answer {
            DataType::Date32 => Ok(cast(&cast(&starts, &DataType::Int32)?, answer)?),
            DataType::Date64 => Ok(cast(&cast(&cast(&starts, &DataType::Int32)?, &DataType::Date32)?, answer)?),
            _ => strictly(&starts, answer),
        }
    }
}

/// Times as integers: in the answer's unit, in days, or unchanged.
fn counts(times: &ArrayRef, answer: &DataType) -> Result<Int64Array> {
    let plain = plain_type(times.data_type());
    let times = if plain == times.data_type() { Arc::clone(times) } else { cast(times, plain)? };
    let times = match times.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => parsed(&cast(&times, &DataType::Utf8)?)?,
        DataType::Date32 | DataType::Date64 if !matches!(answer, DataType::Timestamp(..)) => {
            cast(&cast(&times, &DataType::Date32)?, &DataType::Int32)?
        }
        own if own == answer => times,
        _ => strictly(&times, answer)?,
    };
    Ok(strictly(&times, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
}

/// Parses text as times in microseconds.
fn parsed(texts: &ArrayRef) -> Result<ArrayRef> {
    let parse = |text: Option<&str>| match text {
        Some(text) => match parse_time(text, TimeUnit::Microsecond) {
            Some(time) => Ok(Some(time)),
            None => Err(external(sql_error(format!("'{text}' is not a time")))),
        },
        None => Ok(None),
    };
    Ok(Arc::new(texts.as_string::<i32>().iter().map(parse).collect::<Result<Int64Array, DataFusionError>>()?))
}
