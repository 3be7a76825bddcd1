//! Lengths between times: `age`, `date_diff`, and `justify_hours`, `justify_days`, `justify_interval`.

use crate::functions::base::arguments::strictly;
use crate::functions::base::plain::Plain;
use atsdb_core::time::{DAY_MICROSECONDS, DAY_NANOSECONDS};
use chrono::{DateTime, Datelike, Days, Months, NaiveDateTime};
use datafusion::arrow::array::{ArrayRef, AsArray, Int64Array, IntervalMonthDayNanoArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, IntervalMonthDayNano as Interval, IntervalMonthDayNanoType, IntervalUnit, TimeUnit,
    TimestampMicrosecondType,
};
use datafusion::arrow::error::ArrowError;
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

const INTERVAL: DataType = DataType::Interval(IntervalUnit::MonthDayNano);
const TIME: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);
const MONTH_DAYS: i64 = 30;

pub(super) fn functions() -> Vec<ScalarUDF> {
    vec![
        Plain::variadic("age", INTERVAL, age).udf(),
        Plain::variadic("date_diff", DataType::Int64, date_diff).udf(),
        Plain::variadic("datediff", DataType::Int64, date_diff).udf(),
        Plain::new("justify_hours", &[&[INTERVAL]], INTERVAL, |args| justified(&args[0], justify_hours)).udf(),
        Plain::new("justify_days", &[&[INTERVAL]], INTERVAL, |args| justified(&args[0], justify_days)).udf(),
        Plain::new("justify_interval", &[&[INTERVAL]], INTERVAL, |args| justified(&args[0], justify_interval)).udf(),
    ]
}

pub(super) fn times(values: &ArrayRef) -> Result<Vec<Option<NaiveDateTime>>> {
    let values = strictly(values, &DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())))?;
    let values = cast(&values, &TIME)?;
    let values = values.as_primitive::<TimestampMicrosecondType>();
    let time = |micros: i64| DateTime::from_timestamp_micros(micros).map(|time| time.naive_utc());
    Ok(values.iter().map(|micros| micros.and_then(time)).collect())
}

fn age(args: &[ArrayRef]) -> Result<ArrayRef> {
    let [later, earlier] = args else {
        return exec_err!("age takes two times: age(now(), time)");
    };
    let ages = times(later)?.into_iter().zip(times(earlier)?).map(|(later, earlier)| {
        let (later, earlier) = (later?, earlier?);
        match later >= earlier {
            true => Some(between(earlier, later)),
            false => {
                let Interval { months, days, nanoseconds } = between(later, earlier);
                Some(Interval { months: -months, days: -days, nanoseconds: -nanoseconds })
            }
        }
    });
    Ok(Arc::new(ages.collect::<IntervalMonthDayNanoArray>()))
}

/// Years and months, then days, then the rest. Days are counted in the month of the earlier time, as PostgreSQL does.
fn between(earlier: NaiveDateTime, later: NaiveDateTime) -> Interval {
    let mut months = (later.year() - earlier.year()) * 12 + later.month().cast_signed() - earlier.month().cast_signed();
    let mut days = later.day().cast_signed() - earlier.day().cast_signed();
    let mut nanoseconds = (later.time() - earlier.time()).num_nanoseconds().unwrap_or(0);
    if nanoseconds < 0 {
        nanoseconds += DAY_NANOSECONDS;
        days -= 1;
    }
    if days < 0 {
        days += days_of_month(earlier);
        months -= 1;
    }
    Interval { months, days, nanoseconds }
}

fn days_of_month(time: NaiveDateTime) -> i32 {
    let first = time.date().with_day(1);
    let last = first
        .and_then(|first| first.checked_add_months(Months::new(1)))
        .and_then(|next| next.checked_sub_days(Days::new(1)));
    last.map_or(30, |last| last.day().cast_signed())
}

/// The number of boundaries of a unit between two times: `date_diff('day', from, to)`, as in DuckDB and Redshift.
fn date_diff(args: &[ArrayRef]) -> Result<ArrayRef> {
    let [units, from, to] = args else {
        return exec_err!("date_diff takes a unit and two times: date_diff('day', from, to)");
    };
    let units = cast(units, &DataType::Utf8)?;
    let counts = units.as_string::<i32>().iter().zip(times(from)?.into_iter().zip(times(to)?));
    let counts = counts.map(|(unit, (from, to))| match (unit, from, to) {
        (Some(unit), Some(from), Some(to)) => Ok(Some(bound(unit, to)? - bound(unit, from)?)),
        _ => Ok(None),
    });
    Ok(Arc::new(counts.collect::<Result<Int64Array>>()?))
}

/// The number of whole units before a time.
fn bound(unit: &str, time: NaiveDateTime) -> Result<i64> {
    let months = i64::from(time.year()) * 12 + i64::from(time.month0());
    let micros = time.and_utc().timestamp_micros();
    let of = |micros_each: i64| micros.div_euclid(micros_each);
    Ok(match unit.to_ascii_lowercase().trim_end_matches('s') {
        "year" | "yr" | "y" => i64::from(time.year()),
        "quarter" => months.div_euclid(3),
        "month" | "mon" => months,
        // Weeks begin on Mondays; the epoch was a Thursday.
        "week" => (micros + 3 * DAY_MICROSECONDS).div_euclid(7 * DAY_MICROSECONDS),
        "day" | "d" => of(DAY_MICROSECONDS),
        "hour" | "h" => of(3_600_000_000),
        "minute" | "min" => of(60_000_000),
        "second" | "sec" => of(1_000_000),
        "millisecond" => of(1_000),
        "microsecond" => micros,
        _ => {
            return exec_err!(
                "date_diff: '{unit:.30}' is not a unit: write 'year', 'month', 'day', 'hour' or 'second'"
            );
        }
    })
}

/// Moves whole days and months of the lengths up. A length that no interval can hold is an error.
fn justified(lengths: &ArrayRef, justify: fn(WideInterval) -> WideInterval) -> Result<ArrayRef> {
    let lengths = lengths.as_primitive::<IntervalMonthDayNanoType>();
    let justified = lengths.try_unary::<_, IntervalMonthDayNanoType, ArrowError>(|length| {
        justify(WideInterval::of(length))
            .narrowed()
            .ok_or_else(|| ArrowError::ComputeError("the interval is out of range".to_owned()))
    })?;
    Ok(Arc::new(justified))
}

/// An interval whose parts cannot overflow while they are justified.
#[derive(Clone, Copy)]
struct WideInterval {
    months: i64,
    days: i64,
    nanoseconds: i64,
}

impl WideInterval {
    fn of(length: Interval) -> Self {
        Self { months: length.months.into(), days: length.days.into(), nanoseconds: length.nanoseconds }
    }

    fn narrowed(self) -> Option<Interval> {
        let (months, days) = (i32::try_from(self.months).ok()?, i32::try_from(self.days).ok()?);
        Some(Interval { months, days, nanoseconds: self.nanoseconds })
    }

    /// Whole days of the rest as days.
    fn with_whole_days(self) -> Self {
        let (days, nanoseconds) = (self.days + self.nanoseconds / DAY_NANOSECONDS, self.nanoseconds % DAY_NANOSECONDS);
        Self { days, nanoseconds, ..self }
    }

    /// Whole months of the days as months.
    fn with_whole_months(self) -> Self {
        Self { months: self.months + self.days / MONTH_DAYS, days: self.days % MONTH_DAYS, ..self }
    }
}

fn justify_hours(length: WideInterval) -> WideInterval {
    with_signs(length.with_whole_days())
}

fn justify_days(length: WideInterval) -> WideInterval {
    let WideInterval { months, days, nanoseconds } = length.with_whole_months();
    if months > 0 && days < 0 {
        WideInterval { months: months - 1, days: days + MONTH_DAYS, nanoseconds }
    } else if months < 0 && days > 0 {
        WideInterval { months: months + 1, days: days - MONTH_DAYS, nanoseconds }
    } else {
        WideInterval { months, days, nanoseconds }
    }
}

fn justify_interval(length: WideInterval) -> WideInterval {
    let WideInterval { mut months, mut days, nanoseconds } = length.with_whole_days().with_whole_months();
    if months > 0 && (days < 0 || days == 0 && nanoseconds < 0) {
        (months, days) = (months - 1, days + MONTH_DAYS);
    } else if months < 0 && (days > 0 || days == 0 && nanoseconds > 0) {
        (months, days) = (months + 1, days - MONTH_DAYS);
    }
    with_signs(WideInterval { months, days, nanoseconds })
}

/// Gives days and the rest the same sign.
fn with_signs(length: WideInterval) -> WideInterval {
    let WideInterval { months, days, nanoseconds } = length;
    if days > 0 && nanoseconds < 0 {
        WideInterval { months, days: days - 1, nanoseconds: nanoseconds + DAY_NANOSECONDS }
    } else if days < 0 && nanoseconds > 0 {
        WideInterval { months, days: days + 1, nanoseconds: nanoseconds - DAY_NANOSECONDS }
    } else {
        length
    }
}
