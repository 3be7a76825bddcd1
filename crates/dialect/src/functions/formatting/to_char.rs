//! `to_char` of times and intervals with PostgreSQL's patterns (`YYYY-MM-DD HH24:MI:SS`), of times with those of
//! strftime, which contain a `%` and are left to DataFusion, and of numbers (`999,990.00`).

use super::number_digits::{Number, numbers};
use super::number_pattern::NumberPattern;
use super::number_text::number_text;
use crate::functions::base::answers::{answer, are_constant};
use crate::functions::base::arguments::{plain_type, strictly};
use crate::functions::base::of_inner::of_inner;
use crate::functions::times::interval::intervals;
use crate::functions::times::time_pattern::{Letters, PatternField, PatternPiece, ROMAN, TimeField, pieces_of};
use crate::text::datafusion_errors::external;
use crate::text::errors::sql_error;
use atsdb_core::Result as CoreResult;
use atsdb_core::time::{DAY_MICROSECONDS, EPOCH_JULIAN_DAY, civil_from_days, days_from_civil, first_iso_monday};
use atsdb_core::time_text::{MONTH_NAMES, WEEKDAY_NAMES};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Int64Type, IntervalMonthDayNano as Interval, TimeUnit, TimestampMicrosecondType,
};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use std::fmt::Write;
use std::sync::Arc;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct ToChar {
    inner: Arc<ScalarUDF>,
    signature: Signature,
}

impl ToChar {
    pub(super) fn new(inner: Arc<ScalarUDF>) -> Self {
        Self { inner, signature: Signature::any(2, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for ToChar {
    of_inner!(name, aliases, documentation);

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        args.args[1] = args.args[1].cast_to(&DataType::Utf8, None)?;
        if plain_type(&args.args[0].data_type()).is_numeric() {
            return texts_of_numbers(&args);
        }
        let has_percent = match &args.args[1] {
            ColumnarValue::Scalar(ScalarValue::Utf8(pattern)) => {
                pattern.as_deref().is_some_and(|pattern| pattern.contains('%'))
            }
            ColumnarValue::Array(patterns) => {
                patterns.as_string::<i32>().iter().flatten().any(|pattern| pattern.contains('%'))
            }
            ColumnarValue::Scalar(_) => false,
        };
        if has_percent && matches!(args.args[1], ColumnarValue::Scalar(_)) {
            return self.inner.invoke_with_args(args);
        }
        let of_strftime = match has_percent {
            true => Some(self.inner.invoke_with_args(args.clone())?.into_array(args.number_rows)?),
            false => None,
        };
        let is_scalar = are_constant(&args.args);
        let rows = if is_scalar { 1 } else { args.number_rows };
        let moments = moments(&args.args[0].clone().into_array(rows)?)?;
        let texts = match &args.args[1] {
            ColumnarValue::Scalar(ScalarValue::Utf8(Some(pattern))) => {
                let pieces = pieces_of(pattern);
                let texts = moments.iter().map(|moment| moment.as_ref().map(|of| text(&pieces, of)).transpose());
                texts.collect::<CoreResult<StringArray>>()
            }
            ColumnarValue::Scalar(_) => Ok(StringArray::new_null(moments.len())),
            ColumnarValue::Array(patterns) => {
                let of_strftime = of_strftime.as_ref().map(|texts| texts.as_string::<i32>());
                let pairs = moments.iter().zip(patterns.as_string::<i32>()).enumerate();
                let texts = pairs.map(|(row, (moment, pattern))| match (moment, pattern, of_strftime) {
                    (Some(_), Some(pattern), Some(texts)) if pattern.contains('%') => {
                        Ok(Some(texts.value(row).to_owned()))
                    }
                    (Some(moment), Some(pattern), _) => text(&pieces_of(pattern), moment).map(Some),
                    _ => Ok(None),
                });
                texts.collect()
            }
        };
        let texts: ArrayRef = Arc::new(texts.map_err(external)?);
        answer(is_scalar, texts)
    }
}

/// `to_char` of numbers.
fn texts_of_numbers(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let is_scalar = are_constant(&args.args);
    let rows = if is_scalar { 1 } else { args.number_rows };
    let numbers = numbers(&args.args[0].to_array(rows)?)?;
    let texts = match &args.args[1] {
        ColumnarValue::Scalar(ScalarValue::Utf8(Some(pattern))) => {
            let pattern = NumberPattern::new(pattern).map_err(external)?;
            numbers.iter().map(|number| number.map(|number| number_text(&pattern, number))).collect::<StringArray>()
        }
        ColumnarValue::Scalar(_) => StringArray::new_null(rows),
        ColumnarValue::Array(patterns) => {
            let pairs = numbers.iter().zip(patterns.as_string::<i32>());
            let text = |(number, pattern): (&Option<Number>, Option<&str>)| -> CoreResult<Option<String>> {
                let Some((number, pattern)) = number.zip(pattern) else { return Ok(None) };
                Ok(Some(number_text(&NumberPattern::new(pattern)?, number)))
            };
            pairs.map(text).collect::<CoreResult<StringArray>>().map_err(external)?
        }
    };
    answer(is_scalar, Arc::new(texts))
}

/// A time, or the parts of an interval.
struct Moment {
    is_interval: bool,
    year: i64,
    month: i64,
    day: i64,
    /// The days since the epoch. An interval counts from the beginning of the year 0.
    days: i64,
    /// The microseconds of the day, or of the interval without its days; negative in an interval of a negative length.
    micros: i64,
}

impl Moment {
    fn of_time(micros: i64) -> Self {
        let days = micros.div_euclid(DAY_MICROSECONDS);
        let (year, month, day) = civil_from_days(days);
        Self {
            is_interval: false,
            year,
            month: month.into(),
            day: day.into(),
            days,
            micros: micros.rem_euclid(DAY_MICROSECONDS),
        }
    }

    fn of_interval(length: Interval) -> Self {
        let (year, month, day) = ((length.months / 12).into(), (length.months % 12).into(), length.days.into());
        Self {
            is_interval: true,
            year,
            month,
            day,
            days: julian_day(year, month, day) - EPOCH_JULIAN_DAY,
            micros: length.nanoseconds / 1_000,
        }
    }

    fn hour(&self) -> i64 {
        self.micros / 3_600_000_000
    }

    /// A year without its era. Years before Christ are counted from 1.
    fn shown_year(&self, year: i64) -> i64 {
        if year <= 0 && !self.is_interval { 1 - year } else { year }
    }

    /// Returns the day of the year. In an interval, months have 30 days.
    fn day_of_year(&self) -> i64 {
        if self.is_interval {
            return (self.year * 12 + self.month) * 30 + self.day;
        }
        self.days - days_from_civil(self.year, 1, 1) + 1
    }

    /// Returns the day of the week from 0, a Sunday. The epoch was a Thursday.
    fn day_of_week(&self) -> i64 {
        (self.days + 4).rem_euclid(7)
    }

    fn iso_day_of_week(&self) -> i64 {
        (self.days + 3).rem_euclid(7) + 1
    }

    /// The year of ISO weeks, and the days since its first Monday.
    fn iso_year(&self) -> (i64, i64) {
        if self.is_interval {
            let day = self.days + EPOCH_JULIAN_DAY;
            let year = match self.year {
                year if day < first_monday(year) => year - 1,
                year if day >= first_monday(year + 1) => year + 1,
                year => year,
            };
            return (year, day - first_monday(year));
        }
        // A week belongs to the year of its Thursday.
        let (year, ..) = civil_from_days(self.days - self.iso_day_of_week() + 4);
        (year, self.days - first_iso_monday(year))
    }

    /// The month that is written as a Roman number, from 1. Negative months count from December backwards.
    fn roman_month(&self) -> Option<i64> {
        match self.month {
            0 if self.year == 0 => None,
            0 if self.year < 0 => Some(1),
            month if month <= 0 => Some(12 + (month + 1).min(0)),
            month => Some(month),
        }
    }

    fn century(&self) -> i64 {
        match self.year {
            year if self.is_interval => year / 100,
            year if year > 0 => (year + 99) / 100,
            year => -((100 - year) / 100),
        }
    }
}

/// The Julian day of a date as PostgreSQL computes it, also for the parts of an interval, which are no date.
fn julian_day(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year + 4_800, month + 1) } else { (year + 4_799, month + 13) };
    let century = year / 100;
    year * 365 - 32_167 + year / 4 - century + century / 4 + 7_834 * month / 256 + day
}

/// The Julian day on which the weeks of a year begin.
fn first_monday(year: i64) -> i64 {
    let fourth = julian_day(year, 1, 4);
    fourth - fourth.rem_euclid(7)
}

fn moments(values: &ArrayRef) -> Result<Vec<Option<Moment>>> {
    Ok(match values.data_type() {
        DataType::Interval(_) | DataType::Duration(_) => {
            intervals(values)?.iter().map(|length| length.map(Moment::of_interval)).collect()
        }
        DataType::Time32(_) | DataType::Time64(_) => {
            let nanos = cast(&cast(values, &DataType::Time64(TimeUnit::Nanosecond))?, &DataType::Int64)?;
            let of = |nanoseconds: i64| Moment::of_interval(Interval { months: 0, days: 0, nanoseconds });
            nanos.as_primitive::<Int64Type>().iter().map(|nanos| nanos.map(of)).collect()
        }
        DataType::Boolean => return exec_err!("to_char takes a number, a time, a date or an interval"),
        _ => {
            let utc = strictly(values, &DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())))?;
            let times = cast(&utc, &DataType::Timestamp(TimeUnit::Microsecond, None))?;
            times.as_primitive::<TimestampMicrosecondType>().iter().map(|time| time.map(Moment::of_time)).collect()
        }
    })
}

fn text(pieces: &[PatternPiece], moment: &Moment) -> CoreResult<String> {
    let mut out = String::new();
    for piece in pieces {
        match piece {
            PatternPiece::Field(field) => push_field(&mut out, *field, moment)?,
            PatternPiece::Quoted(text) => out.push_str(text),
            PatternPiece::Other(letter) => out.push(*letter),
        }
    }
    Ok(out)
}

/// Returns whether a field names a day, a month or an era, which an interval has none of.
fn is_of_calendar(field: TimeField) -> bool {
    matches!(
        field,
        TimeField::Era { .. }
            | TimeField::MonthName
            | TimeField::MonthShort
            | TimeField::DayName
            | TimeField::DayShort
            | TimeField::DayOfWeek
            | TimeField::IsoDayOfWeek
    )
}

/// Returns whether the sign of a number widens it. That of days and weeks does not.
fn is_widened(field: TimeField, number: i64, of: &Moment) -> bool {
    match field {
        TimeField::Day | TimeField::DayOfYear | TimeField::IsoDayOfYear => false,
        TimeField::WeekOfYear | TimeField::WeekOfMonth | TimeField::IsoWeek => false,
        TimeField::Year(digits) | TimeField::IsoYear(digits) => digits > 1 && of.is_interval && of.year < 0,
        // The hour -12 is shown as 012.
        TimeField::Hour12 => of.hour() < 0,
        _ => number < 0,
    }
}

fn push_field(out: &mut String, pattern: PatternField, of: &Moment) -> CoreResult<()> {
    if of.is_interval && (is_of_calendar(pattern.field) || pattern.field.is_of_zone()) {
        return Err(sql_error("to_char: an interval has no name of a month or day, no day of the week, era or zone")
            .with_hint("use YYYY MM DD HH24 HH12 MI SS MS US"));
    }
    let name = |name: &str, width: usize| {
        let width = if pattern.is_bare { 0 } else { width };
        let cased = match pattern.letters {
            Letters::Upper => name.to_ascii_uppercase(),
            Letters::Capital => name.to_owned(),
            Letters::Lower => name.to_ascii_lowercase(),
        };
        format!("{cased:<width$}")
    };
    if let Some((number, width)) = number_of(pattern.field, of) {
        let width = if pattern.is_bare { 0 } else { width + usize::from(is_widened(pattern.field, number, of)) };
        let _ = write!(out, "{number:0width$}");
        if let Some(letters) = pattern.ordinal {
            out.push_str(ordinal(number, letters));
        }
        return Ok(());
    }
    // The hours of a negative interval count as the first half of a day.
    let half = if of.hour() % 24 >= 12 { "pm" } else { "am" };
    // 1 BC is the year 0.
    let era = if of.year <= 0 { "bc" } else { "ad" };
    let letters = |letters: &str, has_points: bool| {
        let spaced: String =
            letters.chars().flat_map(|letter| [Some(letter), has_points.then_some('.')]).flatten().collect();
        if pattern.letters == Letters::Lower { spaced } else { spaced.to_ascii_uppercase() }
    };
    let index_of = |month: i64| usize::try_from(month - 1).unwrap_or(0).min(11);
    let month = index_of(of.month);
    let day = usize::try_from(of.day_of_week()).unwrap_or(0).min(6);
    let written = match pattern.field {
        TimeField::HalfOfDay { has_points } => letters(half, has_points),
        TimeField::Era { has_points } => letters(era, has_points),
        TimeField::YearWithComma => {
            let year = of.shown_year(of.year);
            format!("{},{:03}", year / 1_000, year % 1_000)
        }
        TimeField::MonthName => name(MONTH_NAMES[month], 9),
        TimeField::MonthShort => name(&MONTH_NAMES[month][..3], 3),
        TimeField::MonthRoman => of.roman_month().map(|month| name(ROMAN[index_of(month)], 4)).unwrap_or_default(),
        TimeField::DayName => name(WEEKDAY_NAMES[day], 9),
        TimeField::DayShort => name(&WEEKDAY_NAMES[day][..3], 3),
        TimeField::Zone => name("UTC", 3),
        TimeField::ZoneHour | TimeField::ZoneOffset => "+00".to_owned(),
        TimeField::ZoneMinute => "00".to_owned(),
        _ => String::new(),
    };
    out.push_str(&written);
    Ok(())
}

/// The number that a field shows, and its width; `None` for names, and for the quarter of an interval without months.
fn number_of(field: TimeField, of: &Moment) -> Option<(i64, usize)> {
    let last = |year: i64, digits: u32| if digits == 4 { year } else { year % 10_i64.pow(digits) };
    let fraction = of.micros % 1_000_000;
    Some(match field {
        TimeField::Hour12 => (if of.hour() % 12 == 0 { 12 } else { of.hour() % 12 }, 2),
        TimeField::Hour24 => (of.hour(), 2),
        TimeField::Minute => (of.micros / 60_000_000 % 60, 2),
        TimeField::Second => (of.micros / 1_000_000 % 60, 2),
        TimeField::Millisecond => (fraction / 1_000, 3),
        TimeField::Microsecond => (fraction, 6),
        TimeField::Fraction(digits) => (fraction / 10_i64.pow(6 - digits), digits as usize),
        TimeField::SecondOfDay => (of.micros / 1_000_000, 0),
        TimeField::Year(digits) => (last(of.shown_year(of.year), digits), digits as usize),
        TimeField::IsoYear(digits) => (last(of.shown_year(of.iso_year().0), digits), digits as usize),
        TimeField::Month => (of.month, 2),
        TimeField::DayOfYear => (of.day_of_year(), 3),
        TimeField::IsoDayOfYear => (of.iso_year().1 + 1, 3),
        TimeField::Day => (of.day, 2),
        TimeField::DayOfWeek => (of.day_of_week() + 1, 1),
        TimeField::IsoDayOfWeek => (of.iso_day_of_week(), 1),
        TimeField::WeekOfYear => ((of.day_of_year() - 1) / 7 + 1, 2),
        TimeField::WeekOfMonth => ((of.day - 1) / 7 + 1, 1),
        TimeField::IsoWeek => (of.iso_year().1 / 7 + 1, 2),
        TimeField::Century => (of.century(), 2),
        TimeField::JulianDay => (of.days + EPOCH_JULIAN_DAY, 0),
        TimeField::Quarter if of.month != 0 => ((of.month - 1) / 3 + 1, 1),
        _ => return None,
    })
}

fn ordinal(number: i64, letters: Letters) -> &'static str {
    let number = number.abs();
    let (upper, lower) = match (number % 10, number % 100 / 10) {
        (1, tens) if tens != 1 => ("ST", "st"),
        (2, tens) if tens != 1 => ("ND", "nd"),
        (3, tens) if tens != 1 => ("RD", "rd"),
        _ => ("TH", "th"),
    };
    if letters == Letters::Upper { upper } else { lower }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_postgresql_writes_them() {
        // 2024-03-02 15:04:05.678
        let time = Moment::of_time(19_784 * DAY_MICROSECONDS + 54_245_678_000);
        for (pattern, wanted) in [
            ("YYYY-MM-DD HH24:MI:SS.MS", "2024-03-02 15:04:05.678"),
            ("YYYYMMDD\"T\"HH24MISS", "20240302T150405"),
            ("Day, DD Month YYYY|", "Saturday , 02 March     2024|"),
            ("FMDay, FMDDth FMMonth", "Saturday, 2nd March"),
            ("DY MON dy mon Dy Mon", "SAT MAR sat mar Sat Mar"),
            ("HH12:MI am A.M.", "03:04 pm P.M."),
            ("IYYY-\"W\"IW-ID DDD IDDD", "2024-W09-6 062 062"),
            ("D Q WW W CC J RM Y,YYY AD SSSS US", "7 1 09 1 21 2460372 III  2,024 AD 54245 678000"),
            ("TZ tz TZH:TZM OF", "UTC utc +00:00 +00"),
        ] {
            assert_eq!(text(&pieces_of(pattern), &time).unwrap(), wanted, "{pattern}");
        }
    }

    #[test]
    fn intervals_are_written_as_postgresql_writes_them() {
        let written = |months, days, pattern| {
            let length = Moment::of_interval(Interval { months, days, nanoseconds: -5_400_000_000_000 });
            text(&pieces_of(pattern), &length)
        };
        assert_eq!(written(14, 3, "YYYY MM DD HH24:MI:SS").unwrap(), "0001 02 03 -01:-30:00");
        let pattern = "YYYY|IYYY|IYY|IY|I|MM|DD|DDD|IDDD|WW|W|IW|CC|J|Q|RM|FMIYYY";
        for (months, days, wanted) in [
            (
                -245_508,
                -256,
                "-20459|-20460|-460|-60|0|00|-256|-7365496|079|-1052212|-35|12|-204|-5751724||I   |-20460",
            ),
            (0, -256, "0000|-001|-01|-1|-1|00|-256|-256|075|-35|-35|11|00|1720772|||-1"),
            (0, 0, "0000|-001|-01|-1|-1|00|00|000|331|01|1|48|00|1721028|||-1"),
            (13, 1, "0001|0001|001|01|1|01|01|391|001|56|1|01|00|1721426|1|I   |1"),
            (-13, -1, "-0001|-0002|-002|-02|-2|-01|-1|-391|306|-55|1|44|00|1720632|1|XII |-2"),
            (11, 40, "0000|0000|000|00|0|11|40|370|343|53|6|49|00|1721404|4|XI  |0"),
            (-14, 0, "-0001|-0002|-002|-02|-2|-02|00|-420|276|-59|1|40|00|1720602|0|XI  |-2"),
            (1_200, 400, "0100|0101|101|01|1|00|400|36400|002|5200|58|01|01|1757953||XII |101"),
        ] {
            assert_eq!(written(months, days, pattern).unwrap(), wanted, "{months} months {days} days");
        }
        for pattern in ["Month", "dy", "D", "ID", "BC", "TZH"] {
            assert!(written(14, 3, pattern).is_err(), "{pattern}");
        }
    }
}
