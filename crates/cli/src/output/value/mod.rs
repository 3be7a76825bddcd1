//! How one value reads, in every format: [`Cells`] renders the values of one column of a batch.
//!
//! Times are ISO 8601 with as many digits of a second as they need (0, 3, 6 or 9) and `Z` where the type says UTC;
//! floats are the shortest text that reads back to the same value, `NaN`, `inf` and `-inf`; binary is `\x` and
//! hexadecimal digits; lists and structs are JSON.

pub(crate) mod calendar;
mod nested;
mod number;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{
    ArrowDictionaryKeyType, DataType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use atsdb_core::{Error, Result};
use std::io::Write;

/// What kind of text a column's values give, which decides quotes and alignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A number that JSON takes as it is.
    Number,
    /// A number, or one of the three texts that JSON has no number for.
    Float,
    /// true or false.
    Bool,
    /// A list or a struct, as JSON.
    Nested,
    /// Anything else.
    Text,
}

type Render<'a> = Box<dyn Fn(usize, &mut Vec<u8>) + 'a>;

/// The values of one column, ready to be written.
pub(crate) struct Cells<'a> {
    nulls: Option<NullBuffer>,
    kind: Kind,
    render: Render<'a>,
}

impl<'a> Cells<'a> {
    /// Looks the column's type up once, so that a value costs no more than its text.
    pub(crate) fn new(array: &'a dyn Array) -> Result<Self> {
        let (kind, render) = renderer(array)?;
        Ok(Self { nulls: array.logical_nulls(), kind, render })
    }

    /// What kind of text the values give.
    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether the value of a row is NULL.
    pub(crate) fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    /// Appends the text of a row's value, which is not NULL.
    pub(crate) fn write(&self, row: usize, out: &mut Vec<u8>) {
        (self.render)(row, out);
    }

    /// Appends a row's value, NULL or not, as JSON.
    pub(crate) fn write_json(&self, row: usize, out: &mut Vec<u8>) {
        if self.is_null(row) {
            out.extend_from_slice(b"null");
            return;
        }
        let start = out.len();
        self.write(row, out);
        let is_quoted = match self.kind {
            Kind::Number | Kind::Bool | Kind::Nested => false,
            Kind::Float => !out.last().is_some_and(u8::is_ascii_digit),
            Kind::Text => true,
        };
        if is_quoted {
            let text = String::from_utf8_lossy(&out.split_off(start)).into_owned();
            write_json_text(&text, out);
        }
    }
}

/// The kind of a type's text, before there are values.
pub(crate) fn kind_of(data_type: &DataType) -> Kind {
    use DataType as T;
    match data_type {
        T::Boolean => Kind::Bool,
        T::Float16 | T::Float32 | T::Float64 => Kind::Float,
        T::Dictionary(_, values) => kind_of(values),
        T::List(_) | T::LargeList(_) | T::FixedSizeList(_, _) | T::Struct(_) => Kind::Nested,
        T::Decimal32(_, _) | T::Decimal64(_, _) | T::Decimal128(_, _) | T::Decimal256(_, _) => Kind::Number,
        other if other.is_integer() => Kind::Number,
        _ => Kind::Text,
    }
}

/// Appends a text as a JSON string.
pub(crate) fn write_json_text(text: &str, out: &mut Vec<u8>) {
    // Writing to memory does not fail.
    let _ = serde_json::to_writer(&mut *out, text);
}

fn renderer<'a>(array: &'a dyn Array) -> Result<(Kind, Render<'a>)> {
    use DataType as T;
    let kind = kind_of(array.data_type());
    let render: Render<'a> = match array.data_type() {
        T::Null => Box::new(|_, _| {}),
        T::Boolean => {
            let values = array.as_boolean();
            Box::new(|row, out| out.extend_from_slice(if values.value(row) { b"true" } else { b"false" }))
        }
        T::Utf8 => text(array.as_string::<i32>(), |values, row| values.value(row).as_bytes()),
        T::LargeUtf8 => text(array.as_string::<i64>(), |values, row| values.value(row).as_bytes()),
        T::Utf8View => text(array.as_string_view(), |values, row| values.value(row).as_bytes()),
        T::Binary => binary(array.as_binary::<i32>(), |values, row| values.value(row)),
        T::LargeBinary => binary(array.as_binary::<i64>(), |values, row| values.value(row)),
        T::BinaryView => binary(array.as_binary_view(), |values, row| values.value(row)),
        T::FixedSizeBinary(_) => binary(array.as_fixed_size_binary(), |values, row| values.value(row)),
        T::Timestamp(unit, zone) if calendar::is_plain_zone(zone.as_deref()) => {
            calendar::timestamps(array, *unit, zone.is_some())?
        }
        T::Date32 => calendar::dates(array),
        T::Dictionary(key, _) => match key.as_ref() {
            T::Int8 => dictionary::<Int8Type>(array)?,
            T::Int16 => dictionary::<Int16Type>(array)?,
            T::Int32 => dictionary::<Int32Type>(array)?,
            T::Int64 => dictionary::<Int64Type>(array)?,
            T::UInt8 => dictionary::<UInt8Type>(array)?,
            T::UInt16 => dictionary::<UInt16Type>(array)?,
            T::UInt32 => dictionary::<UInt32Type>(array)?,
            _ => dictionary::<UInt64Type>(array)?,
        },
        T::List(_) => nested::list(array.as_list::<i32>())?,
        T::LargeList(_) => nested::list(array.as_list::<i64>())?,
        T::FixedSizeList(_, _) => nested::fixed_list(array)?,
        T::Struct(_) => nested::structs(array)?,
        T::Float16 => {
            let wide = cast(array, &T::Float32).map_err(unreadable)?;
            Box::new(move |row, out| number::write_float(f64::from(float32(&wide, row)), out))
        }
        _ => match number::numbers(array) {
            Some(render) => render,
            None => other(array)?,
        },
    };
    Ok((kind, render))
}

fn float32(array: &ArrayRef, row: usize) -> f32 {
    array.as_primitive::<arrow::datatypes::Float32Type>().value(row)
}

fn text<'a, A: Copy + 'a>(values: A, value: impl Fn(A, usize) -> &'a [u8] + 'a) -> Render<'a> {
    Box::new(move |row, out| out.extend_from_slice(value(values, row)))
}

fn binary<'a, A: Copy + 'a>(values: A, value: impl Fn(A, usize) -> &'a [u8] + 'a) -> Render<'a> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    Box::new(move |row, out| {
        out.extend_from_slice(b"\\x");
        for byte in value(values, row) {
            out.push(DIGITS[usize::from(byte >> 4)]);
            out.push(DIGITS[usize::from(byte & 15)]);
        }
    })
}

fn dictionary<'a, K: ArrowDictionaryKeyType>(array: &'a dyn Array) -> Result<Render<'a>> {
    let dictionary = array.as_dictionary::<K>();
    let (_, render) = renderer(dictionary.values().as_ref())?;
    Ok(Box::new(move |row, out| {
        if let Some(key) = dictionary.key(row) {
            render(key, out);
        }
    }))
}

/// What has no text of its own here: intervals, times of day, decimals, other zones.
fn other<'a>(array: &'a dyn Array) -> Result<Render<'a>> {
    let options = FormatOptions::new().with_display_error(true);
    let formatter = ArrayFormatter::try_new(array, &options).map_err(unreadable)?;
    Ok(Box::new(move |row, out| {
        // Writing to memory does not fail.
        let _ = write!(out, "{}", formatter.value(row));
    }))
}

fn unreadable(error: arrow::error::ArrowError) -> Error {
    Error::internal(format!("cannot show a value: {error}"))
}

#[cfg(test)]
mod tests;
