//! One column of incoming rows.

use crate::pg::error::PgError;
use crate::pg::types::calendar::{EPOCH_DAYS, EPOCH_US};
use crate::pg::types::{input, known, numeric};
use arrow::array::types::{
    Date32Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow::array::{
    Array, ArrayRef, BinaryBuilder, BooleanBuilder, Int64Builder, PrimitiveArray, PrimitiveBuilder, StringBuilder,
};
use arrow::datatypes::DataType;
use atsdb::interval::{Interval, parse_interval};
use atsdb::interval_text::interval_text;
use atsdb::sql::parse_time;
use atsdb::{Column, ColumnType, TimeUnit, decimal, json_text, time_of_day, uuid_text};
use std::borrow::Cow;
use std::sync::Arc;

/// The maximum length of a row in bytes.
pub(super) const ROW_BYTES_MAX: usize = 256 << 20;

/// Collects the values of a column.
pub(in crate::pg) struct ColumnBuilder {
    pub(in crate::pg) name: String,
    column_type: ColumnType,
    values: Values,
}

enum Values {
    Bool(BooleanBuilder),
    Int8(PrimitiveBuilder<Int8Type>),
    Int16(PrimitiveBuilder<Int16Type>),
    Int32(PrimitiveBuilder<Int32Type>),
    Int64(PrimitiveBuilder<Int64Type>),
    UInt8(PrimitiveBuilder<UInt8Type>),
    UInt16(PrimitiveBuilder<UInt16Type>),
    UInt32(PrimitiveBuilder<UInt32Type>),
    UInt64(PrimitiveBuilder<UInt64Type>),
    Float32(PrimitiveBuilder<Float32Type>),
    Float64(PrimitiveBuilder<Float64Type>),
    Text(StringBuilder),
    Binary(BinaryBuilder),
    Time(Int64Builder, TimeUnit),
    Date(PrimitiveBuilder<Date32Type>),
}

/// Runs code with the builder, whatever its type.
macro_rules! each {
    ($values:expr, $builder:ident => $do:expr) => {
        match $values {
            Values::Bool($builder) => $do,
            Values::Int8($builder) => $do,
            Values::Int16($builder) => $do,
            Values::Int32($builder) => $do,
            Values::Int64($builder) => $do,
            Values::UInt8($builder) => $do,
            Values::UInt16($builder) => $do,
            Values::UInt32($builder) => $do,
            Values::UInt64($builder) => $do,
            Values::Float32($builder) => $do,
            Values::Float64($builder) => $do,
            Values::Text($builder) => $do,
            Values::Binary($builder) => $do,
            Values::Time($builder, _) => $do,
            Values::Date($builder) => $do,
        }
    };
}

impl ColumnBuilder {
    pub(in crate::pg) fn new(column: &Column) -> Self {
        let values = match column.column_type {
            ColumnType::Bool => Values::Bool(BooleanBuilder::new()),
            ColumnType::Int8 => Values::Int8(PrimitiveBuilder::new()),
            ColumnType::Int16 => Values::Int16(PrimitiveBuilder::new()),
            ColumnType::Int32 => Values::Int32(PrimitiveBuilder::new()),
            ColumnType::Int64 => Values::Int64(PrimitiveBuilder::new()),
            ColumnType::UInt8 => Values::UInt8(PrimitiveBuilder::new()),
            ColumnType::UInt16 => Values::UInt16(PrimitiveBuilder::new()),
            ColumnType::UInt32 => Values::UInt32(PrimitiveBuilder::new()),
            ColumnType::UInt64 => Values::UInt64(PrimitiveBuilder::new()),
            ColumnType::Float32 => Values::Float32(PrimitiveBuilder::new()),
            ColumnType::Float64 => Values::Float64(PrimitiveBuilder::new()),
            ColumnType::Text
            | ColumnType::Decimal { .. }
            | ColumnType::Time
            | ColumnType::Interval
            | ColumnType::Uuid
            | ColumnType::Json => Values::Text(StringBuilder::new()),
            ColumnType::Binary => Values::Binary(BinaryBuilder::new()),
            ColumnType::Timestamp(unit) => Values::Time(Int64Builder::new(), unit),
            ColumnType::Date => Values::Date(PrimitiveBuilder::new()),
        };
        Self { name: column.name.clone(), column_type: column.column_type, values }
    }

    pub(in crate::pg) fn push_null(&mut self) {
        each!(&mut self.values, builder => builder.append_null());
    }

    /// The PostgreSQL type of the column.
    fn type_id(&self) -> u32 {
        match self.column_type {
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
        }
    }

    /// A text as the column's type writes it. The array that the text becomes is read by the engine.
    fn checked<'a>(&self, text: &'a str) -> Result<Cow<'a, str>, PgError> {
        let invalid = || input::invalid(self.type_id(), text);
        Ok(match self.column_type {
            ColumnType::Decimal { precision, scale } => match decimal::parse(text, precision, scale) {
                Some(value) => Cow::Owned(decimal::format(value, scale)),
                None if decimal::parse(text, 38, 0).is_some() => return Err(out_of_range(self.type_id(), text)),
                None => return Err(invalid()),
            },
            ColumnType::Time => Cow::Owned(time_of_day::format(time_of_day::parse(text).ok_or_else(invalid)?)),
            ColumnType::Interval => {
                let Interval { months, days, nanoseconds } = parse_interval(text, None, None).ok_or_else(invalid)?;
                Cow::Owned(interval_text(months, days, nanoseconds))
            }
            ColumnType::Uuid => Cow::Owned(uuid_text::canonical(text).ok_or_else(invalid)?),
            ColumnType::Json => {
                json_text::check(text).map_err(|error| PgError { detail: Some(error), ..invalid() })?;
                Cow::Borrowed(text)
            }
            _ => Cow::Borrowed(text),
        })
    }

    /// A value of one of these types that is in binary, as text.
    fn text_of_binary(&self, bytes: &[u8]) -> Result<String, PgError> {
        let wrong = || PgError::error("22P03", "incorrect binary data format");
        match self.column_type {
            ColumnType::Decimal { .. } => numeric::read(bytes),
            ColumnType::Time => {
                let time = i64::from_be_bytes(bytes.try_into().map_err(|_| wrong())?);
                Ok(time_of_day::format(time))
            }
            ColumnType::Interval => {
                let (microseconds, rest) = bytes.split_first_chunk().ok_or_else(wrong)?;
                let (days, months) = rest.split_first_chunk().ok_or_else(wrong)?;
                let months = i32::from_be_bytes(months.try_into().map_err(|_| wrong())?);
                let nanoseconds = i64::from_be_bytes(*microseconds).checked_mul(1_000).ok_or_else(wrong)?;
                Ok(interval_text(months, i32::from_be_bytes(*days), nanoseconds))
            }
            ColumnType::Uuid if bytes.len() == 16 => Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
            _ => Ok(str::from_utf8(bytes).map_err(|_| PgError::not_utf8())?.to_owned()),
        }
    }

    /// Adds a value that is written as text.
    pub(in crate::pg) fn push_text(&mut self, bytes: &[u8]) -> Result<(), PgError> {
        let text = str::from_utf8(bytes).map_err(|_| PgError::not_utf8())?;
        let type_id = self.type_id();
        let invalid = || input::invalid(type_id, text);
        // This is only evaluated if the text is not a valid value.
        let of_number = || match text.trim().parse::<i128>() {
            Ok(_) => out_of_range(type_id, text),
            Err(_) => invalid(),
        };
        macro_rules! number {
            ($builder:expr) => {
                $builder.append_value(text.trim().parse().map_err(|_| of_number())?)
            };
        }
        let checked = self.checked(text)?;
        match &mut self.values {
            Values::Bool(builder) => builder.append_value(input::parse_boolean(text).ok_or_else(invalid)?),
            Values::Int8(builder) => number!(builder),
            Values::Int16(builder) => number!(builder),
            Values::Int32(builder) => number!(builder),
            Values::Int64(builder) => number!(builder),
            Values::UInt8(builder) => number!(builder),
            Values::UInt16(builder) => number!(builder),
            Values::UInt32(builder) => number!(builder),
            Values::UInt64(builder) => number!(builder),
            Values::Float32(builder) => number!(builder),
            Values::Float64(builder) => number!(builder),
            Values::Text(builder) => builder.append_value(checked),
            Values::Binary(builder) => builder.append_value(input::bytea(text).ok_or_else(invalid)?),
            Values::Time(builder, unit) => builder.append_value(parse_time(text, *unit).ok_or_else(invalid)?),
            Values::Date(builder) => {
                let seconds = parse_time(text, TimeUnit::Second).ok_or_else(invalid)?;
                let days = i32::try_from(seconds.div_euclid(86_400)).map_err(|_| out_of_range(type_id, text))?;
                builder.append_value(days);
            }
        }
        Ok(())
    }

    /// Adds a value in binary.
    pub(in crate::pg) fn push_binary(&mut self, bytes: &[u8]) -> Result<(), PgError> {
        if let Values::Text(_) = self.values {
            let text = self.text_of_binary(bytes)?;
            return self.push_text(text.as_bytes());
        }
        let type_id = self.type_id();
        let wrong = || PgError::error("22P03", "incorrect binary data format");
        let does_not_fit = |value: &dyn std::fmt::Display| out_of_range(type_id, &value.to_string());
        macro_rules! integer {
            ($builder:expr) => {{
                let value = integer(bytes).ok_or_else(wrong)?;
                $builder.append_value(value.try_into().map_err(|_| does_not_fit(&value))?)
            }};
        }
        match &mut self.values {
            Values::Bool(builder) => match bytes {
                [value] => builder.append_value(*value != 0),
                _ => return Err(wrong()),
            },
            Values::Int8(builder) => integer!(builder),
            Values::Int16(builder) => integer!(builder),
            Values::Int32(builder) => integer!(builder),
            Values::Int64(builder) => integer!(builder),
            Values::UInt8(builder) => integer!(builder),
            Values::UInt16(builder) => integer!(builder),
            Values::UInt32(builder) => integer!(builder),
            Values::UInt64(builder) => {
                let digits = numeric::read(bytes)?;
                builder.append_value(digits.parse().map_err(|_| does_not_fit(&digits))?);
            }
            Values::Float32(builder) => match bytes.try_into() {
                Ok(bits) => builder.append_value(f32::from_be_bytes(bits)),
                Err(_) => return Err(wrong()),
            },
            Values::Float64(builder) => match bytes.try_into() {
                Ok(bits) => builder.append_value(f64::from_be_bytes(bits)),
                Err(_) => return Err(wrong()),
            },
            Values::Text(_) => return Err(wrong()),
            Values::Binary(builder) => builder.append_value(bytes),
            Values::Time(builder, unit) => {
                let since = i64::from_be_bytes(bytes.try_into().map_err(|_| wrong())?);
                let value = since.checked_add(EPOCH_US).and_then(|microseconds| in_unit(microseconds, *unit));
                builder.append_value(value.ok_or_else(|| does_not_fit(&since))?);
            }
            Values::Date(builder) => {
                let since = i32::from_be_bytes(bytes.try_into().map_err(|_| wrong())?);
                builder.append_value(since.checked_add(EPOCH_DAYS).ok_or_else(|| does_not_fit(&since))?);
            }
        }
        Ok(())
    }

    /// Returns the values so far, and empties the builder.
    pub(in crate::pg) fn finish(&mut self) -> ArrayRef {
        let Values::Time(builder, unit) = &mut self.values else {
            return each!(&mut self.values, builder => Arc::new(builder.finish()) as ArrayRef);
        };
        let counts = builder.finish();
        match unit {
            TimeUnit::Second => times::<TimestampSecondType>(&counts),
            TimeUnit::Millisecond => times::<TimestampMillisecondType>(&counts),
            TimeUnit::Microsecond => times::<TimestampMicrosecondType>(&counts),
            TimeUnit::Nanosecond => times::<TimestampNanosecondType>(&counts),
        }
    }
}

fn times<T: arrow::array::types::ArrowTimestampType>(counts: &PrimitiveArray<Int64Type>) -> ArrayRef {
    let values = PrimitiveArray::<T>::new(counts.values().clone(), counts.nulls().cloned());
    let values = values.with_timezone("UTC");
    debug_assert!(matches!(values.data_type(), DataType::Timestamp(..)));
    Arc::new(values)
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

fn out_of_range(type_id: u32, text: &str) -> PgError {
    let name = known::sql_name(type_id).unwrap_or_default();
    PgError::error("22003", format!("value \"{text}\" is out of range for type {name}"))
}

/// Adds the row and the column of an invalid value to an error.
pub(super) fn placed(error: PgError, line: u64, column: &str) -> PgError {
    PgError { detail: Some(format!("line {line}, column {column}")), ..error }
}
