//! Intervals as arguments: literals, and text such as `5 minutes`.

use crate::functions::base::arguments::{per_second, text_of};
use crate::text::errors::sql_error;
use atsdb_core::Result;
use atsdb_core::time::DAY_NANOSECONDS;
use datafusion::arrow::array::{ArrayRef, AsArray, IntervalMonthDayNanoArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::compute::kernels::cast_utils::parse_interval_month_day_nano;
use datafusion::arrow::datatypes::{
    DataType, Int64Type, IntervalMonthDayNano as Interval, IntervalMonthDayNanoType, IntervalUnit,
};
use datafusion::arrow::error::ArrowError;
use datafusion::common::ScalarValue;

/// A value as an interval; `None` for NULL.
pub fn interval_of(value: &ScalarValue) -> Result<Option<Interval>> {
    let days = |days: i32, nanoseconds: i64| Some(Interval { months: 0, days, nanoseconds });
    let duration = |count: Option<i64>, nanos: i64| {
        let nanos = |count: i64| -> Result<Interval> {
            let (nanos, day) = (i128::from(count) * i128::from(nanos), i128::from(DAY_NANOSECONDS));
            let (whole, rest) = (nanos.div_euclid(day), nanos.rem_euclid(day));
            let whole = i32::try_from(whole).map_err(|_| sql_error(format!("the duration {value} is too long")))?;
            Ok(Interval { months: 0, days: whole, nanoseconds: rest as i64 })
        };
        count.map(nanos).transpose()
    };
    Ok(match value {
        value if value.is_null() => None,
        ScalarValue::IntervalMonthDayNano(interval) => *interval,
        ScalarValue::IntervalYearMonth(Some(months)) => Some(Interval { months: *months, days: 0, nanoseconds: 0 }),
        ScalarValue::IntervalDayTime(Some(interval)) => {
            days(interval.days, i64::from(interval.milliseconds) * 1_000_000)
        }
        ScalarValue::DurationSecond(count) => duration(*count, 1_000_000_000)?,
        ScalarValue::DurationMillisecond(count) => duration(*count, 1_000_000)?,
        ScalarValue::DurationMicrosecond(count) => duration(*count, 1_000)?,
        ScalarValue::DurationNanosecond(count) => duration(*count, 1)?,
        value => match text_of(value) {
            Some(text) => Some(parse_interval(text)?),
            None => {
                return Err(sql_error(format!("{value} is not an interval")).with_hint("write '5 minutes' or '1 day'"));
            }
        },
    })
}

/// Intervals or durations as intervals. A duration becomes whole days and a rest of the same sign.
pub fn intervals(lengths: &ArrayRef) -> datafusion::common::Result<IntervalMonthDayNanoArray> {
    let DataType::Duration(unit) = lengths.data_type() else {
        return Ok(cast(lengths, &DataType::Interval(IntervalUnit::MonthDayNano))?.as_primitive().clone());
    };
    let unit_nanos = i128::from(1_000_000_000 / per_second(*unit));
    let counts = cast(lengths, &DataType::Int64)?;
    let lengths = counts.as_primitive::<Int64Type>().try_unary::<_, IntervalMonthDayNanoType, ArrowError>(|count| {
        of_nanos(i128::from(count) * unit_nanos)
            .ok_or_else(|| ArrowError::ComputeError("the interval is out of range".to_owned()))
    })?;
    Ok(lengths)
}

/// A length in nanoseconds as whole days and a rest of the same sign; `None` if there are too many days.
pub fn of_nanos(nanos: i128) -> Option<Interval> {
    let day = i128::from(DAY_NANOSECONDS);
    let (days, rest) = (nanos / day, nanos % day);
    Some(Interval { months: 0, days: i32::try_from(days).ok()?, nanoseconds: rest as i64 })
}

/// The days and nanoseconds of an interval.
pub fn nanos_of(interval: Interval) -> i128 {
    i128::from(interval.days) * i128::from(DAY_NANOSECONDS) + i128::from(interval.nanoseconds)
}

/// Parses `5 minutes`, `1 day 12 hours`, `1h`. A number without a unit is refused.
pub fn parse_interval(text: &str) -> Result<Interval> {
    let text = text.trim();
    let has_unit = text.ends_with(|last: char| last.is_ascii_alphabetic());
    parse_interval_month_day_nano(text).ok().filter(|_| has_unit).ok_or_else(|| {
        sql_error(format!("'{text}' is not an interval")).with_hint("write '5 minutes', '1 day', '1 month' or '1 year'")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_in_text_need_a_unit() {
        let interval = |months, days, nanoseconds| Interval { months, days, nanoseconds };
        assert_eq!(parse_interval("1 day 30 seconds").unwrap(), interval(0, 1, 30_000_000_000));
        assert_eq!(parse_interval(" 1 year ").unwrap(), interval(12, 0, 0));
        assert_eq!(parse_interval("-1 week").unwrap(), interval(0, -7, 0));
        for text in ["", "5", "1 fortnight", "day", "1 day 5"] {
            assert!(parse_interval(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations_are_intervals() {
        let value = ScalarValue::DurationMillisecond(Some(-1));
        let found = interval_of(&value).unwrap().unwrap();
        assert_eq!(nanos_of(found), -1_000_000);
        assert_eq!(interval_of(&ScalarValue::Utf8(None)).unwrap(), None);
        assert!(interval_of(&ScalarValue::Int64(Some(5))).is_err());
    }
}
