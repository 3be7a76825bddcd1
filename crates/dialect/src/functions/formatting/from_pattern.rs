//! `to_date(text, pattern)` and `to_timestamp(text, pattern)` with PostgreSQL's patterns (`YYYY-MM-DD`). Patterns of
//! strftime, which contain a `%`, and calls with other arguments are left to DataFusion, except for seconds that are no
//! time: NaN, and those out of range, which it would turn into other times. `to_timestamp` of a number, or by a
//! pattern of PostgreSQL's, has microseconds. DataFusion's has nanoseconds, whose range ends in the year 2262.

use super::time_pattern::{DAYS, Field, MONTHS, PatternField, Piece, ROMAN, pieces_of};
use crate::functions::base::arguments::{strictly, text_of};
use crate::functions::base::of_inner::of_inner;
use crate::text::datafusion_errors::external;
use crate::text::errors::sql_error;
use atsdb_core::Result as CoreResult;
use atsdb_core::time::{civil_from_days, days_from_civil, days_in_month};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Date32Array, TimestampMicrosecondArray};
use datafusion::arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DataType, Decimal128Type, FieldRef, Float64Type, Int64Type, TimeUnit,
    TimestampMicrosecondType,
};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::{ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl};
use std::sync::Arc;

const SECOND_MICROS: i64 = 1_000_000;
const DAY_MICROS: i64 = 86_400_000_000;

/// The function that makes times.
const TO_TIMESTAMP: &str = "to_timestamp";

/// The Julian day of 1970-01-01.
const EPOCH_JULIAN_DAY: i64 = 2_440_588;

/// `to_date` or `to_timestamp`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct FromPattern {
    inner: Arc<ScalarUDF>,
}

impl FromPattern {
    pub(super) fn new(inner: Arc<ScalarUDF>) -> Self {
        Self { inner }
    }
}

impl ScalarUDFImpl for FromPattern {
    of_inner!(name, aliases, signature, return_type, documentation);

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let pattern = args.scalar_arguments.get(1).copied().flatten().and_then(text_of);
        let has_microseconds = match args.arg_fields {
            [seconds] => self.name() == TO_TIMESTAMP && seconds.data_type().is_numeric(),
            [_, _] => pattern.is_some_and(|pattern| !pattern.contains('%')),
            _ => false,
        };
        let field = self.inner.return_field_from_args(args)?;
        Ok(match field.data_type() {
            DataType::Timestamp(_, zone) if has_microseconds => {
                let of = DataType::Timestamp(TimeUnit::Microsecond, zone.clone());
                Arc::new(field.as_ref().clone().with_data_type(of))
            }
            _ => field,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let ([seconds], DataType::Timestamp(unit, _)) = (args.args.as_slice(), args.return_type()) {
            check_seconds(seconds, *unit)?;
            if *unit == TimeUnit::Microsecond && self.name() == TO_TIMESTAMP {
                return times_of(seconds);
            }
        }
        let [texts, ColumnarValue::Scalar(pattern)] = args.args.as_slice() else {
            return self.inner.invoke_with_args(args);
        };
        let Some(pieces) = text_of(pattern).filter(|pattern| !pattern.contains('%')).map(pieces_of) else {
            return self.inner.invoke_with_args(args);
        };
        let texts = texts.cast_to(&DataType::Utf8, None)?;
        let is_scalar = matches!(texts, ColumnarValue::Scalar(_));
        let texts = texts.into_array(1)?;
        let times = texts.as_string::<i32>().iter().map(|text| text.map(|text| read(text, &pieces)).transpose());
        let times = times.collect::<CoreResult<Vec<Option<i64>>>>().map_err(external)?;
        let found: ArrayRef = match args.return_type() {
            DataType::Date32 => {
                let days = |micros: i64| micros.div_euclid(DAY_MICROS) as i32;
                Arc::new(times.into_iter().map(|time| time.map(days)).collect::<Date32Array>())
            }
            _ => Arc::new(TimestampMicrosecondArray::from(times)),
        };
        match is_scalar {
            true => ScalarValue::try_from_array(&found, 0).map(ColumnarValue::Scalar),
            false => Ok(ColumnarValue::Array(found)),
        }
    }
}

/// The times of seconds since the epoch, rounded to microseconds.
fn times_of(seconds: &ColumnarValue) -> Result<ColumnarValue> {
    let out_of_range = || external(sql_error("timestamp out of range"));
    let numbers = seconds.clone().into_array(1)?;
    let times: TimestampMicrosecondArray = if numbers.data_type().is_integer() {
        let seconds = strictly(&numbers, &DataType::Int64)?;
        let micros = |seconds: i64| seconds.checked_mul(SECOND_MICROS).ok_or_else(out_of_range);
        seconds.as_primitive::<Int64Type>().try_unary::<_, TimestampMicrosecondType, _>(micros)?
    } else {
        let seconds = strictly(&numbers, &DataType::Decimal128(DECIMAL128_MAX_PRECISION, 6))?;
        let micros = |micros: i128| i64::try_from(micros).map_err(|_| out_of_range());
        seconds.as_primitive::<Decimal128Type>().try_unary::<_, TimestampMicrosecondType, _>(micros)?
    };
    match seconds {
        ColumnarValue::Scalar(_) => ScalarValue::try_from_array(&times, 0).map(ColumnarValue::Scalar),
        ColumnarValue::Array(_) => Ok(ColumnarValue::Array(Arc::new(times))),
    }
}

/// Refuses seconds since the epoch that are no time in this unit.
fn check_seconds(seconds: &ColumnarValue, unit: TimeUnit) -> Result<()> {
    if !seconds.data_type().is_floating() {
        return Ok(());
    }
    // The seconds that 63 bits count.
    let end = match unit {
        TimeUnit::Second => 9.223_372_036_854e18,
        TimeUnit::Millisecond => 9.223_372_036_854e15,
        TimeUnit::Microsecond => 9.223_372_036_854e12,
        TimeUnit::Nanosecond => 9.223_372_036_854e9,
    };
    let seconds = seconds.cast_to(&DataType::Float64, None)?.into_array(1)?;
    for second in seconds.as_primitive::<Float64Type>().iter().flatten() {
        if second.is_nan() {
            return exec_err!("timestamp cannot be NaN");
        }
        if second.is_infinite() {
            return exec_err!("an infinite time is not supported: write NULL for a time that is not known");
        }
        if second.abs() >= end {
            return exec_err!("timestamp out of range: {second} seconds");
        }
    }
    Ok(())
}

/// The fields of a date and time that have been read.
#[derive(Debug, Default)]
struct TimeFields {
    year: Option<i64>,
    is_before_christ: bool,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    iso_week: Option<i64>,
    iso_day: Option<i64>,
    week_of_year: Option<i64>,
    julian_day: Option<i64>,
    hour: i64,
    hour_of_half: Option<i64>,
    is_afternoon: Option<bool>,
    minute: i64,
    second: i64,
    second_of_day: Option<i64>,
    micros: i64,
    /// The offset from UTC.
    is_west: bool,
    zone_hour: i64,
    zone_minute: i64,
}

/// Reads a time as microseconds since the epoch.
fn read(text: &str, pieces: &[Piece]) -> CoreResult<i64> {
    let (mut parts, mut rest) = (TimeFields::default(), text);
    for (at, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Field(field) => {
                rest = rest.trim_start();
                if rest.is_empty() {
                    break;
                }
                let is_followed_by_field = matches!(pieces.get(at + 1), Some(Piece::Field(_)));
                rest = parts.take(rest, *field, is_followed_by_field).ok_or_else(|| {
                    let start: String = rest.chars().take(20).collect();
                    sql_error(format!("'{text:.60}' does not match the pattern at '{start}'"))
                        .with_hint("YYYY MM DD Mon Month HH24 HH12 MI SS MS US AM, or strftime's, such as '%Y-%m-%d'")
                })?;
            }
            Piece::Quoted(quoted) => {
                let length = rest.char_indices().nth(quoted.chars().count()).map_or(rest.len(), |(at, _)| at);
                rest = &rest[length..];
            }
            // Separators match any separators.
            Piece::Other(letter) if !letter.is_alphanumeric() => {
                let is_sign_of_zone = matches!(
                    pieces.get(at + 1),
                    Some(Piece::Field(PatternField { field: Field::ZoneHour | Field::ZoneOffset, .. }))
                );
                rest = match is_sign_of_zone {
                    true => rest.trim_start(),
                    false => rest.trim_start_matches(|found: char| !found.is_alphanumeric()),
                };
            }
            Piece::Other(_) => {
                let mut letters = rest.chars();
                letters.next();
                rest = letters.as_str();
            }
        }
    }
    parts.micros().ok_or_else(|| out_of_range(text))
}

fn out_of_range(text: &str) -> atsdb_core::Error {
    sql_error(format!("'{text:.60}' is out of the range of times"))
}

impl TimeFields {
    /// Takes a field from the start of a text, and returns the rest.
    fn take<'a>(&mut self, text: &'a str, pattern: PatternField, is_followed: bool) -> Option<&'a str> {
        // Before another field, a number has as many digits as its pattern; else it may have more.
        let number = |width: usize| {
            let most = if is_followed && !pattern.is_bare { width } else { 18 };
            let length = text.bytes().take(most).take_while(u8::is_ascii_digit).count();
            let (digits, rest) = text.split_at(length);
            let rest = if pattern.ordinal.is_some() { rest.get(2..).unwrap_or("") } else { rest };
            Some((digits.parse::<i64>().ok()?, rest, length))
        };
        let some_number = |width: usize| number(width).map(|(number, rest, _)| (Some(number), rest));
        let name = |names: &[&str], short: Option<usize>| {
            let mut found = None;
            for (at, name) in names.iter().enumerate() {
                let name = short.map_or(*name, |length| &name[..length]);
                let is_found = text.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
                if is_found && found.is_none_or(|(_, length)| length < name.len()) {
                    found = Some((at as i64, name.len()));
                }
            }
            found.map(|(at, length)| (at, &text[length..]))
        };
        let half = |has_points: bool| {
            let length = if has_points { 4 } else { 2 };
            Some((text.get(..1)?.to_ascii_lowercase(), text.get(length..)?))
        };
        let rest;
        match pattern.field {
            Field::Hour24 => (self.hour, rest, _) = number(2)?,
            Field::Hour12 => (self.hour_of_half, rest) = some_number(2)?,
            Field::Minute => (self.minute, rest, _) = number(2)?,
            Field::Second => (self.second, rest, _) = number(2)?,
            Field::SecondOfDay => (self.second_of_day, rest) = some_number(5)?,
            Field::Millisecond | Field::Microsecond | Field::Fraction(_) => {
                let width = match pattern.field {
                    Field::Millisecond => 3,
                    Field::Fraction(digits) => digits as usize,
                    _ => 6,
                };
                let (digits, after, length) = number(width)?;
                // The digits are those of a fraction.
                let length = u32::try_from(length).ok()?;
                self.micros =
                    if length > 6 { digits / 10_i64.pow(length - 6) } else { digits * 10_i64.pow(6 - length) };
                rest = after;
            }
            Field::HalfOfDay { has_points } => {
                let (letter, after) = half(has_points)?;
                (self.is_afternoon, rest) = (Some(letter == "p"), after);
            }
            Field::Era { has_points } => {
                let (letter, after) = half(has_points)?;
                (self.is_before_christ, rest) = (letter == "b", after);
            }
            Field::YearWithComma => {
                let (thousands, after) = text.split_once(',')?;
                let year: i64 = format!("{thousands}{}", after.get(..3)?).parse().ok()?;
                (self.year, rest) = (Some(year), after.get(3..)?);
            }
            Field::Year(digits) | Field::IsoYear(digits) => {
                let (year, after, length) = number(digits as usize)?;
                let year = if digits < 4 && length < 4 { near_2020(year) } else { year };
                (self.year, rest) = (Some(year), after);
            }
            Field::MonthName | Field::MonthShort => {
                let short = (pattern.field == Field::MonthShort).then_some(3);
                let (month, after) = name(&MONTHS, short)?;
                (self.month, rest) = (Some(month + 1), after);
            }
            Field::MonthRoman => {
                let (month, after) = name(&ROMAN, None)?;
                (self.month, rest) = (Some(month + 1), after);
            }
            Field::DayName => (_, rest) = name(&DAYS, None)?,
            Field::DayShort => (_, rest) = name(&DAYS, Some(3))?,
            Field::Month => (self.month, rest) = some_number(2)?,
            Field::Day => (self.day, rest) = some_number(2)?,
            Field::DayOfYear => (self.day_of_year, rest) = some_number(3)?,
            Field::IsoWeek => (self.iso_week, rest) = some_number(2)?,
            Field::IsoDayOfWeek => (self.iso_day, rest) = some_number(1)?,
            Field::WeekOfYear => (self.week_of_year, rest) = some_number(2)?,
            Field::JulianDay => (self.julian_day, rest) = some_number(7)?,
            // PostgreSQL ignores these.
            Field::DayOfWeek | Field::Quarter => (_, rest, _) = number(1)?,
            Field::Zone if text.get(..3).is_some_and(|zone| zone.eq_ignore_ascii_case("UTC")) => rest = &text[3..],
            Field::ZoneHour | Field::ZoneOffset => {
                self.is_west = text.starts_with('-');
                let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
                let length = digits.bytes().take(2).take_while(u8::is_ascii_digit).count();
                self.zone_hour = digits[..length].parse().ok()?;
                rest = &digits[length..];
            }
            Field::ZoneMinute => (self.zone_minute, rest, _) = number(2)?,
            Field::IsoDayOfYear | Field::WeekOfMonth | Field::Century | Field::Zone => return None,
        }
        Some(rest)
    }

    /// The time in microseconds since the epoch; `None` if it does not exist.
    fn micros(&self) -> Option<i64> {
        let hour = match (self.hour_of_half, self.is_afternoon) {
            (Some(hour), _) if !(1..=12).contains(&hour) => return None,
            (Some(hour), Some(is_afternoon)) => hour % 12 + if is_afternoon { 12 } else { 0 },
            (Some(hour), None) => hour,
            (None, _) => self.hour,
        };
        if hour > 23 || self.minute > 59 || self.second > 59 {
            return None;
        }
        let seconds = self.second_of_day.unwrap_or(hour * 3_600 + self.minute * 60 + self.second);
        let ahead = (self.zone_hour * 3_600 + self.zone_minute * 60) * if self.is_west { -1 } else { 1 };
        let micros = (seconds - ahead).checked_mul(1_000_000)?.checked_add(self.micros)?;
        self.days()?.checked_mul(DAY_MICROS)?.checked_add(micros)
    }

    fn days(&self) -> Option<i64> {
        if let Some(day) = self.julian_day {
            return Some(day - EPOCH_JULIAN_DAY);
        }
        // Without a year, it is 1 BC, as in PostgreSQL. It is the year 0 here.
        let year = match self.year {
            Some(year) if self.is_before_christ => 1 - year,
            Some(year) => year,
            None => 0,
        };
        if year.abs() > 290_000 {
            return None;
        }
        if let Some(week) = self.iso_week {
            let fourth = days_from_civil(year, 1, 4);
            let monday = fourth - (fourth + 3).rem_euclid(7);
            let day = self.iso_day.unwrap_or(1);
            return ((1..=53).contains(&week) && (1..=7).contains(&day)).then_some(monday + (week - 1) * 7 + day - 1);
        }
        let first = days_from_civil(year, 1, 1);
        if let Some(day) = self.day_of_year.or(self.week_of_year.map(|week| (week - 1) * 7 + 1)) {
            let found = first + day - 1;
            return (civil_from_days(found).0 == year).then_some(found);
        }
        let month = u32::try_from(self.month.unwrap_or(1)).ok().filter(|month| (1..=12).contains(month))?;
        let day = u32::try_from(self.day.unwrap_or(1)).ok()?;
        (1..=days_in_month(year, month)).contains(&day).then(|| days_from_civil(year, month, day))
    }
}

/// A year of fewer than four digits: the nearest to 2020 that ends with them.
fn near_2020(year: i64) -> i64 {
    year + match year {
        0..=69 => 2_000,
        70..=99 => 1_900,
        100..=519 => 2_000,
        520..=999 => 1_000,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_as_postgresql_reads_it() {
        for (text, pattern, wanted) in [
            ("05 Dec 2000", "DD Mon YYYY", "2000-12-05 00:00:00"),
            ("2024-03-01 12:30:45.5", "YYYY-MM-DD HH24:MI:SS.MS", "2024-03-01 12:30:45.500"),
            ("20240301 0930 PM", "YYYYMMDD HHMI AM", "2024-03-01 21:30:00"),
            ("24-3-1", "YY-MM-DD", "2024-03-01 00:00:00"),
            ("2024 060", "YYYY DDD", "2024-02-29 00:00:00"),
            ("2024-W09-6", "IYYY-\"W\"IW-ID", "2024-03-02 00:00:00"),
            ("March 3, 1999", "Month DD, YYYY", "1999-03-03 00:00:00"),
            ("2024-03-01 12:00 +02:00", "YYYY-MM-DD HH24:MI TZH:TZM", "2024-03-01 10:00:00"),
            ("2460311", "J", "2024-01-01 00:00:00"),
            ("1/2/2024", "MM/DD/YYYY", "2024-01-02 00:00:00"),
            ("2024-03", "YYYY-MM", "2024-03-01 00:00:00"),
        ] {
            let micros = read(text, &pieces_of(pattern)).unwrap();
            let time = chrono::DateTime::from_timestamp_micros(micros).unwrap();
            assert_eq!(time.format("%Y-%m-%d %H:%M:%S%.f").to_string(), wanted, "{text}");
        }
        for (text, pattern) in
            [("2024-13-01", "YYYY-MM-DD"), ("abc", "YYYY"), ("2024-02-30", "YYYY-MM-DD"), ("13", "HH12")]
        {
            assert!(read(text, &pieces_of(pattern)).is_err(), "{text}");
        }
    }
}
