//! Times and intervals from their parts, and periods: `make_date`, `make_time`, `make_interval`, `make_timestamp`,
//! `make_timestamptz`, `isfinite`, `overlaps`.

use super::ages::times;
use super::interval::intervals;
use crate::functions::base::arguments::text_of;
use crate::functions::base::plain::Plain;
use crate::text::datafusion_errors::external;
use crate::text::zone::Zone;
use atsdb_core::time::{DAY_MICROSECONDS, days_from_civil, days_in_month};
use chrono::{Days, Months, NaiveDateTime, TimeDelta};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Date32Array, Float64Array, IntervalMonthDayNanoArray,
    Time64MicrosecondArray, TimestampMicrosecondArray,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type, IntervalMonthDayNano as Interval, IntervalUnit, TimeUnit};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

const INTERVAL: DataType = DataType::Interval(IntervalUnit::MonthDayNano);

pub(super) fn functions() -> Vec<ScalarUDF> {
    let instant = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    vec![
        Plain::variadic("make_date", DataType::Date32, make_date).udf(),
        Plain::variadic("make_time", DataType::Time64(TimeUnit::Microsecond), make_time).udf(),
        Plain::variadic("make_interval", INTERVAL, make_interval).or_without_arguments().udf(),
        Plain::variadic("make_timestamp", DataType::Timestamp(TimeUnit::Microsecond, None), make_timestamp).udf(),
        Plain::variadic("make_timestamptz", instant, make_timestamptz).udf(),
        Plain::variadic("isfinite", DataType::Boolean, isfinite).udf(),
        Plain::variadic("overlaps", DataType::Boolean, overlaps).udf(),
    ]
}

fn numbers(args: &[ArrayRef]) -> Result<Vec<Float64Array>> {
    let number = |array: &ArrayRef| -> Result<Float64Array> {
        Ok(cast(array, &DataType::Float64)?.as_primitive::<Float64Type>().clone())
    };
    args.iter().map(number).collect()
}

/// The numbers of a row; `None` if one is NULL.
fn row_of<const N: usize>(columns: &[Float64Array], row: usize, missing: f64) -> Option<[f64; N]> {
    let mut found = [missing; N];
    for (value, column) in found.iter_mut().zip(columns) {
        if column.is_null(row) {
            return None;
        }
        *value = column.value(row);
    }
    Some(found)
}

/// `make_interval(years, months, weeks, days, hours, mins, secs)`; missing numbers are 0.
fn make_interval(args: &[ArrayRef]) -> Result<ArrayRef> {
    if args.len() > 7 {
        return exec_err!("make_interval takes years, months, weeks, days, hours, mins and secs");
    }
    let columns = numbers(args)?;
    let rows = columns.first().map_or(1, Array::len);
    let lengths = (0..rows).map(|row| {
        let Some([years, months, weeks, days, hours, mins, secs]) = row_of::<7>(&columns, row, 0.0) else {
            return Ok(None);
        };
        let (months, days) = (years * 12.0 + months, weeks * 7.0 + days);
        let micros = (hours * 3_600.0 + mins * 60.0) * 1e6 + (secs * 1e6).round_ties_even();
        let fits = |value: f64, most: f64| value.is_finite() && value.abs() <= most;
        if !fits(months, f64::from(i32::MAX)) || !fits(days, f64::from(i32::MAX)) || !fits(micros, 9.2e15) {
            return exec_err!("the interval is out of range");
        }
        Ok(Some(Interval { months: months as i32, days: days as i32, nanoseconds: micros as i64 * 1_000 }))
    });
    Ok(Arc::new(lengths.collect::<Result<Vec<_>>>()?.into_iter().collect::<IntervalMonthDayNanoArray>()))
}

/// The microseconds since the epoch of the times whose parts are given.
fn times_of_parts(name: &str, args: &[ArrayRef]) -> Result<Vec<Option<i64>>> {
    let columns = numbers(args)?;
    let rows = columns.first().map_or(1, Array::len);
    let time = |row: usize| {
        let Some(parts) = row_of::<6>(&columns, row, 0.0) else { return Ok(None) };
        match micros_of(parts) {
            Some(micros) => Ok(Some(micros)),
            None => exec_err!("{name}: there is no time with the parts {parts:?}"),
        }
    };
    (0..rows).map(time).collect()
}

/// Year, month, day, hour, minute and second as microseconds since the epoch.
fn micros_of([year, month, day, hour, minute, second]: [f64; 6]) -> Option<i64> {
    let within = |value: f64, least: f64, most: f64| value >= least && value <= most;
    if !within(year, -9_999.0, 99_999.0) || !within(month, 1.0, 12.0) || !within(day, 1.0, 31.0) {
        return None;
    }
    // There is no year 0: the year -1 is the one before the year 1.
    let (year, month, day) = match year as i64 {
        0 => return None,
        year => (if year < 0 { year + 1 } else { year }, month as u32, day as u32),
    };
    let second_micros = (second * 1e6).round_ties_even();
    let is_time = within(hour, 0.0, 23.0) && within(minute, 0.0, 59.0) && within(second_micros, 0.0, 60e6);
    if day > days_in_month(year, month) || !is_time {
        return None;
    }
    let minutes = hour as i64 * 60 + minute as i64;
    Some(days_from_civil(year, month, day) * DAY_MICROSECONDS + minutes * 60_000_000 + second_micros as i64)
}

fn make_date(args: &[ArrayRef]) -> Result<ArrayRef> {
    if args.len() != 3 {
        return exec_err!("make_date takes a year, month and day");
    }
    let columns = numbers(args)?;
    let date = |row: usize| {
        let Some([year, month, day]) = row_of::<3>(&columns, row, 0.0) else { return Ok(None) };
        let is_whole = [year, month, day].iter().all(|part| part.fract() == 0.0);
        let micros = micros_of([year, month, day, 0.0, 0.0, 0.0]).filter(|_| is_whole);
        match micros.and_then(|micros| i32::try_from(micros.div_euclid(DAY_MICROSECONDS)).ok()) {
            Some(days) => Ok(Some(days)),
            None => exec_err!("make_date: there is no date {year}-{month}-{day}"),
        }
    };
    Ok(Arc::new((0..columns[0].len()).map(date).collect::<Result<Date32Array>>()?))
}

fn make_time(args: &[ArrayRef]) -> Result<ArrayRef> {
    if args.len() != 3 {
        return exec_err!("make_time takes an hour, minute and second");
    }
    let columns = numbers(args)?;
    let time = |row: usize| {
        let Some([hour, minute, second]) = row_of::<3>(&columns, row, 0.0) else { return Ok(None) };
        let is_whole = [hour, minute].iter().all(|part| part.fract() == 0.0);
        // The parts of a time on the first day of the epoch.
        let micros = micros_of([1970.0, 1.0, 1.0, hour, minute, second]);
        match micros.filter(|micros| is_whole && *micros < DAY_MICROSECONDS) {
            Some(micros) => Ok(Some(micros)),
            None => exec_err!("make_time: there is no time {hour}:{minute}:{second}"),
        }
    };
    Ok(Arc::new((0..columns[0].len()).map(time).collect::<Result<Time64MicrosecondArray>>()?))
}

fn make_timestamp(args: &[ArrayRef]) -> Result<ArrayRef> {
    if args.len() != 6 {
        return exec_err!("make_timestamp takes a year, month, day, hour, minute and second");
    }
    Ok(Arc::new(times_of_parts("make_timestamp", args)?.into_iter().collect::<TimestampMicrosecondArray>()))
}

fn make_timestamptz(args: &[ArrayRef]) -> Result<ArrayRef> {
    let (parts, zone) = match args.len() {
        6 => (args, None),
        7 => (&args[..6], Some(&args[6])),
        _ => return exec_err!("make_timestamptz takes a year, month, day, hour, minute and second, and a zone"),
    };
    let mut found = times_of_parts("make_timestamptz", parts)?;
    if let Some(zones) = zone {
        for (row, micros) in found.iter_mut().enumerate() {
            let zone = ScalarValue::try_from_array(zones, row)?;
            *micros = match (*micros, text_of(&zone)) {
                (Some(local), Some(zone)) => {
                    let ahead = Zone::named(zone).map_err(external)?.ahead_of_local(local.div_euclid(1_000_000));
                    Some(local - ahead * 1_000_000)
                }
                _ => None,
            };
        }
    }
    Ok(Arc::new(found.into_iter().collect::<TimestampMicrosecondArray>().with_timezone("UTC")))
}

/// All times and intervals are finite.
fn isfinite(args: &[ArrayRef]) -> Result<ArrayRef> {
    let [values] = args else { return exec_err!("isfinite takes a time, a date or an interval") };
    let found = (0..values.len()).map(|row| values.is_valid(row).then_some(true));
    Ok(Arc::new(found.collect::<BooleanArray>()))
}

type Time = Option<NaiveDateTime>;

/// `(a, b) OVERLAPS (c, d)`. The end of a period may be an interval.
fn overlaps(args: &[ArrayRef]) -> Result<ArrayRef> {
    let [from, to, other_from, other_to] = args else {
        return exec_err!("OVERLAPS takes two periods: (start, end) OVERLAPS (start, end)");
    };
    let is_length = |array: &ArrayRef| matches!(array.data_type(), DataType::Interval(_) | DataType::Duration(_));
    let mut ends = args.iter().filter(|array| !is_length(array) && !array.data_type().is_null());
    if ends.clone().any(is_time_of_day) && !ends.all(is_time_of_day) {
        return exec_err!("OVERLAPS compares times of the day only with other times of the day");
    }
    let (first, second) = (periods(from, to)?, periods(other_from, other_to)?);
    let found = first.into_iter().zip(second).map(|(first, second)| overlap(first?, second?));
    Ok(Arc::new(found.collect::<BooleanArray>()))
}

/// Each period with its start, which is the earlier time, and its end if there is one; `None` if both are NULL.
fn periods(from: &ArrayRef, to: &ArrayRef) -> Result<Vec<Option<(NaiveDateTime, Time)>>> {
    let starts = points(from)?;
    let ends: Vec<Time> = match to.data_type() {
        DataType::Interval(_) | DataType::Duration(_) => {
            let lengths = intervals(to)?;
            let end = |(start, length): (&Time, Option<Interval>)| {
                let (start, length) = ((*start)?, length?);
                let end = plus(start, length)?;
                // A time of the day begins anew at midnight.
                Some(if is_time_of_day(from) { start.date().and_time(end.time()) } else { end })
            };
            starts.iter().zip(lengths.iter()).map(end).collect()
        }
        _ => points(to)?,
    };
    let ordered = |(start, end): (Time, Time)| match (start, end) {
        (Some(start), Some(end)) => Some((start.min(end), Some(start.max(end)))),
        (Some(one), None) | (None, Some(one)) => Some((one, None)),
        (None, None) => None,
    };
    Ok(starts.into_iter().zip(ends).map(ordered).collect())
}

fn is_time_of_day(array: &ArrayRef) -> bool {
    matches!(array.data_type(), DataType::Time32(_) | DataType::Time64(_))
}

/// Times; times of the day as those of one day.
fn points(array: &ArrayRef) -> Result<Vec<Time>> {
    if !is_time_of_day(array) {
        return times(array);
    }
    let nanoseconds = cast(&cast(array, &DataType::Time64(TimeUnit::Nanosecond))?, &DataType::Int64)?;
    times(&cast(&nanoseconds, &DataType::Timestamp(TimeUnit::Nanosecond, None))?)
}

fn plus(time: NaiveDateTime, length: Interval) -> Time {
    let months = Months::new(length.months.unsigned_abs());
    let days = Days::new(u64::from(length.days.unsigned_abs()));
    let time = if length.months < 0 { time.checked_sub_months(months) } else { time.checked_add_months(months) }?;
    let time = if length.days < 0 { time.checked_sub_days(days) } else { time.checked_add_days(days) }?;
    time.checked_add_signed(TimeDelta::nanoseconds(length.nanoseconds))
}

/// Returns whether two periods share a time. A period includes its start, and not its end. `None` if an end that
/// matters is NULL.
fn overlap((start, end): (NaiveDateTime, Time), (other_start, other_end): (NaiveDateTime, Time)) -> Option<bool> {
    if start == other_start {
        return end.and(other_end).map(|_| true);
    }
    // The later period begins before the earlier one ends.
    let (later, earlier_end, later_end) =
        if start > other_start { (start, other_end, end) } else { (other_start, end, other_end) };
    if later < earlier_end? {
        return Some(true);
    }
    later_end.map(|_| false)
}
