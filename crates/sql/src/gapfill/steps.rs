//! The buckets of `time_bucket_gapfill`, one after the other.

use crate::error::sql_error;
use atsdb_core::time::{DAY_SECONDS, civil_from_days, days_from_civil};
use atsdb_core::{Result, TimeUnit};
use datafusion::arrow::datatypes::{DataType, IntervalMonthDayNano, IntervalUnit, TimeUnit as ArrowUnit};
use datafusion::common::ScalarValue;

/// Monday, 2000-01-03: weeks begin on Mondays.
const STEPS_ORIGIN_DAY: i64 = 10_959;

/// What the times that are cut count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Ticks {
    /// A unit since the epoch.
    Of(TimeUnit),
    /// An integer column says no unit: its buckets are as wide as an integer says.
    Plain,
}

impl Ticks {
    /// What a column of this type counts; `None` if it holds no times.
    pub(crate) fn of(ty: &DataType) -> Option<Self> {
        Some(match ty {
            DataType::Timestamp(ArrowUnit::Second, _) => Self::Of(TimeUnit::Second),
            DataType::Timestamp(ArrowUnit::Millisecond, _) => Self::Of(TimeUnit::Millisecond),
            DataType::Timestamp(ArrowUnit::Microsecond, _) => Self::Of(TimeUnit::Microsecond),
            DataType::Timestamp(ArrowUnit::Nanosecond, _) => Self::Of(TimeUnit::Nanosecond),
            DataType::Int64 => Self::Plain,
            _ => return None,
        })
    }
}

/// Cuts times into buckets that leave nothing out.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Steps {
    /// Boundaries leave the rest `phase` when divided by `width`.
    Even { width: i64, phase: i64 },
    /// Months, counted from 2000-01.
    Months { count: i64, ticks_per_day: i64 },
}

impl Steps {
    /// Buckets of a width: an interval, or text that names one; for plain integers an integer.
    pub(crate) fn new(width: &ScalarValue, zone: Option<&str>, ticks: Ticks) -> Result<Self> {
        if let Some(zone) = zone.filter(|zone| *zone != "UTC") {
            return Err(sql_error(format!("no time zone named {zone}")));
        }
        let too_narrow = || sql_error(format!("a width of {width} is not longer than nothing"));
        let Ticks::Of(unit) = ticks else {
            let Ok(ScalarValue::Int64(Some(width))) = width.cast_to(&DataType::Int64) else {
                return Err(sql_error("the width of buckets of an integer time is an integer")
                    .with_hint("or make the integer a time: to_timestamp_seconds(n)"));
            };
            return if width > 0 { Ok(Self::Even { width, phase: 0 }) } else { Err(too_narrow()) };
        };
        let interval = interval_of(width)?;
        let ticks_per_day = DAY_SECONDS * unit.per_second();
        let rest =
            i128::from(interval.days) * i128::from(DAY_SECONDS) * 1_000_000_000 + i128::from(interval.nanoseconds);
        if interval.months != 0 {
            return match (interval.months, rest) {
                (1.., 0) => Ok(Self::Months { count: interval.months.into(), ticks_per_day }),
                (1.., _) => Err(sql_error(format!("a width of {width} mixes months with days or shorter"))),
                _ => Err(too_narrow()),
            };
        }
        let tick = 1_000_000_000 / i128::from(unit.per_second());
        let width =
            i64::try_from(rest / tick).ok().filter(|width| *width > 0 && rest % tick == 0).ok_or_else(too_narrow)?;
        let origin = i128::from(STEPS_ORIGIN_DAY) * i128::from(ticks_per_day);
        Ok(Self::Even { width, phase: origin.rem_euclid(i128::from(width)) as i64 })
    }

    /// The start of the bucket that a time lies in; `None` beyond the times that i64 counts.
    pub(crate) fn bucket_of(&self, time: i64) -> Option<i64> {
        match self {
            Self::Even { width, phase } => {
                let past = (i128::from(time) - i128::from(*phase)).rem_euclid(i128::from(*width));
                time.checked_sub(past as i64)
            }
            Self::Months { count, ticks_per_day } => {
                Self::month_start(months_of(time.div_euclid(*ticks_per_day)).div_euclid(*count) * count, *ticks_per_day)
            }
        }
    }

    /// The start of the bucket after one; `None` beyond the times that i64 counts.
    pub(crate) fn next(&self, bucket: i64) -> Option<i64> {
        match self {
            Self::Even { width, .. } => bucket.checked_add(*width),
            Self::Months { count, ticks_per_day } => {
                Self::month_start(months_of(bucket.div_euclid(*ticks_per_day)) + count, *ticks_per_day)
            }
        }
    }

    fn month_start(months: i64, ticks_per_day: i64) -> Option<i64> {
        let months = months + 2_000 * 12;
        days_from_civil(months.div_euclid(12), months.rem_euclid(12) as u32 + 1, 1).checked_mul(ticks_per_day)
    }
}

fn months_of(days: i64) -> i64 {
    let (year, month, _) = civil_from_days(days);
    (year - 2_000) * 12 + i64::from(month) - 1
}

/// An interval, or text that names one.
pub(crate) fn interval_of(value: &ScalarValue) -> Result<IntervalMonthDayNano> {
    match value.cast_to(&DataType::Interval(IntervalUnit::MonthDayNano)) {
        Ok(ScalarValue::IntervalMonthDayNano(Some(interval))) => Ok(interval),
        _ => Err(sql_error(format!("{value} is no interval")).with_hint("write INTERVAL '5 minutes' or '1 day'")),
    }
}
