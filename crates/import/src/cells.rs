//! Parses the fields of one column of a block as the column's type into one array.

use crate::cell_text::{
    Utf8Slice, from_hex, loose_boolean, no_number, not_whole, time_of, time_of_parts, timestamp_array,
};
use crate::column_values::{ColumnValues, Inexact, InvalidValue, Values};
use crate::comma_number::{comma_f64, with_point};
use crate::distinct::{Distinct, TextNumbers, hash, text_array};
use crate::null::{NullCounts, NullField, NullTexts};
use crate::number_text::{any_f64, any_i64, any_u64, boolean, is_odd_float, is_rounded, plain_f64, plain_i64};
use crate::plan_column::{PlanColumn, TimeParsing};
use crate::read::ReadBlock;
use crate::record::Field;
use crate::time_text::{DateMemory, count, parse, usual_form};
use crate::zone::Zone;
use arrow::array::{ArrayRef, AsArray, BinaryArray, BooleanArray, Date32Array, PrimitiveArray, StringArray};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{
    ArrowPrimitiveType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    IntervalMonthDayNano, IntervalMonthDayNanoType, Time64MicrosecondType, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow::error::ArrowError;
use atsdb_core::interval::{Interval, parse_interval};
use atsdb_core::{ColumnType, TimeUnit, decimal, json_text, time_of_day, uuid_text};
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
    fn done(&self, array: ArrayRef, wrong: Vec<InvalidValue>, nulls: NullCounts) -> Result<ColumnValues, ArrowError> {
        Ok(ColumnValues { array, wrong, distinct: None, nulls, inexact: Inexact::default() })
    }

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
            let Some(bytes) = self.nulls.value(field, text) else {
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

    /// Whether a JSON string is allowed in an inferred column.
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
        InvalidValue { row, field, reason: reason.to_owned() }
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

    pub(crate) fn typed(&self, position: usize, parsing: TimeParsing) -> Result<ColumnValues, ArrowError> {
        let is_inferred = self.column.is_inferred;
        let is_counted = self.column.is_time;
        match self.column.column.column_type {
            ColumnType::Bool => {
                let gathered = self.gather(position, |bytes| match boolean(bytes) {
                    Some(value) => Ok(value),
                    None if !is_inferred => loose_boolean(bytes).ok_or_else(|| "is neither true nor false".to_owned()),
                    None => Err("is neither true nor false".to_owned()),
                });
                let nulls = Values::<bool>::nulls(gathered.valid);
                self.done(
                    Arc::new(BooleanArray::new(BooleanBuffer::from(gathered.values), nulls)),
                    gathered.wrong,
                    gathered.counts,
                )
            }
            ColumnType::Int64 if !is_counted => self.primitive::<Int64Type>(position, |bytes| {
                let value = plain_i64(bytes).or_else(|| if is_inferred { None } else { any_i64(bytes) });
                value.ok_or_else(|| not_whole(bytes, "BIGINT"))
            }),
            ColumnType::Int8 => self.signed::<Int8Type>(position, "TINYINT"),
            ColumnType::Int16 => self.signed::<Int16Type>(position, "SMALLINT"),
            ColumnType::Int32 if !is_counted => self.signed::<Int32Type>(position, "INT"),
            ColumnType::UInt8 => self.unsigned::<UInt8Type>(position, "TINYINT UNSIGNED"),
            ColumnType::UInt16 => self.unsigned::<UInt16Type>(position, "SMALLINT UNSIGNED"),
            ColumnType::UInt32 if !is_counted => self.unsigned::<UInt32Type>(position, "INT UNSIGNED"),
            ColumnType::UInt64 if !is_counted => self.unsigned::<UInt64Type>(position, "BIGINT UNSIGNED"),
            ColumnType::Float32 => self.primitive::<Float32Type>(position, |bytes| {
                let with_point = self.column.has_decimal_commas.then(|| with_point(bytes));
                let bytes = with_point.as_deref().unwrap_or(bytes);
                let exact = any_f64(bytes).ok_or_else(|| no_number(bytes, "FLOAT"))?;
                let value: f32 = bytes.utf8().parse().map_err(|_| no_number(bytes, "FLOAT"))?;
                let is_lost = value.is_infinite() != exact.is_infinite() || (value == 0.0) != (exact == 0.0);
                if is_lost { Err("is out of the range of FLOAT".to_owned()) } else { Ok(value) }
            }),
            ColumnType::Float64 => {
                let mut inexact = Inexact::default();
                let has_commas = self.column.has_decimal_commas;
                let gathered = self.primitive::<Float64Type>(position, |bytes| {
                    inexact.add_if(is_rounded(bytes), bytes);
                    if has_commas && bytes.contains(&b',') {
                        return comma_f64(bytes).ok_or_else(|| "is not a number".to_owned());
                    }
                    let value = if is_inferred { plain_f64(bytes) } else { any_f64(bytes) };
                    value.ok_or_else(|| no_number(bytes, "DOUBLE"))
                })?;
                Ok(ColumnValues { inexact, ..gathered })
            }
            ColumnType::Timestamp(unit) => {
                let (gathered, inexact) = self.times(position, parsing, unit);
                let nulls = Values::<i64>::nulls(gathered.valid);
                let array = timestamp_array(gathered.values, nulls, unit)?;
                Ok(ColumnValues { inexact, ..self.done(array, gathered.wrong, gathered.counts)? })
            }
            ColumnType::Date => {
                let gathered = self.gather(position, |bytes| {
                    let time = parse(bytes, parsing.dates).ok_or_else(|| "is not a date".to_owned())?;
                    let is_fit = !is_inferred || time.is_date;
                    time.days().filter(|_| is_fit).ok_or_else(|| "has a time of day; the column holds dates".to_owned())
                });
                let nulls = Values::<i32>::nulls(gathered.valid);
                self.done(
                    Arc::new(Date32Array::try_new(gathered.values.into(), nulls)?),
                    gathered.wrong,
                    gathered.counts,
                )
            }
            ColumnType::Int64 => self.counted::<Int64Type>(position, parsing),
            ColumnType::Int32 => self.counted::<Int32Type>(position, parsing),
            ColumnType::UInt32 => self.counted::<UInt32Type>(position, parsing),
            ColumnType::UInt64 => self.counted::<UInt64Type>(position, parsing),
            ColumnType::Binary => self.binary(position),
            ColumnType::Decimal { precision, scale } => {
                let ty = self.column.column.column_type.sql_name();
                let values = self.primitive::<Decimal128Type>(position, |bytes| {
                    let with_point = self.column.has_decimal_commas.then(|| with_point(bytes));
                    let text = with_point.as_deref().unwrap_or(bytes).utf8();
                    decimal::parse(text, precision, scale).ok_or_else(|| format!("does not fit {ty}"))
                })?;
                let decimals = values.array.as_primitive::<Decimal128Type>().clone();
                let array = Arc::new(decimals.with_precision_and_scale(precision, scale.cast_signed())?);
                Ok(ColumnValues { array, ..values })
            }
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
            ColumnType::Text => self.texts(position, false, false),
        }
    }

    fn checked_texts(
        &self,
        position: usize,
        check: impl Fn(&str) -> Result<String, String>,
    ) -> Result<ColumnValues, ArrowError> {
        let mut texts: Vec<String> = Vec::new();
        let gathered = self.gather(position, |bytes| {
            texts.push(check(bytes.utf8())?);
            Ok(texts.len() - 1)
        });
        let present = gathered.valid.unwrap_or_else(|| vec![true; gathered.values.len()]);
        let text = |(at, is_present): (&usize, bool)| texts.get(*at).filter(|_| is_present);
        let array: StringArray = gathered.values.iter().zip(present).map(text).collect();
        self.done(Arc::new(array), gathered.wrong, gathered.counts)
    }

    fn primitive<T: ArrowPrimitiveType>(
        &self,
        position: usize,
        parse: impl FnMut(&[u8]) -> Result<T::Native, String>,
    ) -> Result<ColumnValues, ArrowError> {
        let gathered = self.gather(position, parse);
        let nulls = Values::<T::Native>::nulls(gathered.valid);
        self.done(
            Arc::new(PrimitiveArray::<T>::try_new(gathered.values.into(), nulls)?),
            gathered.wrong,
            gathered.counts,
        )
    }

    fn signed<T: ArrowPrimitiveType>(&self, position: usize, name: &str) -> Result<ColumnValues, ArrowError>
    where
        T::Native: TryFrom<i64>,
    {
        let convert = |value: i64| T::Native::try_from(value).ok();
        self.primitive::<T>(position, |bytes| any_i64(bytes).and_then(convert).ok_or_else(|| not_whole(bytes, name)))
    }

    fn unsigned<T: ArrowPrimitiveType>(&self, position: usize, name: &str) -> Result<ColumnValues, ArrowError>
    where
        T::Native: TryFrom<u64>,
    {
        let convert = |value: u64| T::Native::try_from(value).ok();
        self.primitive::<T>(position, |bytes| any_u64(bytes).and_then(convert).ok_or_else(|| not_whole(bytes, name)))
    }

    /// An integer time column: counts unchanged, or times as text.
    fn counted<T: ArrowPrimitiveType>(&self, position: usize, parsing: TimeParsing) -> Result<ColumnValues, ArrowError>
    where
        T::Native: TryFrom<i64>,
    {
        let parsing = TimeParsing { epoch: parsing.epoch.or(Some(self.column.count_unit)), ..parsing };
        let (gathered, _) = self.times(position, parsing, self.column.count_unit);
        let mut wrong = gathered.wrong;
        let mut values = Vec::with_capacity(gathered.values.len());
        for (row, count) in gathered.values.iter().enumerate() {
            values.push(T::Native::try_from(*count).unwrap_or_else(|_| {
                let field = self.read.records.column(position).nth(row).unwrap_or(Field::ABSENT);
                wrong.push(InvalidValue { row, field, reason: "is out of the column's range".to_owned() });
                T::Native::default()
            }));
        }
        let nulls = Values::<i64>::nulls(gathered.valid);
        self.done(Arc::new(PrimitiveArray::<T>::try_new(values.into(), nulls)?), wrong, gathered.counts)
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
            joined.extend_from_slice(bytes);
            if let Some(clock) = clocks.next().and_then(|field| self.nulls.value(field, text)) {
                joined.push(b' ');
                joined.extend_from_slice(clock);
            }
            let (count, is_first_of_two) = time_of(&joined, parsing, unit, false)?;
            twice.add_if(is_first_of_two, &joined);
            Ok(count)
        });
        let nulls = Values::<i64>::nulls(gathered.valid);
        let array = timestamp_array(gathered.values, nulls, unit)?;
        Ok(ColumnValues { inexact: twice, ..self.done(array, gathered.wrong, gathered.counts)? })
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

    pub(crate) fn parts(&self, fields: &[usize], zone: Option<Zone>) -> Result<ColumnValues, ArrowError> {
        let ColumnType::Timestamp(unit) = self.column.column.column_type else {
            return Err(ArrowError::SchemaError("year, month, day make a timestamp".to_owned()));
        };
        const WHAT: [&str; 6] = ["year", "month", "day", "hour", "minute", "second"];
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
                            Some(_) => format!("is not a valid {}", WHAT[part]),
                            None => format!("the {} of a time cannot be NULL", WHAT[part]),
                        };
                        record_error = record_error.or(Some((field, reason)));
                    }
                }
            }
            let written = self.read.records.fields[first + fields[0]];
            let count = time_of_parts(numbers, zone, unit).ok_or_else(|| {
                let parts: Vec<String> = numbers[..fields.len()].iter().map(i64::to_string).collect();
                (written, format!("there is no time of {} {}", WHAT[..fields.len()].join(","), parts.join(",")))
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
        let nulls = Values::<i64>::nulls(gathered.valid);
        let array = timestamp_array(gathered.values, nulls, unit)?;
        Ok(ColumnValues { inexact: twice, ..self.done(array, gathered.wrong, gathered.counts)? })
    }

    fn binary(&self, position: usize) -> Result<ColumnValues, ArrowError> {
        let text = self.read.text.as_bytes();
        let column = self.read.records.column(position);
        let mut counts = NullCounts::default();
        let values = column.map(|field| {
            if let Some(null) = self.nulls.null_text(field, text) {
                counts.add(null);
                return None;
            }
            let bytes = field.unescaped(&self.read.text).into_bytes();
            let hex = bytes.strip_prefix(b"\\x").and_then(from_hex);
            Some(hex.unwrap_or(bytes))
        });
        let array: ArrayRef = Arc::new(values.collect::<BinaryArray>());
        self.done(array, Vec::new(), counts)
    }

    pub(crate) fn texts(&self, position: usize, is_padded: bool, is_counted: bool) -> Result<ColumnValues, ArrowError> {
        let text = self.read.text.as_bytes();
        let column = self.read.records.column(position);
        let is_mapped = self.column.column.map.is_some();
        let mut numbers = is_mapped.then(TextNumbers::new);
        let mut indices: Vec<u32> = Vec::with_capacity(if is_mapped { column.len() } else { 0 });
        let (mut offsets, mut bytes) = (vec![0_i32], Vec::new());
        let mut rest = Values::<()>::with_capacity(0);
        let (mut distinct, mut value_count) = (Distinct::default(), 0);
        let mut last: (&[u8], u32) = (b"", u32::MAX);
        for (row, field) in column.enumerate() {
            if !self.column.is_known && self.nulls.value(field, text).is_some() && rest.wrong.is_empty() {
                let reason = "is the column's first value".to_owned();
                rest.wrong.push(InvalidValue { row, field, reason });
            }
            let null = self.nulls.null_text(field, text);
            let is_kept = matches!(null, Some(NullField::Text(number)) if self.column.kept_words.has(number));
            if let Some(null) = null.filter(|_| is_kept) {
                rest.counts.add(null);
            } else if null.is_some() {
                self.null(&mut rest, row, field);
                if is_mapped {
                    indices.push(0)
                } else {
                    offsets.push(bytes.len() as i32)
                }
                continue;
            }
            value_count += 1;
            let unescaped;
            let mut value = field.bytes(text);
            if field.is_escaped() {
                unescaped = field.unescaped(&self.read.text);
                value = unescaped.as_bytes();
            } else if is_padded && !field.is_quoted() {
                value = value.trim_ascii();
            }
            match &mut numbers {
                // Neighbouring rows often share a text.
                Some(_) if last.0 == value && last.1 != u32::MAX => indices.push(last.1),
                Some(numbers) => {
                    let number = numbers.number(value);
                    indices.push(number);
                    if !field.is_escaped() {
                        last = (field.bytes(text).trim_if(is_padded && !field.is_quoted()), number);
                    }
                }
                None => {
                    if is_counted {
                        distinct.add(hash(value));
                    }
                    bytes.extend_from_slice(value);
                    offsets.push(bytes.len() as i32);
                }
            }
            if let Some(valid) = &mut rest.valid {
                valid.push(true);
            }
        }
        let nulls = Values::<()>::nulls(rest.valid);
        let array: ArrayRef = match numbers {
            Some(mut numbers) => {
                if is_counted {
                    numbers.hashes().iter().for_each(|hash| distinct.add(*hash));
                }
                if numbers.hashes().is_empty() {
                    // All NULL: their index must still lead somewhere.
                    numbers.number(b"");
                }
                numbers.into_array(indices, nulls)?
            }
            None => Arc::new(text_array(offsets, bytes, nulls)?),
        };
        let distinct = is_counted.then_some((distinct, value_count));
        Ok(ColumnValues { array, wrong: rest.wrong, distinct, nulls: rest.counts, inexact: Inexact::default() })
    }
}

trait TrimIf {
    fn trim_if(&self, is_padded: bool) -> &[u8];
}

impl TrimIf for [u8] {
    fn trim_if(&self, is_padded: bool) -> &[u8] {
        if is_padded { self.trim_ascii() } else { self }
    }
}
