//! Columns of times. A time is one field, or a date and a time of day, or year, month, day and so on.

use crate::build::cells::Cells;
use crate::build::column_values::{ColumnValues, Inexact, InvalidValue, Values};
use crate::plan::column::TimeParsing;
use crate::records::Field;
use crate::values::digit_times::digit_time;
use crate::values::epochs::epoch;
use crate::values::numbers::any_i64;
use crate::values::times::{count, parse};
use crate::values::usual_times::{DateMemory, usual_form};
use crate::values::zones::{Instant, Zone};
use arrow::array::{
    ArrayRef, ArrowPrimitiveType, Date32Array, PrimitiveArray, TimestampMicrosecondArray, TimestampMillisecondArray,
    TimestampNanosecondArray, TimestampSecondArray,
};
use arrow::buffer::NullBuffer;
use arrow::error::ArrowError;
use atsdb_core::time::{DAY_SECONDS, days_from_civil, days_in_month};
use atsdb_core::time_text::DateOrder;
use atsdb_core::{ColumnType, TimeUnit};
use std::sync::Arc;

/// The parts of a time, from the first on.
const PARTS: [&str; 6] = ["year", "month", "day", "hour", "minute", "second"];

impl Cells<'_> {
    /// Times as counts of a unit.
    pub(super) fn timestamps(
        &self,
        position: usize,
        parsing: TimeParsing,
        unit: TimeUnit,
    ) -> Result<ColumnValues, ArrowError> {
        let (gathered, inexact) = self.times(position, parsing, unit);
        timestamp_column(gathered, inexact, unit)
    }

    pub(super) fn dates(&self, position: usize, parsing: TimeParsing) -> Result<ColumnValues, ArrowError> {
        let has_clock = || "has a time of day; the column holds dates".to_owned();
        let gathered = self.gather(position, |bytes| {
            if parsing.are_digits
                && let Some(seconds) = digit_time(bytes)
            {
                let days = i32::try_from(seconds.div_euclid(DAY_SECONDS)).ok();
                return days.filter(|_| seconds.rem_euclid(DAY_SECONDS) == 0).ok_or_else(has_clock);
            }
            let time = parse(bytes, parsing.dates).ok_or_else(|| "is not a date".to_owned())?;
            let is_fit = !self.column.is_inferred || time.is_date;
            time.days().filter(|_| is_fit).ok_or_else(has_clock)
        });
        gathered.into_column(|days, nulls| Ok(Arc::new(Date32Array::try_new(days.into(), nulls)?)))
    }

    /// An integer time column: counts unchanged, or times as text.
    pub(super) fn counted<T: ArrowPrimitiveType>(
        &self,
        position: usize,
        parsing: TimeParsing,
    ) -> Result<ColumnValues, ArrowError>
    where
        T::Native: TryFrom<i64>,
    {
        let unit = parsing.epoch.or(Some(self.column.count_unit));
        let parsing = TimeParsing { epoch: unit, are_digits: false, ..parsing };
        let (mut gathered, _) = self.times(position, parsing, self.column.count_unit);
        let mut values = Vec::with_capacity(gathered.values.len());
        for (row, count) in gathered.values.iter().enumerate() {
            values.push(T::Native::try_from(*count).unwrap_or_else(|_| {
                let field = self.read.records.column(position).nth(row).unwrap_or(Field::ABSENT);
                gathered.wrong.push(InvalidValue { row, field, reason: "is out of the column's range".to_owned() });
                T::Native::default()
            }));
        }
        gathered.into_column(|_, nulls| Ok(Arc::new(PrimitiveArray::<T>::try_new(values.into(), nulls)?)))
    }

    fn times(&self, position: usize, parsing: TimeParsing, unit: TimeUnit) -> (Values<i64>, Inexact) {
        let mut memory = DateMemory::default();
        let mut twice = Inexact::default();
        let is_strict = self.column.is_inferred && !self.column.is_time;
        let values = self.gather(position, |bytes| {
            if (parsing.zone.is_none() || bytes.ends_with(b"Z"))
                && let Some((seconds, nanoseconds)) = usual_form(bytes, &mut memory)
                && let Some(count) = count(seconds, nanoseconds, unit)
            {
                return Ok(count);
            }
            let (count, is_first_of_two) = time_of(bytes, parsing, unit, is_strict)?;
            twice.add_if(is_first_of_two, bytes);
            Ok(count)
        });
        (values, twice)
    }

    /// Times of a field of dates and one of times of day.
    pub(crate) fn date_clocks(
        &self,
        date: usize,
        clock: usize,
        parsing: TimeParsing,
    ) -> Result<ColumnValues, ArrowError> {
        let ColumnType::Timestamp(unit) = self.column.column.column_type else {
            return Err(ArrowError::SchemaError("a date and a time of day make a timestamp".to_owned()));
        };
        let text = self.read.text.as_bytes();
        let mut clocks = self.read.records.column(clock);
        let mut joined = Vec::new();
        let mut twice = Inexact::default();
        let gathered = self.gather_with(date, &mut |bytes| {
            joined.clear();
            // Eight digits are a day, which is written with hyphens before a time of day.
            match bytes.split_at_checked(4).filter(|_| parsing.are_digits && bytes.len() == 8) {
                Some((year, day)) => {
                    let parts = [year, &b"-"[..], &day[..2], &b"-"[..], &day[2..]];
                    parts.iter().for_each(|part| joined.extend_from_slice(part));
                }
                None => joined.extend_from_slice(bytes),
            }
            if let Some(clock) = clocks.next().and_then(|field| self.nulls.value(field, text)) {
                joined.push(b' ');
                joined.extend_from_slice(clock);
            }
            let (count, is_first_of_two) = time_of(&joined, parsing, unit, false)?;
            twice.add_if(is_first_of_two, &joined);
            Ok(count)
        });
        timestamp_column(gathered, twice, unit)
    }

    /// Like [`gather`](Self::gather), but also calls `parse` for NULLs, for values that depend on other columns.
    fn gather_with(&self, position: usize, parse: &mut dyn FnMut(&[u8]) -> Result<i64, String>) -> Values<i64> {
        let text = self.read.text.as_bytes();
        let mut gathered = Values::with_capacity(0);
        for (row, field) in self.read.records.column(position).enumerate() {
            let bytes = self.nulls.value(field, text);
            let parsed = parse(bytes.unwrap_or(b""));
            match (bytes, parsed) {
                (None, _) => self.null(&mut gathered, row, field),
                (Some(_), Ok(value)) => gathered.values.push(value),
                (Some(_), Err(reason)) => {
                    gathered.values.push(0);
                    gathered.wrong.push(InvalidValue { row, field, reason });
                }
            }
            if bytes.is_some()
                && let Some(valid) = &mut gathered.valid
            {
                valid.push(true);
            }
        }
        gathered
    }

    /// Times of fields of year, month, day and so on.
    pub(crate) fn parts(&self, fields: &[usize], zone: Option<Zone>) -> Result<ColumnValues, ArrowError> {
        let ColumnType::Timestamp(unit) = self.column.column.column_type else {
            return Err(ArrowError::SchemaError("year, month, day make a timestamp".to_owned()));
        };
        let text = self.read.text.as_bytes();
        let mut gathered = Values::with_capacity(self.read.records.count());
        let mut twice = Inexact::default();
        for row in 0..self.read.records.count() {
            let first = row * self.read.records.width;
            let mut numbers = [0, 1, 1, 0, 0, 0];
            let mut record_error = None;
            for (part, position) in fields.iter().enumerate() {
                let field = self.read.records.fields[first + position];
                let value = self.nulls.value(field, text);
                match value.and_then(any_i64) {
                    Some(number) => numbers[part] = number,
                    None => {
                        let reason = match value {
                            Some(_) => format!("is not a valid {}", PARTS[part]),
                            None => format!("the {} of a time cannot be NULL", PARTS[part]),
                        };
                        record_error = record_error.or(Some((field, reason)));
                    }
                }
            }
            let written = self.read.records.fields[first + fields[0]];
            let count = time_of_parts(numbers, zone, unit).ok_or_else(|| {
                let parts: Vec<String> = numbers[..fields.len()].iter().map(i64::to_string).collect();
                (written, format!("there is no time of {} {}", PARTS[..fields.len()].join(","), parts.join(",")))
            });
            match (record_error, count) {
                (None, Ok((count, is_first_of_two))) => {
                    twice.add_if(is_first_of_two, written.bytes(text));
                    gathered.values.push(count);
                }
                (Some((field, reason)), _) | (None, Err((field, reason))) => {
                    gathered.values.push(0);
                    gathered.wrong.push(InvalidValue { row, field, reason });
                }
            }
        }
        timestamp_column(gathered, twice, unit)
    }
}

/// A time, and whether clocks showed it twice.
pub(super) fn time_of(
    bytes: &[u8],
    parsing: TimeParsing,
    unit: TimeUnit,
    is_strict: bool,
) -> Result<(i64, bool), String> {
    let beyond = || format!("is finer than, or beyond, what a time in {unit} holds");
    if parsing.are_digits
        && !is_strict
        && let Some(seconds) = digit_time(bytes)
    {
        let instant = match parsing.zone {
            Some(zone) => zone.instant(seconds).ok_or_else(never_shown)?,
            None => Instant { seconds, is_first_of_two: false },
        };
        return count(instant.seconds, 0, unit).map(|count| (count, instant.is_first_of_two)).ok_or_else(beyond);
    }
    if let Some(time) = parse(bytes, parsing.dates) {
        let instant = time.instant(parsing.zone).ok_or_else(never_shown)?;
        let count = count(instant.seconds, time.nanoseconds, unit).ok_or_else(beyond)?;
        return Ok((count, instant.is_first_of_two));
    }
    if let Some(epoch_unit) = parsing.epoch.filter(|_| !is_strict && !parsing.are_digits)
        && let Some((seconds, nanoseconds, _)) = epoch(bytes, epoch_unit)
    {
        return count(seconds, nanoseconds, unit).map(|count| (count, false)).ok_or_else(beyond);
    }
    Err(match parsing.dates.order {
        Some(DateOrder::DayFirst) => "is not a time (days are read before months)".to_owned(),
        Some(DateOrder::MonthFirst) => "is not a time (months are read before days)".to_owned(),
        None => "is not a time".to_owned(),
    })
}

fn never_shown() -> String {
    "does not exist in the time zone: clocks were set forward".to_owned()
}

/// The time of year, month, day, hour, minute and second, and whether clocks showed it twice.
fn time_of_parts(numbers: [i64; 6], zone: Option<Zone>, unit: TimeUnit) -> Option<(i64, bool)> {
    let [year, month, day, hour, minute, second] = numbers;
    let (month, day) = (u32::try_from(month).ok()?, u32::try_from(day).ok()?);
    let is_date = year.abs() < 300_000 && (1..=12).contains(&month) && day >= 1 && day <= days_in_month(year, month);
    let is_clock = (0..=24).contains(&hour) && (0..=59).contains(&minute) && (0..=60).contains(&second);
    let is_after_day = hour == 24 && (minute, second) != (0, 0);
    if !is_date || !is_clock || is_after_day {
        return None;
    }
    let seconds = days_from_civil(year, month, day) * DAY_SECONDS + hour * 3_600 + minute * 60 + second;
    let instant = match zone {
        Some(zone) => zone.instant(seconds)?,
        None => Instant { seconds, is_first_of_two: false },
    };
    count(instant.seconds, 0, unit).map(|count| (count, instant.is_first_of_two))
}

fn timestamp_column(counts: Values<i64>, twice: Inexact, unit: TimeUnit) -> Result<ColumnValues, ArrowError> {
    let column = counts.into_column(|counts, nulls| timestamp_array(counts, nulls, unit))?;
    Ok(ColumnValues { inexact: twice, ..column })
}

fn timestamp_array(counts: Vec<i64>, nulls: Option<NullBuffer>, unit: TimeUnit) -> Result<ArrayRef, ArrowError> {
    let counts = counts.into();
    Ok(match unit {
        TimeUnit::Second => Arc::new(TimestampSecondArray::try_new(counts, nulls)?.with_timezone("UTC")),
        TimeUnit::Millisecond => Arc::new(TimestampMillisecondArray::try_new(counts, nulls)?.with_timezone("UTC")),
        TimeUnit::Microsecond => Arc::new(TimestampMicrosecondArray::try_new(counts, nulls)?.with_timezone("UTC")),
        TimeUnit::Nanosecond => Arc::new(TimestampNanosecondArray::try_new(counts, nulls)?.with_timezone("UTC")),
    })
}
