//! Parses the fields of one column of a block as the column's type into one array.

mod arrays;
mod numbers;
mod texts;
mod times;

use crate::build::column_values::{ColumnValues, InvalidValue, Values};
use crate::facts::nulls::NullTexts;
use crate::input::parser::ReadBlock;
use crate::plan::column::{PlanColumn, TimeParsing};
use crate::records::Field;
use crate::values::numbers::is_odd_float;
use arrow::array::PrimitiveArray;
use arrow::datatypes::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType,
    Time64MicrosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow::error::ArrowError;
use atsdb_core::interval::{Interval, parse_interval};
use atsdb_core::{ColumnType, json_text, time_of_day, uuid_text};
use std::borrow::Cow;
use std::sync::Arc;

/// The fields of a block that become one column.
pub(crate) struct Cells<'a> {
    /// The block.
    pub(crate) read: &'a ReadBlock,
    /// The texts that mean NULL.
    pub(crate) nulls: &'a NullTexts,
    /// The column.
    pub(crate) column: &'a PlanColumn,
    /// Whether to collect all invalid values, or only the first.
    pub(crate) all: bool,
}

impl Cells<'_> {
    /// Parses every field. The error of `parse` is the reason why the field does not fit.
    #[inline]
    fn gather<T: Copy + Default>(
        &self,
        position: usize,
        mut parse: impl FnMut(&[u8]) -> Result<T, String>,
    ) -> Values<T> {
        let text = self.read.text.as_bytes();
        let column = self.read.records.column(position);
        let mut gathered = Values::with_capacity(column.len());
        for (row, field) in column.enumerate() {
            let Some(bytes) = self.value(field, text) else {
                self.null(&mut gathered, row, field);
                continue;
            };
            let parsed = if self.column.is_inferred && field.is_json_string() && !self.takes_string(bytes) {
                Err("is a string".to_owned())
            } else {
                parse(bytes)
            };
            match parsed {
                Ok(value) => gathered.values.push(value),
                Err(reason) => {
                    gathered.values.push(T::default());
                    gathered.wrong.push(InvalidValue { row, field, reason });
                    if !self.all {
                        gathered.values.resize(self.read.records.count(), T::default());
                        gathered.valid = None;
                        return gathered;
                    }
                }
            }
            if let Some(valid) = &mut gathered.valid {
                valid.push(true);
            }
        }
        gathered
    }

    /// The field without the blanks around it; `None` is NULL. A quoted `null` is a document of JSON.
    #[inline]
    fn value<'b>(&self, field: Field, text: &'b [u8]) -> Option<&'b [u8]> {
        let value = self.nulls.value(field, text);
        if value.is_none() && field.is_quoted() && self.column.column.column_type == ColumnType::Json {
            return Some(field.bytes(text).trim_ascii()).filter(|bytes| *bytes == b"null");
        }
        value
    }

    /// The fields that [`gather`](Self::gather) parses, one after another, without escapes. Quoted ones keep the blanks
    /// around them.
    fn unescaped(&self, position: usize) -> impl Iterator<Item = Cow<'_, str>> {
        let text = self.read.text.as_bytes();
        let fields = self.read.records.column(position);
        let values = fields.filter_map(move |field| Some((field, self.value(field, text)?)));
        values.map(|(field, bytes)| match field.is_escaped() {
            true => Cow::Owned(field.unescaped(&self.read.text)),
            false if field.is_quoted() => Cow::Borrowed(field.bytes(text).utf8()),
            false => Cow::Borrowed(bytes.utf8()),
        })
    }

    /// Returns whether a JSON string is allowed in an inferred column.
    fn takes_string(&self, bytes: &[u8]) -> bool {
        match self.column.column.column_type {
            ColumnType::Timestamp(_) | ColumnType::Date => true,
            ColumnType::Float64 => is_odd_float(bytes),
            _ => false,
        }
    }

    #[cold]
    #[inline(never)]
    fn null_not_allowed(&self, row: usize, field: Field) -> InvalidValue {
        let reason = if self.column.is_time { "a time cannot be NULL" } else { "the column is NOT NULL" };
        let is_empty = field.bytes(self.read.text.as_bytes()).is_empty();
        let means = if is_empty { "" } else { "means NULL, and " };
        InvalidValue { row, field, reason: format!("{means}{reason}") }
    }

    fn null<T: Default>(&self, gathered: &mut Values<T>, row: usize, field: Field) {
        if !self.column.column.nullable && (self.all || gathered.wrong.is_empty()) {
            gathered.wrong.push(self.null_not_allowed(row, field));
        }
        if let Some(null) = self.nulls.null(field, self.read.text.as_bytes()) {
            gathered.counts.add(null);
        }
        gathered.valid.get_or_insert_with(|| vec![true; row]).push(false);
        gathered.values.push(T::default());
    }

    /// The field at a position of each record, as the column's type.
    pub(crate) fn typed(&self, position: usize, parsing: TimeParsing) -> Result<ColumnValues, ArrowError> {
        let is_counted = self.column.is_time;
        match self.column.column.column_type {
            ColumnType::Bool => self.booleans(position),
            ColumnType::Int64 if is_counted => self.counted::<Int64Type>(position, parsing),
            ColumnType::Int32 if is_counted => self.counted::<Int32Type>(position, parsing),
            ColumnType::UInt32 if is_counted => self.counted::<UInt32Type>(position, parsing),
            ColumnType::UInt64 if is_counted => self.counted::<UInt64Type>(position, parsing),
            ColumnType::Int8 => self.signed::<Int8Type>(position, "TINYINT"),
            ColumnType::Int16 => self.signed::<Int16Type>(position, "SMALLINT"),
            ColumnType::Int32 => self.signed::<Int32Type>(position, "INT"),
            ColumnType::Int64 => self.bigints(position),
            ColumnType::UInt8 => self.unsigned::<UInt8Type>(position, "TINYINT UNSIGNED"),
            ColumnType::UInt16 => self.unsigned::<UInt16Type>(position, "SMALLINT UNSIGNED"),
            ColumnType::UInt32 => self.unsigned::<UInt32Type>(position, "INT UNSIGNED"),
            ColumnType::UInt64 => self.unsigned::<UInt64Type>(position, "BIGINT UNSIGNED"),
            ColumnType::Float32 => self.floats(position),
            ColumnType::Float64 => self.doubles(position),
            ColumnType::Decimal { precision, scale } => self.decimals(position, precision, scale),
            ColumnType::Timestamp(unit) => self.timestamps(position, parsing, unit),
            ColumnType::Date => self.dates(position, parsing),
            ColumnType::Time => self.primitive::<Time64MicrosecondType>(position, |bytes| {
                time_of_day::parse(bytes.utf8()).ok_or_else(|| "is not a time of day".to_owned())
            }),
            ColumnType::Interval => self.primitive::<IntervalMonthDayNanoType>(position, |bytes| {
                let Interval { months, days, nanoseconds } =
                    parse_interval(bytes.utf8(), None, None).ok_or_else(|| "is not an interval".to_owned())?;
                Ok(IntervalMonthDayNano::new(months, days, nanoseconds))
            }),
            ColumnType::Uuid => self
                .checked_texts(position, |text| uuid_text::canonical(text).ok_or_else(|| "is not a UUID".to_owned())),
            ColumnType::Json => self.checked_texts(position, |text| {
                json_text::check(text).map_err(|error| format!("is not JSON: {error}"))?;
                Ok(text.to_owned())
            }),
            ColumnType::Array(element) => self.arrays(position, element, parsing),
            ColumnType::Binary => self.binary(position),
            ColumnType::Text => self.texts(position, false, false),
        }
    }

    fn primitive<T: ArrowPrimitiveType>(
        &self,
        position: usize,
        parse: impl FnMut(&[u8]) -> Result<T::Native, String>,
    ) -> Result<ColumnValues, ArrowError> {
        let gathered = self.gather(position, parse);
        gathered.into_column(|values, nulls| Ok(Arc::new(PrimitiveArray::<T>::try_new(values.into(), nulls)?)))
    }
}

/// Fields are cut at ASCII bytes, so that they stay UTF-8.
pub(crate) trait Utf8Slice {
    fn utf8(&self) -> &str;
}

impl Utf8Slice for [u8] {
    fn utf8(&self) -> &str {
        std::str::from_utf8(self).unwrap_or("")
    }
}
