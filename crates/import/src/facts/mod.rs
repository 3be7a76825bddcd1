//! Facts about the values of one column of one file. They are collected value by value and can be merged in any order,
//! so that conclusions from them depend on the data alone.
//!
//! Owned here: the facts, which fields are NULL ([`nulls`]), and counting distinct texts ([`distinct`]). Not owned: the
//! conclusions (`infer`).

pub(crate) mod distinct;
pub(crate) mod nulls;

use crate::facts::distinct::{Distinct, hash};
use crate::facts::nulls::{NullCounts, NullTexts};
use crate::records::Field;
use crate::values::clocks::is_clock;
use crate::values::comma_numbers::{CommaNumber, comma_number, has_thousands};
use crate::values::digit_times::digit_time;
use crate::values::number_signs::sign_of;
use crate::values::numbers::{NumberText, boolean, is_odd_float, number, significant_digits};
use crate::values::times::{may_be_two_years, parse};
use crate::values::usual_times::{DateMemory, usual_form};
use atsdb_core::TimeUnit;
use atsdb_core::time_text::{DateReading, OrderSeen};

/// A kind of value, as one bit of [`Facts::kinds`].
pub(crate) mod kind {
    /// Whole numbers of 64 bits that a double holds exactly.
    pub(crate) const INT: u16 = 1;
    /// Whole numbers of 64 bits that a double does not hold.
    pub(crate) const LONG_INT: u16 = 1 << 1;
    /// Whole numbers that only 64 bits without a sign hold.
    pub(crate) const UINT: u16 = 1 << 2;
    /// Whole numbers beyond 64 bits.
    pub(crate) const HUGE: u16 = 1 << 3;
    /// Other numbers.
    pub(crate) const FLOAT: u16 = 1 << 4;
    /// true and false.
    pub(crate) const BOOL: u16 = 1 << 5;
    /// Dates without a time of day.
    pub(crate) const DATE: u16 = 1 << 6;
    /// Dates with a time of day.
    pub(crate) const STAMP: u16 = 1 << 7;
    /// Any other text.
    pub(crate) const TEXT: u16 = 1 << 8;
    /// Numbers with a decimal comma.
    pub(crate) const COMMA: u16 = 1 << 9;
    /// Numbers with a comma that is the decimal one, or one between thousands.
    pub(crate) const COMMA_EITHER: u16 = 1 << 10;
    /// Whole numbers with commas that stand between thousands for sure: `1,234,567`.
    pub(crate) const THOUSANDS: u16 = 1 << 11;
    /// The same with a decimal point: `1,234.5`.
    pub(crate) const THOUSANDS_POINT: u16 = 1 << 12;
    /// Whole numbers whose commas stand between thousands, or between the items of a list: `101,202,303`.
    pub(crate) const COMMA_LIST: u16 = 1 << 13;
    /// All numbers with commas.
    pub(crate) const COMMAS: u16 = COMMA | COMMA_EITHER | COMMA_LIST | THOUSANDS | THOUSANDS_POINT;
    /// All whole numbers.
    pub(crate) const INTS: u16 = INT | LONG_INT | UINT | HUGE;
    /// All numbers.
    pub(crate) const NUMBERS: u16 = INTS | FLOAT;
    /// All times.
    pub(crate) const TIMES: u16 = DATE | STAMP;
}

/// The orders of day and month that were seen, as bits of [`Facts::orders`].
pub(crate) mod orders {
    /// A first number above 12.
    pub(crate) const DAY_FIRST: u8 = 1;
    /// A second number above 12.
    pub(crate) const MONTH_FIRST: u8 = 2;
    /// Neither.
    pub(crate) const EITHER: u8 = 4;
}

/// A value and the line it is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SampleValue {
    /// The number of the line, from 1.
    pub(crate) line: u64,
    /// The value as it is written in the file.
    pub(crate) value: String,
}

/// Facts about the values of a column.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    /// Values that are not NULL.
    pub(crate) value_count: u64,
    /// The number of these values that are numbers.
    pub(crate) number_count: u64,
    /// The number of these values that are numbers with a percent sign, the sign of a currency or a unit, and so texts.
    pub(crate) signed_count: u64,
    /// The number of these values that are times.
    pub(crate) time_count: u64,
    /// The number of these values that are times with a zone.
    pub(crate) zoned_count: u64,
    /// Times of day without a date.
    pub(crate) clock_count: u64,
    /// Two digits, the first of them a zero, as months and hours may be written: `03`. They are texts.
    pub(crate) padded_count: u64,
    /// Whether years were written with two digits.
    pub(crate) has_short_years: bool,
    /// Whether months, quarters or weeks stand for dates.
    pub(crate) has_periods: bool,
    /// Whether a date is not only a month that may be two years as well.
    pub(crate) has_sure_dates: bool,
    /// Whether the values are fields of text, in which a number may be a date.
    pub(crate) is_of_text: bool,
    /// Whether a field was written, also if it means NULL. In JSON, `null` is not.
    pub(crate) is_written: bool,
    /// NULLs.
    pub(crate) null_count: u64,
    /// The texts that made them, without quoted ones.
    pub(crate) nulls: NullCounts,
    /// Bits of [`kind`].
    pub(crate) kinds: u16,
    /// Bits of [`orders`].
    pub(crate) orders: u8,
    /// The least and the greatest whole part of a number that 64 bits with a sign hold.
    pub(crate) int_bounds: Option<(i64, i64)>,
    /// The first and the last second of a time.
    pub(crate) second_bounds: Option<(i64, i64)>,
    /// The maximum number of digits of a fraction of a second.
    pub(crate) second_digits: u8,
    /// The maximum number of digits after the decimal point; 255 if a number is written in another form.
    pub(crate) number_digits: u8,
    /// The first number with a point.
    pub(crate) first_point: Option<String>,
    /// Whether a number has a point that is a decimal one for sure: it cannot stand between thousands, as in `1.234`.
    pub(crate) has_decimal_point: bool,
    /// The first number with commas that stand between thousands for sure.
    pub(crate) first_thousands: Option<String>,
    /// The first value that is neither number, nor time, nor boolean.
    pub(crate) first_text: Option<SampleValue>,
    /// Distinct values, counted from the block on in which the first text came.
    pub(crate) distinct: Distinct,
}

impl Facts {
    /// The facts of an empty column.
    pub(crate) fn new() -> Self {
        Self {
            value_count: 0,
            number_count: 0,
            signed_count: 0,
            time_count: 0,
            zoned_count: 0,
            clock_count: 0,
            padded_count: 0,
            has_short_years: false,
            has_periods: false,
            has_sure_dates: false,
            is_of_text: false,
            is_written: false,
            null_count: 0,
            nulls: NullCounts::default(),
            kinds: 0,
            orders: 0,
            int_bounds: None,
            second_bounds: None,
            second_digits: 0,
            number_digits: 0,
            first_point: None,
            has_decimal_point: false,
            first_thousands: None,
            first_text: None,
            distinct: Distinct::default(),
        }
    }

    /// Adds the values of one column of a block. `line_of` returns the line of a byte of the text.
    pub(crate) fn observe(
        &mut self,
        text: &[u8],
        column: impl Iterator<Item = Field> + Clone,
        nulls: &NullTexts,
        reading: DateReading,
        line_of: &dyn Fn(usize) -> u64,
    ) {
        let mut memory = DateMemory::default();
        self.is_of_text = true;
        for field in column.clone() {
            self.is_written |= field != Field::ABSENT;
            let Some(bytes) = nulls.value(field, text) else {
                self.null_count += 1;
                if let Some(null) = nulls.null_text(field, text) {
                    self.nulls.add(null);
                }
                continue;
            };
            self.value_count += 1;
            let is_text = self.observe_value(bytes, field.is_json_string(), reading, &mut memory);
            if is_text && self.first_text.is_none() {
                let value = String::from_utf8_lossy(bytes).into_owned();
                self.first_text = Some(SampleValue { line: line_of(field.start()), value });
            }
        }
        if self.kinds & kind::TEXT != 0 {
            for field in column {
                if !nulls.is_null_text(field, text) {
                    self.distinct.add(hash(field.bytes(text)));
                }
            }
        }
    }

    /// Adds an integer that was not text.
    pub(crate) fn observe_int(&mut self, value: i64) {
        self.int_bounds = widened(self.int_bounds, Some((value, value)));
    }

    /// Adds a string, which is a time or text.
    pub(crate) fn observe_string(&mut self, bytes: &[u8]) {
        self.observe_value(bytes, true, DateReading::default(), &mut DateMemory::default());
    }

    /// Adds a value. Returns whether it is nothing but text.
    fn observe_value(
        &mut self,
        bytes: &[u8],
        is_json_string: bool,
        reading: DateReading,
        memory: &mut DateMemory,
    ) -> bool {
        if let Some((seconds, nanoseconds)) = usual_form(bytes, memory) {
            self.time(seconds, nanosecond_digits(nanoseconds), bytes.ends_with(b"Z"), kind::STAMP);
            return false;
        }
        let number = if is_json_string && !is_odd_float(bytes) { None } else { number(bytes) };
        if let Some(number) = number {
            self.number(number, bytes);
            return false;
        }
        if !is_json_string && boolean(bytes).is_some() {
            self.kinds |= kind::BOOL;
            return false;
        }
        if let Some(time) = parse(bytes, reading) {
            self.orders |= match time.order {
                _ if reading.order.is_some() => 0,
                OrderSeen::Fixed => 0,
                OrderSeen::DayFirst => orders::DAY_FIRST,
                OrderSeen::MonthFirst => orders::MONTH_FIRST,
                OrderSeen::Either => orders::EITHER,
            };
            self.has_short_years |= time.is_short_year;
            self.has_periods |= time.is_period;
            self.has_sure_dates |= !(time.is_period && may_be_two_years(bytes));
            let kind = if time.is_date { kind::DATE } else { kind::STAMP };
            self.time(time.seconds, time.fraction_digits, time.is_zoned, kind);
            return false;
        }
        if let Some(comma) = comma_number(bytes).filter(|_| !is_json_string) {
            self.kinds |= match comma {
                CommaNumber::Decimal => kind::COMMA,
                CommaNumber::Either => kind::COMMA_EITHER,
                CommaNumber::Thousands => kind::THOUSANDS,
                CommaNumber::ThousandsPoint => kind::THOUSANDS_POINT,
                CommaNumber::ThousandsOrList => kind::COMMA_LIST,
            };
            let is_apart = matches!(comma, CommaNumber::Thousands | CommaNumber::ThousandsPoint);
            if is_apart && self.first_thousands.is_none() {
                self.first_thousands = Some(String::from_utf8_lossy(bytes).into_owned());
            }
            self.number_count += 1;
            return false;
        }
        self.clock_count += u64::from(is_clock(bytes));
        self.padded_count += u64::from(!is_json_string && matches!(bytes, [b'0', b'0'..=b'9']));
        self.signed_count += u64::from(sign_of(bytes).is_some());
        self.kinds |= kind::TEXT;
        true
    }

    fn number(&mut self, number: NumberText, bytes: &[u8]) {
        self.number_count += 1;
        let (kind, whole) = match number {
            NumberText::Int(value) if value.unsigned_abs() <= 1 << 53 => (kind::INT, Some(value)),
            NumberText::Int(value) => (kind::LONG_INT, Some(value)),
            NumberText::UInt(_) => (kind::UINT, None),
            NumberText::Huge => (kind::HUGE, None),
            NumberText::Float(value) => (kind::FLOAT, (value.abs() < 9e18).then_some(value.floor() as i64)),
        };
        self.kinds |= kind;
        self.int_bounds = widened(self.int_bounds, whole.map(|value| (value, value)));
        if kind == kind::FLOAT {
            let point = memchr::memchr(b'.', bytes);
            let plain = point.filter(|_| bytes.iter().all(|byte| b"+-.0123456789".contains(byte)));
            let digits = plain.map_or(255, |point| significant_digits(&bytes[point + 1..]).min(255) as u8);
            self.number_digits = self.number_digits.max(digits);
            if point.is_some() && self.first_point.is_none() {
                self.first_point = Some(String::from_utf8_lossy(bytes.trim_ascii()).into_owned());
            }
            self.has_decimal_point = self.has_decimal_point || (point.is_some() && !has_thousands(bytes));
        }
    }

    fn time(&mut self, seconds: i64, digits: u8, is_zoned: bool, kind: u16) {
        self.kinds |= kind;
        self.time_count += 1;
        self.zoned_count += u64::from(is_zoned);
        self.second_digits = self.second_digits.max(digits);
        self.second_bounds = widened(self.second_bounds, Some((seconds, seconds)));
    }

    /// Adds the facts of later values.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.value_count += other.value_count;
        self.number_count += other.number_count;
        self.signed_count += other.signed_count;
        self.time_count += other.time_count;
        self.zoned_count += other.zoned_count;
        self.clock_count += other.clock_count;
        self.padded_count += other.padded_count;
        self.has_short_years |= other.has_short_years;
        self.has_periods |= other.has_periods;
        self.has_sure_dates |= other.has_sure_dates;
        self.is_of_text |= other.is_of_text;
        self.is_written |= other.is_written;
        self.null_count += other.null_count;
        self.nulls.add_all(&other.nulls);
        self.kinds |= other.kinds;
        self.orders |= other.orders;
        self.int_bounds = widened(self.int_bounds, other.int_bounds);
        self.second_bounds = widened(self.second_bounds, other.second_bounds);
        self.second_digits = self.second_digits.max(other.second_digits);
        self.number_digits = self.number_digits.max(other.number_digits);
        if self.first_point.is_none() {
            self.first_point.clone_from(&other.first_point);
        }
        self.has_decimal_point |= other.has_decimal_point;
        if self.first_thousands.is_none() {
            self.first_thousands.clone_from(&other.first_thousands);
        }
        if self.first_text.is_none() {
            self.first_text.clone_from(&other.first_text);
        }
        self.distinct.add_all(&other.distinct);
    }

    /// Returns whether all values are whole numbers that may count a unit since the epoch.
    pub(crate) fn is_epoch_like(&self) -> bool {
        self.kinds & kind::NUMBERS != 0 && self.kinds & !(kind::INT | kind::LONG_INT | kind::FLOAT | kind::TIMES) == 0
    }

    /// The first and the last second of fields of text, if the least and the greatest number are dates and times that
    /// are written as equally many digits, and there are only whole numbers and times.
    pub(crate) fn digit_bounds(&self) -> Option<(i64, i64)> {
        let is_fit = self.is_of_text && self.kinds & !(kind::INT | kind::TIMES) == 0;
        let bounds = self.int_bounds.filter(|_| is_fit)?;
        let (min, max) = (bounds.0.to_string(), bounds.1.to_string());
        let seconds = digit_time(min.as_bytes()).zip(digit_time(max.as_bytes()));
        seconds.filter(|_| min.len() == max.len())
    }

    /// Returns whether the values are days that are written as eight digits.
    pub(crate) fn are_digit_days(&self) -> bool {
        self.kinds == kind::INT
            && self.digit_bounds().is_some()
            && self.int_bounds.is_some_and(|(_, max)| max < 100_000_000)
    }

    /// The unit in which all numbers are times from 1980 to 2100; the ranges of the units do not overlap.
    pub(crate) fn epoch_unit(&self) -> Option<TimeUnit> {
        let (min, max) = self.int_bounds?;
        TimeUnit::ALL.iter().copied().find(|unit| {
            let year = |seconds: i64| seconds.checked_mul(unit.per_second()).unwrap_or(i64::MAX);
            year(315_532_800) <= min && max < year(4_102_444_800)
        })
    }
}

/// The number of fractional digits, of nine, that are needed.
fn nanosecond_digits(nanoseconds: u32) -> u8 {
    let (mut rest, mut digits) = (nanoseconds, 9);
    if rest == 0 {
        return 0;
    }
    while rest.is_multiple_of(10) {
        (rest, digits) = (rest / 10, digits - 1);
    }
    digits
}

/// The bounds of all values of two sets.
pub(crate) fn widened(a: Option<(i64, i64)>, b: Option<(i64, i64)>) -> Option<(i64, i64)> {
    match (a, b) {
        (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
        (a, b) => a.or(b),
    }
}
