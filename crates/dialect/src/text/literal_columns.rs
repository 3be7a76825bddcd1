//! Collects literals into Arrow columns with a table's types.

use super::bytes_text::bytes_of;
use super::errors::unfit;
use super::literal::Literal;
use super::literal_numbers::{as_text, float32, float64, integer, rounded_integer};
use super::time_text::{TimeWord, parse_date, parse_time};
use arrow::array::{ArrayBuilder, ArrayRef, StringBuilder};
use arrow::datatypes::{DataType, Field, IntervalMonthDayNano};
use atsdb_codec::{ArrayValues, ColumnValues, logical_type};
use atsdb_core::interval::{Interval, parse_interval};
use atsdb_core::time::DAY_MICROSECONDS;
use atsdb_core::{
    Column, ColumnType, Error, Result, TextLength, TimeUnit, array_text, decimal, json_text, time_of_day, uuid_text,
};
use atsdb_engine::KeyValue;
use datafusion::common::ScalarValue;
use std::borrow::Cow;

/// Collects the values of one column.
pub struct LiteralColumn {
    column: Column,
    values: ColumnValues,
    last_is_null: bool,
    /// The last decimal, as a key has it if it is of more than 64 bits.
    last_decimal: [u8; 16],
}

impl LiteralColumn {
    /// Returns an empty column of this declaration.
    pub fn new(column: &Column) -> Self {
        let values = ColumnValues::new(column.column_type);
        Self { column: column.clone(), values, last_is_null: true, last_decimal: [0; 16] }
    }

    /// The field that [`finish`](Self::finish)ed arrays belong to.
    pub fn field(&self) -> Field {
        let ty = if self.column.map.is_some() { DataType::Utf8 } else { logical_type(&self.column) };
        Field::new(&self.column.name, ty, self.column.nullable)
    }

    /// The column's name.
    pub fn name(&self) -> &str {
        &self.column.name
    }

    /// The value that was pushed last, as part of a key.
    pub fn last(&self) -> KeyValue<'_> {
        macro_rules! number {
            ($builder:expr, $kind:ident) => {
                $builder.values_slice().last().map(|value| KeyValue::$kind((*value).into()))
            };
        }
        macro_rules! bytes {
            ($builder:expr) => {
                match $builder.offsets_slice() {
                    [.., start, end] => {
                        $builder.values_slice().get(*start as usize..*end as usize).map(KeyValue::Bytes)
                    }
                    _ => None,
                }
            };
        }
        if self.last_is_null {
            return KeyValue::Null;
        }
        let last = match &self.values {
            ColumnValues::Bool(builder) => {
                let at = builder.len().saturating_sub(1);
                builder.values_slice().get(at / 8).map(|byte| KeyValue::Int(i64::from(byte >> (at % 8) & 1)))
            }
            ColumnValues::Int8(builder) => number!(builder, Int),
            ColumnValues::Int16(builder) => number!(builder, Int),
            ColumnValues::Int32(builder) => number!(builder, Int),
            ColumnValues::Int64(builder) => number!(builder, Int),
            ColumnValues::UInt8(builder) => number!(builder, UInt),
            ColumnValues::UInt16(builder) => number!(builder, UInt),
            ColumnValues::UInt32(builder) => number!(builder, UInt),
            ColumnValues::UInt64(builder) => number!(builder, UInt),
            ColumnValues::Float32(builder) => number!(builder, Float),
            ColumnValues::Float64(builder) => number!(builder, Float),
            ColumnValues::Text(builder) => bytes!(builder),
            ColumnValues::Binary(builder) => bytes!(builder),
            ColumnValues::Timestamp(builder, _) => number!(builder, Int),
            ColumnValues::Date(builder) => number!(builder, Int),
            ColumnValues::Time(builder) => number!(builder, Int),
            // No key has intervals or arrays.
            ColumnValues::Interval(_) | ColumnValues::Array(_) => None,
            ColumnValues::Decimal(builder) => match self.column.column_type.stored() {
                ColumnType::Int64 => {
                    let last = builder.values_slice().last().and_then(|value| i64::try_from(*value).ok());
                    last.map(KeyValue::Int)
                }
                _ => Some(KeyValue::Bytes(&self.last_decimal)),
            },
        };
        last.unwrap_or(KeyValue::Null)
    }

    /// Returns whether it can accept or refuse a literal by itself. Other values are converted by a plan.
    pub fn takes(&self, literal: &Literal<'_>) -> bool {
        match literal {
            Literal::Typed(_) if matches!(self.values, ColumnValues::Array(_)) => false,
            Literal::Typed(value) => value.data_type() == self.field().data_type().clone(),
            Literal::Text(text) if matches!(self.values, ColumnValues::Timestamp(..) | ColumnValues::Date(_)) => {
                TimeWord::read(text).is_none()
            }
            _ => true,
        }
    }

    /// The values so far; the column is empty afterwards.
    pub fn finish(&mut self) -> ArrayRef {
        self.values.finish()
    }

    /// Adds a value, converted if nothing is lost. The error does not name the row.
    pub fn push(&mut self, literal: &Literal<'_>) -> Result<()> {
        self.last_is_null = matches!(literal, Literal::Null);
        if self.last_is_null {
            if !self.column.nullable {
                return Err(Error::invalid("NULL in a NOT NULL column"));
            }
            self.values.append_null();
            return Ok(());
        }
        match literal {
            Literal::Typed(value) => self.push_value(value)?,
            literal => push_literal(&mut self.values, self.column.column_type, self.column.length, literal)?,
        }
        if let ColumnValues::Decimal(builder) = &self.values {
            self.last_decimal = builder.values_slice().last().map_or([0; 16], |value| decimal::to_bytes(*value));
        }
        Ok(())
    }

    /// Adds a value of the column's type.
    fn push_value(&mut self, value: &ScalarValue) -> Result<()> {
        use ScalarValue as V;
        match (&mut self.values, value) {
            (ColumnValues::Float32(builder), V::Float32(Some(value))) => builder.append_value(*value),
            (ColumnValues::Timestamp(builder, TimeUnit::Second), V::TimestampSecond(Some(time), _))
            | (ColumnValues::Timestamp(builder, TimeUnit::Millisecond), V::TimestampMillisecond(Some(time), _))
            | (ColumnValues::Timestamp(builder, TimeUnit::Microsecond), V::TimestampMicrosecond(Some(time), _))
            | (ColumnValues::Timestamp(builder, TimeUnit::Nanosecond), V::TimestampNanosecond(Some(time), _)) => {
                builder.append_value(*time);
            }
            (ColumnValues::Date(builder), V::Date32(Some(days))) => builder.append_value(*days),
            (ColumnValues::Interval(builder), V::IntervalMonthDayNano(Some(length))) => builder.append_value(*length),
            (ColumnValues::Time(builder), V::Time64Microsecond(Some(time))) if (0..DAY_MICROSECONDS).contains(time) => {
                builder.append_value(*time);
            }
            (ColumnValues::Decimal(builder), V::Decimal128(Some(value), precision, _))
                if decimal::fits(*value, *precision) =>
            {
                builder.append_value(*value);
            }
            (_, value) => return Err(Error::internal(format!("{value} in column {}", self.column.name))),
        }
        Ok(())
    }
}

/// Adds a value to those of a type, converted if nothing is lost. Integers are rounded. Of a text with a length, spaces
/// beyond it are cut.
fn push_literal(
    values: &mut ColumnValues,
    column_type: ColumnType,
    length: Option<TextLength>,
    literal: &Literal<'_>,
) -> Result<()> {
    let refuse = || unfit(shown(literal), column_type);
    macro_rules! integer {
        ($builder:expr) => {
            $builder.append_value(rounded_integer(literal).and_then(|value| value.try_into().ok()).ok_or_else(refuse)?)
        };
    }
    match values {
        ColumnValues::Bool(builder) => builder.append_value(boolean(literal).ok_or_else(refuse)?),
        ColumnValues::Int8(builder) => integer!(builder),
        ColumnValues::Int16(builder) => integer!(builder),
        ColumnValues::Int32(builder) => integer!(builder),
        ColumnValues::Int64(builder) => integer!(builder),
        ColumnValues::UInt8(builder) => integer!(builder),
        ColumnValues::UInt16(builder) => integer!(builder),
        ColumnValues::UInt32(builder) => integer!(builder),
        ColumnValues::UInt64(builder) => integer!(builder),
        ColumnValues::Float32(builder) => builder.append_value(float32(literal).ok_or_else(refuse)?),
        ColumnValues::Float64(builder) => builder.append_value(float64(literal).ok_or_else(refuse)?),
        ColumnValues::Text(builder) => push_text(builder, column_type, length, literal)?,
        ColumnValues::Binary(builder) => match literal {
            Literal::Bytes(bytes) => builder.append_value(bytes),
            Literal::Text(text) => builder.append_value(bytes_of(text).map_err(Error::invalid)?),
            _ => return Err(refuse()),
        },
        ColumnValues::Timestamp(builder, unit) => builder.append_value(time(literal, *unit).ok_or_else(refuse)?),
        ColumnValues::Date(builder) => {
            let days = match literal {
                Literal::Text(text) => parse_date(text),
                _ => integer(literal).and_then(|value| value.try_into().ok()),
            };
            builder.append_value(days.ok_or_else(refuse)?);
        }
        ColumnValues::Decimal(builder) => builder.append_value(digits(literal, column_type).ok_or_else(refuse)?),
        ColumnValues::Time(builder) => {
            let (Literal::Text(text) | Literal::Parameter(text)) = literal else { return Err(refuse()) };
            builder.append_value(time_of_day::parse(text).ok_or_else(refuse)?);
        }
        ColumnValues::Interval(builder) => {
            let (Literal::Text(text) | Literal::Parameter(text)) = literal else { return Err(refuse()) };
            let Interval { months, days, nanoseconds } = parse_interval(text, None, None).ok_or_else(refuse)?;
            builder.append_value(IntervalMonthDayNano::new(months, days, nanoseconds));
        }
        ColumnValues::Array(arrays) => {
            let (Literal::Text(text) | Literal::Parameter(text)) = literal else { return Err(refuse()) };
            push_elements(arrays, text)?;
        }
    }
    Ok(())
}

/// Adds an array that is written as a text.
fn push_elements(arrays: &mut ArrayValues, text: &str) -> Result<()> {
    let elements = array_text::parse(text).map_err(|error| Error::invalid(error.message(text)))?;
    arrays.append(elements.len(), |element, values| {
        elements.into_iter().try_for_each(|text| match text {
            Some(text) => push_literal(values, element, None, &Literal::Text(text.into())),
            None => {
                values.append_null();
                Ok(())
            }
        })
    })
}

/// The digits of a decimal of this type.
fn digits(literal: &Literal<'_>, column_type: ColumnType) -> Option<i128> {
    match (literal, column_type) {
        (
            Literal::Number(text) | Literal::Text(text) | Literal::Parameter(text),
            ColumnType::Decimal { precision, scale },
        ) => decimal::parse(text, precision, scale),
        _ => None,
    }
}

/// Adds the text of a literal to the values of a type that are texts.
fn push_text(
    builder: &mut StringBuilder,
    column_type: ColumnType,
    length: Option<TextLength>,
    literal: &Literal<'_>,
) -> Result<()> {
    let refuse = || unfit(shown(literal), column_type);
    let is_plain = !matches!(column_type, ColumnType::Uuid | ColumnType::Json);
    let text = match literal {
        Literal::Text(text) | Literal::Parameter(text) => Cow::Borrowed(&**text),
        Literal::Number(text) if is_plain => as_text(text)?,
        Literal::Bool(value) if is_plain => Cow::Borrowed(if *value { "true" } else { "false" }),
        _ => return Err(refuse()),
    };
    match column_type {
        ColumnType::Uuid => builder.append_value(uuid_text::canonical(&text).ok_or_else(refuse)?),
        ColumnType::Json => {
            json_text::check(&text)
                .map_err(|error| Error::invalid(format!("{} is not valid JSON: {error}", shown(literal))))?;
            builder.append_value(&*text);
        }
        _ => builder.append_value(length.map_or(Ok(&*text), |length| length.stored(&text))?),
    }
    Ok(())
}

fn shown(literal: &Literal<'_>) -> String {
    match literal {
        Literal::Null => "NULL".to_owned(),
        Literal::Bool(value) => value.to_string(),
        Literal::Number(text) | Literal::Parameter(text) => format!("{text:.60}"),
        Literal::Text(text) => format!("'{text:.60}'"),
        Literal::Bytes(bytes) => format!("a value of {} bytes", bytes.len()),
        Literal::Typed(value) => format!("{value:.60}"),
    }
}

/// A literal as a boolean.
pub fn boolean(literal: &Literal<'_>) -> Option<bool> {
    match literal {
        Literal::Bool(value) => Some(*value),
        Literal::Text(text) => match text.trim().to_ascii_lowercase().as_str() {
            "t" | "true" | "y" | "yes" | "on" | "1" => Some(true),
            "f" | "false" | "n" | "no" | "off" | "0" => Some(false),
            _ => None,
        },
        _ => match integer(literal)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        },
    }
}

/// A time in text, or a whole number that counts the column's unit.
fn time(literal: &Literal<'_>, unit: TimeUnit) -> Option<i64> {
    match literal {
        Literal::Text(text) => parse_time(text, unit),
        Literal::Number(_) | Literal::Parameter(_) => integer(literal)?.try_into().ok(),
        _ => None,
    }
}
