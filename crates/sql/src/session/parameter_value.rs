//! Values of parameters, and their conversion to the types that a statement was prepared with.

use crate::ddl::from_query::type_name_of;
use arrow::array::Array;
use arrow::compute::CastOptions;
use arrow::datatypes::{DataType, Field, IntervalMonthDayNano, IntervalUnit};
use atsdb_codec::time_unit_of;
use atsdb_core::interval::parse_interval;
use atsdb_core::{Error, Result, TimeUnit, array_text};
use atsdb_dialect::functions::base::arguments::is_text;
use atsdb_dialect::functions::times::types::timestamp;
use atsdb_dialect::text::bytes_text::bytes_of;
use atsdb_dialect::text::decimals;
use atsdb_dialect::text::errors::sql_error;
use atsdb_dialect::text::literal::Literal;
use atsdb_dialect::text::literal_columns::boolean;
use atsdb_dialect::text::literal_numbers::{float32, float64};
use atsdb_dialect::text::time_text::{RoundedFraction, parse_date, parse_time, read_time};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::type_coercion::binary::type_union_resolution;
use std::sync::Arc;

/// The value of a parameter, with its type.
///
/// ```
/// use atsdb_sql::ParameterValue;
///
/// let values = [ParameterValue::from(7_i32), "42".into(), 0.5.into(), ParameterValue::null()];
/// assert_eq!(values[1].data_type(), arrow::datatypes::DataType::Utf8); // a text that looks like a number is text
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ParameterValue(ScalarValue);

impl ParameterValue {
    /// NULL, with the type of the parameter.
    pub fn null() -> Self {
        Self(ScalarValue::Null)
    }

    /// One value of an array, with the array's type.
    pub fn from_array(array: &dyn Array, row: usize) -> Result<Self> {
        if row >= array.len() {
            return Err(Error::usage(format!("row {row} of an array of {} rows", array.len())));
        }
        let value = ScalarValue::try_from_array(array, row);
        value.map(Self).map_err(|error| Error::usage(format!("no value of a parameter: {error}")))
    }

    /// An array of values, which have one type in common besides NULL.
    pub fn array(elements: Vec<Self>) -> Result<Self> {
        let types: Vec<DataType> = elements.iter().map(Self::data_type).collect();
        let element = match types.iter().all(DataType::is_null) {
            true => Some(DataType::Null),
            false => type_union_resolution(&types).filter(|element| !element.is_nested()),
        };
        let error = || sql_error("the elements of an array have one type, which is not an array");
        let element = element.ok_or_else(error)?;
        let values = elements.iter().map(|value| value.0.cast_to_with_options(&element, &STRICT).map_err(|_| error()));
        let values = values.collect::<Result<Vec<_>>>()?;
        Ok(Self(ScalarValue::List(ScalarValue::new_list(&values, &element, true))))
    }

    /// The value's type.
    pub fn data_type(&self) -> DataType {
        self.0.data_type()
    }
}

macro_rules! from_value {
    ($($value:ty => $variant:ident),*) => {
        $(impl From<$value> for ParameterValue {
            fn from(value: $value) -> Self {
                Self(ScalarValue::$variant(Some(value.into())))
            }
        })*
    };
}

from_value!(bool => Boolean, i8 => Int8, i16 => Int16, i32 => Int32, i64 => Int64, u8 => UInt8, u16 => UInt16);
from_value!(u32 => UInt32, u64 => UInt64, f32 => Float32, f64 => Float64, &str => Utf8, String => Utf8);
from_value!(&[u8] => Binary, Vec<u8> => Binary);

impl<T: Into<ParameterValue>> From<Option<T>> for ParameterValue {
    fn from(value: Option<T>) -> Self {
        value.map_or_else(Self::null, Into::into)
    }
}

/// Converts the values to the types that a statement was prepared with. Nothing is rounded or truncated: a decimal or a
/// time with more digits than the type has room for keeps them, so that comparisons are exact and assignments round.
pub(super) fn bound(types: &[DataType], values: &[ParameterValue]) -> Result<Arc<[ScalarValue]>> {
    if types.len() != values.len() {
        let message = format!("{} values are given, the statement has {} parameters", values.len(), types.len());
        return Err(sql_error(message));
    }
    let numbered = types.iter().zip(values).enumerate();
    numbered.map(|(at, (data_type, value))| converted(&value.0, data_type, at + 1)).collect()
}

fn converted(value: &ScalarValue, to: &DataType, number: usize) -> Result<ScalarValue> {
    let from = value.data_type();
    if from == *to {
        return Ok(value.clone());
    }
    let name = |data_type: &DataType| type_name_of(&Field::new("", data_type.clone(), true));
    if value.is_null() {
        let internal = |error| Error::internal(format!("no NULL of type {to}: {error}"));
        return ScalarValue::try_from(to).map_err(internal);
    }
    let does_not_fit = || Error::invalid(format!("parameter ${number} is {}: {value:.60} does not fit", name(to)));
    if let Some(Some(text)) = value.try_as_str()
        && !to.is_string()
    {
        let no_value = || Error::invalid(format!("'{text:.60}' is not a valid {} (parameter ${number})", name(to)));
        return read(text, to).ok_or_else(no_value);
    }
    // The elements of an array are texts, too, or NULLs without a type, that have the type which the statement needs.
    if let (ScalarValue::List(list), DataType::List(element)) = (value, to)
        && (list.value_type().is_null() || list.value_type().is_string() && !element.data_type().is_string())
    {
        let elements = list.value(0);
        let values = (0..elements.len()).map(|at| ScalarValue::try_from_array(&elements, at));
        let values = values.collect::<datafusion::common::Result<Vec<_>>>().map_err(|_| does_not_fit())?;
        let values = values.iter().map(|value| converted(value, element.data_type(), number));
        return list_of(values.collect::<Result<Vec<_>>>()?, element.data_type()).ok_or_else(does_not_fit);
    }
    if !may_convert(&from, to) {
        let message = format!("parameter ${number} is {}, its value is {}", name(to), name(&from));
        return Err(sql_error(message).with_hint("declare the parameter's type, or write a CAST in the statement"));
    }
    fitted(value, to).ok_or_else(does_not_fit)
}

/// A value in a type, or with all its digits if it is a decimal or a time that has more of them than the type.
fn fitted(value: &ScalarValue, to: &DataType) -> Option<ScalarValue> {
    let from = value.data_type();
    let cast = |value: &ScalarValue, to: &DataType| value.cast_to_with_options(to, &STRICT).ok();
    let exact = cast(value, to).filter(|found| cast(found, &from).is_some_and(|back| back == *value));
    exact.or_else(|| match (&from, to) {
        (DataType::Decimal128(..), DataType::Decimal128(..)) => Some(value.clone()),
        (number, DataType::Decimal128(..)) if number.is_numeric() => decimal_of(value),
        (DataType::Timestamp(fine, _), DataType::Timestamp(coarse, zone))
            if time_unit_of(*fine) > time_unit_of(*coarse) =>
        {
            cast(value, &DataType::Timestamp(*fine, zone.clone()))
        }
        _ => None,
    })
}

/// A number as a decimal: of a float, the digits that every float of its type has, as in a cast.
fn decimal_of(number: &ScalarValue) -> Option<ScalarValue> {
    let digits = match number {
        ScalarValue::Float32(Some(float)) => format!("{float:.5e}"),
        ScalarValue::Float64(Some(float)) => format!("{float:.14e}"),
        other => other.to_string(),
    };
    decimals::read(&digits).map(decimals::scalar)
}

/// An array of elements of a type. If some keep more digits than it has, all have as many.
fn list_of(elements: Vec<ScalarValue>, element: &DataType) -> Option<ScalarValue> {
    let types: Vec<DataType> = elements.iter().map(ScalarValue::data_type).collect();
    let common = match types.iter().all(|data_type| data_type == element) {
        true => element.clone(),
        false => type_union_resolution(&types)?,
    };
    let values = elements.iter().map(|value| value.cast_to_with_options(&common, &STRICT).ok());
    let values = values.collect::<Option<Vec<_>>>()?;
    Some(ScalarValue::List(ScalarValue::new_list(&values, &common, true)))
}

/// A value that does not fit is an error.
const STRICT: CastOptions<'static> =
    CastOptions { safe: false, format_options: arrow::util::display::FormatOptions::new() };

fn may_convert(from: &DataType, to: &DataType) -> bool {
    let is_time = |data_type: &DataType| matches!(data_type, DataType::Timestamp(..) | DataType::Date32);
    let is_bytes =
        |data_type: &DataType| matches!(data_type, DataType::Binary | DataType::LargeBinary | DataType::BinaryView);
    (from.is_numeric() && to.is_numeric())
        || (is_time(from) && is_time(to))
        || (is_bytes(from) && is_bytes(to))
        || (is_text(from) && is_text(to))
        || from.is_nested() && to.is_nested()
}

/// A text as a value of a type; `None` if it is not a valid one.
fn read(text: &str, to: &DataType) -> Option<ScalarValue> {
    match to {
        DataType::Boolean => boolean(&Literal::Text(text.into())).map(|value| ScalarValue::Boolean(Some(value))),
        // A number beyond the type's range is not infinite.
        DataType::Float32 => float32(&Literal::Text(text.into())).map(|value| ScalarValue::Float32(Some(value))),
        DataType::Float64 => float64(&Literal::Text(text.into())).map(|value| ScalarValue::Float64(Some(value))),
        DataType::Timestamp(unit, zone) => {
            let unit = time_unit_of(*unit);
            // Times have microseconds, also where the column has none.
            let unit = match read_time(text, unit)?.rest {
                RoundedFraction::Nothing => unit,
                RoundedFraction::LessThanHalf | RoundedFraction::HalfOrMore => unit.max(TimeUnit::Microsecond),
            };
            Some(timestamp(unit, parse_time(text, unit)?, zone.clone()))
        }
        DataType::Date32 => parse_date(text).map(|days| ScalarValue::Date32(Some(days))),
        // Arrow reads no exponents.
        DataType::Decimal128(..) if let Some(number) = decimals::read(text.trim()) => {
            fitted(&decimals::scalar(number), to)
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let found = parse_interval(text, None, None)?;
            let interval = IntervalMonthDayNano::new(found.months, found.days, found.nanoseconds);
            Some(ScalarValue::IntervalMonthDayNano(Some(interval)))
        }
        DataType::Binary => bytes_of(text).ok().map(|bytes| ScalarValue::Binary(Some(bytes))),
        DataType::List(element) => {
            let element = element.data_type();
            let value = |text: Option<String>| match text {
                Some(text) if element.is_string() => Some(ScalarValue::from(text)),
                Some(text) => read(&text, element),
                None => ScalarValue::try_from(element).ok(),
            };
            list_of(array_text::parse(text).ok()?.into_iter().map(value).collect::<Option<Vec<_>>>()?, element)
        }
        other => ScalarValue::from(text.trim()).cast_to_with_options(other, &STRICT).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::TimeUnit;

    fn one(value: impl Into<ParameterValue>, to: DataType) -> Result<ScalarValue> {
        bound(&[to], &[value.into()]).map(|values| values[0].clone())
    }

    #[test]
    fn a_value_becomes_one_of_the_parameters_type_or_is_refused() {
        assert_eq!(one(7_i32, DataType::Int64).unwrap(), ScalarValue::Int64(Some(7)));
        assert_eq!(one("7", DataType::Utf8).unwrap(), ScalarValue::from("7"));
        assert_eq!(one("7", DataType::Int16).unwrap(), ScalarValue::Int16(Some(7)));
        assert_eq!(one(2.0, DataType::Int32).unwrap(), ScalarValue::Int32(Some(2)));
        assert_eq!(one("t", DataType::Boolean).unwrap(), ScalarValue::Boolean(Some(true)));
        assert_eq!(one("\\x00ff", DataType::Binary).unwrap(), ScalarValue::Binary(Some(vec![0, 255])));
        assert_eq!(one("1970-01-02", DataType::Date32).unwrap(), ScalarValue::Date32(Some(1)));
        let list =
            |elements: &[ScalarValue]| ScalarValue::List(ScalarValue::new_list(elements, &DataType::Int32, true));
        let numbers = list(&[ScalarValue::Int32(Some(7)), ScalarValue::Int32(None)]);
        assert_eq!(one("{7,NULL}", DataType::new_list(DataType::Int32, true)).unwrap(), numbers);
        assert!(one("7", DataType::new_list(DataType::Int32, true)).is_err());
        let decimal = |value: i128| ScalarValue::Decimal128(Some(value), 9, 2);
        assert_eq!(one("1e2", DataType::Decimal128(9, 2)).unwrap(), decimal(10_000));
        let decimals = ScalarValue::List(ScalarValue::new_list(
            &[decimal(10_000), decimal(-150)],
            &DataType::Decimal128(9, 2),
            true,
        ));
        assert_eq!(one("{1e2,-1.5}", DataType::new_list(DataType::Decimal128(9, 2), true)).unwrap(), decimals);
        assert!(one("1e39", DataType::Decimal128(9, 2)).is_err());
        assert_eq!(one(" -Infinity", DataType::Float64).unwrap(), ScalarValue::Float64(Some(f64::NEG_INFINITY)));
        assert_eq!(one("1e-3", DataType::Float32).unwrap(), ScalarValue::Float32(Some(1e-3)));
        let interval =
            |months, days, hours: i64| ScalarValue::new_interval_mdn(months, days, hours * 3_600_000_000_000);
        for (text, wanted) in [("P1DT12H", interval(0, 1, 12)), ("-1 day 02:00:00", interval(0, -1, 2))] {
            assert_eq!(one(text, DataType::Interval(IntervalUnit::MonthDayNano)).unwrap(), wanted, "{text}");
        }
        assert!(one("two days", DataType::Interval(IntervalUnit::MonthDayNano)).is_err());
        for number in ["1e400", "-1e400", "1e-400"] {
            assert!(one(number, DataType::Float64).is_err(), "{number}");
        }
        for number in ["1e60", "-1e60", "1e-60"] {
            assert!(one(number, DataType::Float32).is_err(), "{number}");
            assert!(one(format!("{{{number}}}"), DataType::new_list(DataType::Float32, true)).is_err(), "{number}");
        }
        for count in [0, 2] {
            let untyped = ParameterValue::array(vec![ParameterValue::null(); count]).unwrap();
            let nulls = list(&vec![ScalarValue::Int32(None); count]);
            assert_eq!(one(untyped, DataType::new_list(DataType::Int32, true)).unwrap(), nulls, "{count} NULLs");
        }
        let utc = DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()));
        let second = ScalarValue::TimestampMillisecond(Some(1_500), Some("UTC".into()));
        assert_eq!(one("1970-01-01 00:00:01.5", utc.clone()).unwrap(), second);
        let fine = ParameterValue(ScalarValue::TimestampMicrosecond(Some(1_500_000), None));
        assert_eq!(one(fine, utc.clone()).unwrap(), second);
        assert!(one(ParameterValue::null(), utc.clone()).unwrap().is_null());
        let refused = |refused: Result<ScalarValue>| refused.unwrap_err().message().to_owned();
        assert_eq!(refused(one(3_000_000_000_i64, DataType::Int32)), "parameter $1 is INT: 3000000000 does not fit");
        assert_eq!(refused(one(0.5, DataType::Int64)), "parameter $1 is BIGINT: 0.5 does not fit");
        assert_eq!(refused(one("x", DataType::Int64)), "'x' is not a valid BIGINT (parameter $1)");
        assert_eq!(refused(one(5, DataType::Utf8)), "parameter $1 is TEXT, its value is INT");
        let few = bound(&[DataType::Int32, DataType::Utf8], &[1.into()]).unwrap_err();
        assert_eq!(few.message(), "1 values are given, the statement has 2 parameters");
    }

    #[test]
    fn digits_for_which_the_type_has_no_room_are_kept() {
        let decimal = DataType::Decimal128(6, 2);
        let digits = |value: i128, precision: u8, scale: i8| ScalarValue::Decimal128(Some(value), precision, scale);
        assert_eq!(one("1.005", decimal.clone()).unwrap(), digits(1_005, 4, 3));
        assert_eq!(one("1e9", decimal.clone()).unwrap(), digits(1_000_000_000, 10, 0));
        assert_eq!(one(3_000_000_000_i64, decimal.clone()).unwrap(), digits(3_000_000_000, 10, 0));
        assert_eq!(one(0.25, decimal.clone()).unwrap(), digits(25, 6, 2));
        assert_eq!(one(0.125, decimal.clone()).unwrap(), digits(125_000_000_000_000, 15, 15));
        assert!(one(f64::NAN, decimal.clone()).is_err());
        let fine = ParameterValue(digits(1_005, 38, 3));
        assert_eq!(one(fine, decimal.clone()).unwrap(), digits(1_005, 38, 3));
        let elements = [digits(1_005, 7, 3), digits(1_500, 7, 3)];
        let list = ScalarValue::List(ScalarValue::new_list(&elements, &DataType::Decimal128(7, 3), true));
        assert_eq!(one("{1.005,1.5}", DataType::new_list(decimal, true)).unwrap(), list);
        let utc = |unit| DataType::Timestamp(unit, Some("UTC".into()));
        let micros = |count| ScalarValue::TimestampMicrosecond(Some(count), Some("UTC".into()));
        assert_eq!(one("1970-01-01 00:00:01.0000006", utc(TimeUnit::Second)).unwrap(), micros(1_000_001));
        let finer = ParameterValue(ScalarValue::TimestampMicrosecond(Some(1), None));
        assert_eq!(one(finer, utc(TimeUnit::Millisecond)).unwrap(), micros(1));
    }
}
