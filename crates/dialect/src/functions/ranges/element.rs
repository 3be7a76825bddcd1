//! The values within ranges: integers, decimals, dates and times, all in one form in which they are compared.

use crate::functions::base::arguments::{per_second, strictly, values_of_texts};
use crate::functions::base::text_types::RangeType;
use crate::text::datafusion_errors::external;
use crate::text::decimals;
use crate::text::errors::not_supported;
use crate::text::time_text::{parse_date, parse_time};
use atsdb_core::column_type::DECIMAL_DIGITS_MAX;
use atsdb_core::decimal::{self, fits};
use atsdb_core::time::DAY_MICROSECONDS;
use atsdb_core::{Error, TimeUnit, calendar_text};
use datafusion::arrow::array::{
    ArrayRef, AsArray, Date32Array, Decimal128Array, Int32Array, Int64Array, TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Int64Type, TimeUnit as ArrowUnit};
use datafusion::common::{DataFusionError, Result};
use std::cmp::Ordering;
use std::sync::Arc;

/// Fractions count units of 10 to the power of minus this.
const FRACTION_DIGITS: u8 = DECIMAL_DIGITS_MAX;

/// A value within a range: a number, days since the epoch, or microseconds since the epoch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Element {
    /// The value, rounded down.
    whole: i128,
    /// The rest above `whole`.
    fraction: u128,
    /// The number of digits after the point with which a decimal is written.
    places: u8,
}

impl PartialEq for Element {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Element {}

impl PartialOrd for Element {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Element {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.whole, self.fraction).cmp(&(other.whole, other.fraction))
    }
}

impl Element {
    pub(crate) const ZERO: Self = Self::of_whole(0);

    const fn of_whole(whole: i128) -> Self {
        Self { whole, fraction: 0, places: 0 }
    }

    /// A decimal: the count of the last digit after the point, and the number of digits after the point.
    fn of_decimal(value: i128, places: u8) -> Self {
        let unit = 10_i128.pow(places.into());
        let fraction = value.rem_euclid(unit).unsigned_abs() * 10_u128.pow((FRACTION_DIGITS - places).into());
        Self { whole: value.div_euclid(unit), fraction, places }
    }

    /// A time that is counted in a unit.
    fn of_time(count: i64, unit: ArrowUnit) -> Self {
        let nanoseconds = i128::from(count) * i128::from(1_000_000_000 / per_second(unit));
        let rest = nanoseconds.rem_euclid(1_000).unsigned_abs();
        let fraction = rest * 10_u128.pow(u32::from(FRACTION_DIGITS) - 3);
        Self { whole: nanoseconds.div_euclid(1_000), fraction, places: 0 }
    }

    /// The value as a count of its last digit, with this number of digits after the point; `None` if it has more.
    pub(super) fn digits(self, places: u8) -> Option<i128> {
        let last = 10_u128.pow(FRACTION_DIGITS.checked_sub(places)?.into());
        let fraction = self.fraction.is_multiple_of(last).then(|| (self.fraction / last).cast_signed())?;
        self.whole.checked_mul(10_i128.pow(places.into()))?.checked_add(fraction)
    }

    /// The value as a count of whole units; `None` if it has a fraction.
    pub(super) fn count(self) -> Option<i128> {
        (self.fraction == 0).then_some(self.whole)
    }

    /// The value as a bound of a range, which has only the digits of the range's type.
    pub(super) fn to_bound(self, of: RangeType) -> Result<Self, Error> {
        let half = 5 * 10_u128.pow(u32::from(FRACTION_DIGITS) - 1);
        let whole = self.whole + i128::from(self.fraction >= half);
        let fits = match of {
            RangeType::Num => return Ok(self),
            RangeType::Date | RangeType::Int4 => i32::try_from(whole).is_ok(),
            RangeType::Int8 | RangeType::Ts | RangeType::Tstz => i64::try_from(whole).is_ok(),
        };
        match fits {
            true => Ok(Self::of_whole(whole)),
            false => Err(Error::invalid(format!("{} out of range", of.element_name()))),
        }
    }

    /// The next value of a discrete type.
    pub(super) fn next(self, of: RangeType) -> Result<Self, Error> {
        Self::of_whole(self.whole + 1).to_bound(of)
    }

    /// Bytes in the order of values.
    pub(super) fn push_key(self, key: &mut Vec<u8>) {
        key.extend(decimal::to_bytes(self.whole));
        key.extend(self.fraction.to_be_bytes());
    }

    /// Reads a value of the type of a range's values.
    pub(super) fn read(text: &str, of: RangeType) -> Result<Self, Error> {
        let trimmed = text.trim();
        let is_time = matches!(of, RangeType::Date | RangeType::Ts | RangeType::Tstz);
        if is_time && trimmed.trim_start_matches('-').eq_ignore_ascii_case("infinity") {
            return Err(not_supported(format_args!("the time '{trimmed}'"))
                .with_hint("leave the bound out: '[2024-01-01,)', or tstzrange('2024-01-01', NULL)"));
        }
        let found = match of {
            RangeType::Int4 | RangeType::Int8 => trimmed.parse::<i128>().ok().map(Self::of_whole),
            RangeType::Num => {
                decimals::read(trimmed).map(|(value, places)| Self::of_decimal(value, places.unsigned_abs()))
            }
            RangeType::Date => parse_date(trimmed).map(|days| Self::of_whole(days.into())),
            RangeType::Ts | RangeType::Tstz => {
                parse_time(trimmed, TimeUnit::Microsecond).map(|time| Self::of_whole(time.into()))
            }
        };
        match found {
            Some(element) => element.to_bound(of),
            None => Err(Error::invalid(format!("invalid input syntax for type {}: \"{text:.60}\"", of.element_name()))),
        }
    }

    /// The text that PostgreSQL has for a bound of a range.
    pub(super) fn written(self, of: RangeType) -> String {
        // Bounds count days in 32 bits, or microseconds in 64.
        let count = i64::try_from(self.whole).unwrap_or_default();
        match of {
            RangeType::Int4 | RangeType::Int8 => self.whole.to_string(),
            RangeType::Num => decimal::format(self.digits(self.places).unwrap_or_default(), self.places),
            RangeType::Date => calendar_text::date(count),
            RangeType::Ts => calendar_text::timestamp(count, false),
            RangeType::Tstz => calendar_text::timestamp(count, true),
        }
    }
}

/// The type of the bounds of ranges as values. `places` is the number of digits after the point of decimals.
pub(crate) fn element_type(of: RangeType, places: i8) -> DataType {
    match of {
        RangeType::Date => DataType::Date32,
        RangeType::Int4 => DataType::Int32,
        RangeType::Int8 => DataType::Int64,
        RangeType::Num => DataType::Decimal128(DECIMAL_DIGITS_MAX, places),
        RangeType::Ts => DataType::Timestamp(ArrowUnit::Microsecond, None),
        RangeType::Tstz => DataType::Timestamp(ArrowUnit::Microsecond, Some("UTC".into())),
    }
}

/// Returns whether values of a type are values within ranges, without a cast.
pub(crate) fn is_element_type(of: RangeType, data_type: &DataType) -> bool {
    match of {
        RangeType::Date => matches!(data_type, DataType::Date32),
        RangeType::Int4 | RangeType::Int8 => data_type.is_integer(),
        RangeType::Num => data_type.is_integer() || matches!(data_type, DataType::Decimal128(_, 0..)),
        RangeType::Ts | RangeType::Tstz => matches!(data_type, DataType::Timestamp(..)),
    }
}

/// Returns whether values of a type are bounds of ranges, without a cast. A date is the time at which it begins.
pub(super) fn is_bound_type(of: RangeType, data_type: &DataType) -> bool {
    is_element_type(of, data_type) || (is_of_times(of) && *data_type == DataType::Date32)
}

fn is_of_times(of: RangeType) -> bool {
    matches!(of, RangeType::Ts | RangeType::Tstz)
}

/// The values of an array of [such a type](is_bound_type), or of texts, which are read.
pub(super) fn elements_of(values: &ArrayRef, of: RangeType) -> Result<Vec<Option<Element>>> {
    let counts = || -> Result<Vec<Option<i64>>> {
        Ok(strictly(values, &DataType::Int64)?.as_primitive::<Int64Type>().iter().collect())
    };
    Ok(match values.data_type() {
        DataType::Decimal128(_, scale) => {
            let places = scale.unsigned_abs();
            let decimals = values.as_primitive::<Decimal128Type>().iter();
            decimals.map(|value| value.map(|value| Element::of_decimal(value, places))).collect()
        }
        DataType::Timestamp(unit, _) => {
            counts()?.into_iter().map(|count| count.map(|count| Element::of_time(count, *unit))).collect()
        }
        DataType::Date32 if is_of_times(of) => {
            let midnight = |days: i64| Element::of_whole(i128::from(days) * i128::from(DAY_MICROSECONDS));
            counts()?.into_iter().map(|days| days.map(midnight)).collect()
        }
        data_type if data_type.is_integer() || *data_type == DataType::Date32 => {
            counts()?.into_iter().map(|count| count.map(|count| Element::of_whole(count.into()))).collect()
        }
        _ => values_of_texts(values, |text| Element::read(text, of))?,
    })
}

/// Bounds of ranges as an array of [their type](element_type).
pub(super) fn array_of(bounds: Vec<Option<Element>>, of: RangeType, places: i8) -> Result<ArrayRef> {
    let narrow = |bound: &Option<Element>| bound.and_then(|bound| i32::try_from(bound.whole).ok());
    let wide = |bound: &Option<Element>| bound.and_then(|bound| i64::try_from(bound.whole).ok());
    Ok(match of {
        RangeType::Date => Arc::new(bounds.iter().map(narrow).collect::<Date32Array>()),
        RangeType::Int4 => Arc::new(bounds.iter().map(narrow).collect::<Int32Array>()),
        RangeType::Int8 => Arc::new(bounds.iter().map(wide).collect::<Int64Array>()),
        RangeType::Num => {
            let digits = |bound: Element| {
                let digits = bound.digits(places.unsigned_abs()).filter(|digits| fits(*digits, DECIMAL_DIGITS_MAX));
                digits.ok_or_else(|| too_long(bound, places))
            };
            let numbers = bounds.into_iter().map(|bound| bound.map(digits).transpose());
            let numbers = numbers.collect::<Result<Decimal128Array>>()?;
            Arc::new(numbers.with_precision_and_scale(DECIMAL_DIGITS_MAX, places)?)
        }
        RangeType::Ts => Arc::new(bounds.iter().map(wide).collect::<TimestampMicrosecondArray>()),
        RangeType::Tstz => {
            Arc::new(bounds.iter().map(wide).collect::<TimestampMicrosecondArray>().with_timezone("UTC"))
        }
    })
}

fn too_long(bound: Element, places: i8) -> DataFusionError {
    let error = Error::invalid(format!("{} does not fit DECIMAL(38, {places})", bound.written(RangeType::Num)));
    external(error.with_hint("make the range of decimals with as many digits: numrange(CAST(x AS DECIMAL(38, 20)), y)"))
}
