//! One column of incoming rows.

use super::wrong_values::{float, invalid, out_of_range, overflow};
use crate::pg::error::PgError;
use crate::pg::types::array_elements::{array_elements, malformed_array};
use crate::pg::types::bytea::bytea;
use crate::pg::types::calendar::{days_since_1970, microseconds_since_1970};
use crate::pg::types::floats::{float32, float64};
use crate::pg::types::{input, known, numeric};
use arrow::array::ArrayRef;
use arrow::datatypes::IntervalMonthDayNano;
use atsdb::interval::{Interval, parse_interval};
use atsdb::interval_text::interval_text;
use atsdb::sql::{parse_date, parse_time};
use atsdb::time::DAY_MICROSECONDS;
use atsdb::{
    Column, ColumnType, ColumnValues, TimeUnit, array_text, calendar_text, decimal, hex, json_text, time_of_day,
    uuid_text,
};
use std::borrow::Cow;

/// The maximum length of a row in bytes.
pub(super) const ROW_BYTES_MAX: usize = 256 << 20;

/// Collects the values of a column.
pub(in crate::pg) struct ColumnBuilder {
    pub(in crate::pg) name: String,
    column_type: ColumnType,
    values: ColumnValues,
}

impl ColumnBuilder {
    pub(in crate::pg) fn new(column: &Column) -> Self {
        let values = ColumnValues::new(column.column_type);
        Self { name: column.name.clone(), column_type: column.column_type, values }
    }

    pub(in crate::pg) fn push_null(&mut self) {
        self.values.append_null();
    }

    /// Adds a value that is written as text.
    pub(in crate::pg) fn push_text(&mut self, bytes: &[u8]) -> Result<(), PgError> {
        push_text(&mut self.values, self.column_type, bytes)
    }

    /// Adds a value in binary.
    pub(in crate::pg) fn push_binary(&mut self, bytes: &[u8]) -> Result<(), PgError> {
        push_binary(&mut self.values, self.column_type, bytes)
    }

    /// Returns the values so far, and empties the builder. There will usually be as many again.
    pub(in crate::pg) fn finish(&mut self) -> ArrayRef {
        let array = self.values.finish();
        self.values = ColumnValues::with_room_for(self.column_type, &array);
        array
    }
}

/// The PostgreSQL type of the column.
fn type_id(column_type: ColumnType) -> u32 {
    match column_type {
        ColumnType::Bool => known::BOOL,
        ColumnType::Int8 | ColumnType::UInt8 | ColumnType::Int16 => known::INT2,
        ColumnType::UInt16 | ColumnType::Int32 => known::INT4,
        ColumnType::UInt32 | ColumnType::Int64 => known::INT8,
        ColumnType::UInt64 => known::NUMERIC,
        ColumnType::Float32 => known::FLOAT4,
        ColumnType::Float64 => known::FLOAT8,
        ColumnType::Text => known::TEXT,
        ColumnType::Binary => known::BYTEA,
        ColumnType::Timestamp(_) => known::TIMESTAMPTZ,
        ColumnType::Date => known::DATE,
        ColumnType::Decimal { .. } => known::NUMERIC,
        ColumnType::Time => known::TIME,
        ColumnType::Interval => known::INTERVAL,
        ColumnType::Uuid => known::UUID,
        ColumnType::Json => known::JSON,
        ColumnType::Array(element) => known::by_id(type_id(element.column_type())).map_or(known::TEXT, |of| of.array),
    }
}

/// A text as the column's type writes it.
fn checked(column_type: ColumnType, text: &str) -> Result<Cow<'_, str>, PgError> {
    let invalid = || invalid(type_id(column_type), text);
    Ok(match column_type {
        ColumnType::Uuid => Cow::Owned(uuid_text::canonical(text).ok_or_else(invalid)?),
        ColumnType::Json => {
            json_text::check(text).map_err(|error| PgError { detail: Some(error.into()), ..invalid() })?;
            Cow::Borrowed(text)
        }
        _ => Cow::Borrowed(text),
    })
}

/// A value in binary of one of the types that are read as text.
fn text_of_binary(column_type: ColumnType, bytes: &[u8]) -> Result<String, PgError> {
    let wrong = || PgError::error("22P03", "incorrect binary data format");
    match column_type {
        ColumnType::Decimal { .. } => numeric::read(bytes),
        ColumnType::Time => {
            let time = i64::from_be_bytes(bytes.try_into().map_err(|_| wrong())?);
            if !(0..DAY_MICROSECONDS).contains(&time) {
                return Err(PgError::error("22008", "time out of range"));
            }
            Ok(calendar_text::time(time))
        }
        ColumnType::Interval => {
            let (microseconds, rest) = bytes.split_first_chunk().ok_or_else(wrong)?;
            let (days, months) = rest.split_first_chunk().ok_or_else(wrong)?;
            let months = i32::from_be_bytes(months.try_into().map_err(|_| wrong())?);
            let nanoseconds = i64::from_be_bytes(*microseconds).checked_mul(1_000).ok_or_else(wrong)?;
            Ok(interval_text(months, i32::from_be_bytes(*days), nanoseconds))
        }
        ColumnType::Uuid if bytes.len() == 16 => Ok(hex::encode(bytes)),
        _ => Ok(str::from_utf8(bytes).map_err(|_| PgError::not_utf8())?.to_owned()),
    }
}

/// Adds a value that is written as text.
fn push_text(values: &mut ColumnValues, column_type: ColumnType, bytes: &[u8]) -> Result<(), PgError> {
    let text = str::from_utf8(bytes).map_err(|error| PgError::invalid_utf8(bytes, error))?;
    // These are only evaluated if the text is not a valid value.
    let invalid = || invalid(type_id(column_type), text);
    let of_number = || match text.trim().parse::<i128>() {
        Ok(_) => out_of_range(type_id(column_type), text),
        Err(_) => invalid(),
    };
    macro_rules! number {
        ($builder:expr) => {
            $builder.append_value(text.trim().parse().map_err(|_| of_number())?)
        };
    }
    match values {
        ColumnValues::Bool(builder) => builder.append_value(input::parse_boolean(text).ok_or_else(invalid)?),
        ColumnValues::Int8(builder) => number!(builder),
        ColumnValues::Int16(builder) => number!(builder),
        ColumnValues::Int32(builder) => number!(builder),
        ColumnValues::Int64(builder) => number!(builder),
        ColumnValues::UInt8(builder) => number!(builder),
        ColumnValues::UInt16(builder) => number!(builder),
        ColumnValues::UInt32(builder) => number!(builder),
        ColumnValues::UInt64(builder) => number!(builder),
        ColumnValues::Float32(builder) => builder.append_value(float32(float(known::FLOAT4, text)?)),
        ColumnValues::Float64(builder) => builder.append_value(float64(float(known::FLOAT8, text)?)),
        ColumnValues::Text(builder) => builder.append_value(checked(column_type, text)?),
        ColumnValues::Binary(builder) => builder.append_value(bytea(text).ok_or_else(invalid)?),
        ColumnValues::Timestamp(builder, unit) => builder.append_value(parse_time(text, *unit).ok_or_else(invalid)?),
        ColumnValues::Date(builder) => builder.append_value(parse_date(text).ok_or_else(invalid)?),
        ColumnValues::Decimal(builder) => {
            let ColumnType::Decimal { precision, scale } = column_type else { return Err(invalid()) };
            let value = decimal::parse(text.trim(), precision, scale);
            builder.append_value(value.ok_or_else(|| match decimal::parse(text.trim(), 38, 0) {
                Some(_) => overflow(precision, scale),
                None => invalid(),
            })?);
        }
        ColumnValues::Time(builder) => builder.append_value(time_of_day::parse(text).ok_or_else(invalid)?),
        ColumnValues::Interval(builder) => {
            let Interval { months, days, nanoseconds } = parse_interval(text, None, None).ok_or_else(invalid)?;
            builder.append_value(IntervalMonthDayNano::new(months, days, nanoseconds));
        }
        ColumnValues::Array(arrays) => {
            let elements = array_text::parse(text).map_err(|error| malformed_array(text, error))?;
            arrays.append(elements.len(), |element, values| {
                elements.iter().try_for_each(|text| match text {
                    Some(text) => push_text(values, element, text.as_bytes()),
                    None => {
                        values.append_null();
                        Ok(())
                    }
                })
            })?;
        }
    }
    Ok(())
}

/// Adds a value in binary.
fn push_binary(values: &mut ColumnValues, column_type: ColumnType, bytes: &[u8]) -> Result<(), PgError> {
    use ColumnValues as V;
    let wrong = || PgError::error("22P03", "incorrect binary data format");
    let does_not_fit = |value: &dyn std::fmt::Display| out_of_range(type_id(column_type), &value.to_string());
    macro_rules! integer {
        ($builder:expr) => {{
            let value = integer(bytes).ok_or_else(wrong)?;
            $builder.append_value(value.try_into().map_err(|_| does_not_fit(&value))?)
        }};
    }
    match values {
        V::Bool(builder) => match bytes {
            [value] => builder.append_value(*value != 0),
            _ => return Err(wrong()),
        },
        V::Int8(builder) => integer!(builder),
        V::Int16(builder) => integer!(builder),
        V::Int32(builder) => integer!(builder),
        V::Int64(builder) => integer!(builder),
        V::UInt8(builder) => integer!(builder),
        V::UInt16(builder) => integer!(builder),
        V::UInt32(builder) => integer!(builder),
        V::UInt64(builder) => {
            let digits = numeric::read(bytes)?;
            builder.append_value(digits.parse().map_err(|_| does_not_fit(&digits))?);
        }
        V::Float32(builder) => match bytes.try_into() {
            Ok(bits) => builder.append_value(float32(f32::from_be_bytes(bits))),
            Err(_) => return Err(wrong()),
        },
        V::Float64(builder) => match bytes.try_into() {
            Ok(bits) => builder.append_value(float64(f64::from_be_bytes(bits))),
            Err(_) => return Err(wrong()),
        },
        V::Text(builder) if column_type == ColumnType::Text => {
            builder.append_value(str::from_utf8(bytes).map_err(|_| PgError::not_utf8())?);
        }
        V::Text(_) | V::Decimal(_) | V::Time(_) | V::Interval(_) => {
            let text = text_of_binary(column_type, bytes)?;
            push_text(values, column_type, text.as_bytes())?;
        }
        V::Binary(builder) => builder.append_value(bytes),
        V::Timestamp(builder, unit) => {
            let since = i64::from_be_bytes(bytes.try_into().map_err(|_| wrong())?);
            let time = microseconds_since_1970(since).map_err(|infinity| does_not_fit(&infinity))?;
            builder.append_value(in_unit(time, *unit).ok_or_else(|| does_not_fit(&since))?);
        }
        V::Date(builder) => {
            let since = i32::from_be_bytes(bytes.try_into().map_err(|_| wrong())?);
            builder.append_value(days_since_1970(since).map_err(|infinity| does_not_fit(&infinity))?);
        }
        V::Array(arrays) => {
            let ColumnType::Array(element) = column_type else { return Err(wrong()) };
            let elements = array_elements(bytes, type_id(element.column_type()))?;
            arrays.append(elements.len(), |element, values| {
                elements.iter().try_for_each(|bytes| match bytes {
                    Some(bytes) => push_binary(values, element, bytes),
                    None => {
                        values.append_null();
                        Ok(())
                    }
                })
            })?;
        }
    }
    Ok(())
}

/// The time rounded to a unit.
fn in_unit(microseconds: i64, unit: TimeUnit) -> Option<i64> {
    let nearest = |per_unit: i64| microseconds.checked_add(per_unit / 2).map(|shifted| shifted.div_euclid(per_unit));
    match unit {
        TimeUnit::Second => nearest(1_000_000),
        TimeUnit::Millisecond => nearest(1_000),
        TimeUnit::Microsecond => Some(microseconds),
        TimeUnit::Nanosecond => microseconds.checked_mul(1_000),
    }
}

/// An integer of two, four or eight bytes.
fn integer(bytes: &[u8]) -> Option<i64> {
    match bytes.len() {
        2 => Some(i16::from_be_bytes(bytes.try_into().ok()?).into()),
        4 => Some(i32::from_be_bytes(bytes.try_into().ok()?).into()),
        8 => Some(i64::from_be_bytes(bytes.try_into().ok()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::AsArray;
    use arrow::datatypes::Float64Type;

    #[test]
    fn a_time_that_no_day_has_is_out_of_range() {
        let mut values = ColumnValues::new(ColumnType::Time);
        for microseconds in [-1, DAY_MICROSECONDS] {
            let error = push_binary(&mut values, ColumnType::Time, &microseconds.to_be_bytes()).unwrap_err();
            assert_eq!(error.code, "22008", "{microseconds}");
        }
        push_binary(&mut values, ColumnType::Time, &(DAY_MICROSECONDS - 1).to_be_bytes()).unwrap();
    }

    #[test]
    fn nan_has_no_sign() {
        let mut values = ColumnValues::new(ColumnType::Float64);
        push_text(&mut values, ColumnType::Float64, b"-nan").unwrap();
        push_binary(&mut values, ColumnType::Float64, &(-f64::NAN).to_be_bytes()).unwrap();
        let floats = values.finish();
        let bits: Vec<u64> =
            floats.as_primitive::<Float64Type>().values().iter().map(|float| float.to_bits()).collect();
        assert_eq!(bits, [f64::NAN.to_bits(); 2]);
    }
}
