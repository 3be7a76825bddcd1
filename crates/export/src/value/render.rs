//! Formats the values of each type. Lists and structs are built from the cells of their children.

use super::cells::{Cells, Render, TextKind, kind_of, write_json_text};
use super::{calendar, number};
use arrow::array::{Array, ArrayRef, AsArray, GenericListArray, OffsetSizeTrait};
use arrow::compute::cast;
use arrow::datatypes::{
    ArrowDictionaryKeyType, DataType, Int8Type, Int16Type, Int32Type, Int64Type, IntervalMonthDayNano,
    IntervalMonthDayNanoType, IntervalUnit, TimeUnit, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use atsdb_core::array_text;
use atsdb_core::interval_text::{duration_text, interval_text};
use atsdb_core::{Error, Result};
use std::io::Write;
use std::ops::Range;

impl<'a> Cells<'a> {
    /// Chooses the rendering by the column's type once, so that a value costs no more than its text.
    pub fn new(array: &'a dyn Array) -> Result<Self> {
        let (kind, render) = renderer(array)?;
        Ok(Self { nulls: array.logical_nulls(), kind, render, json: lists_as_json(array)? })
    }
}

fn renderer<'a>(array: &'a dyn Array) -> Result<(TextKind, Render<'a>)> {
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
        T::List(_) | T::LargeList(_) | T::FixedSizeList(_, _) => lists(array)?,
        T::Struct(_) => structs(array)?,
        T::Float16 => {
            let wide = cast(array, &T::Float32).map_err(unreadable)?;
            Box::new(move |row, out| number::write_float(f64::from(float32(&wide, row)), out))
        }
        T::Interval(IntervalUnit::MonthDayNano) => {
            let values = array.as_primitive::<IntervalMonthDayNanoType>();
            Box::new(move |row, out| {
                let IntervalMonthDayNano { months, days, nanoseconds } = values.value(row);
                out.extend_from_slice(interval_text(months, days, nanoseconds).as_bytes());
            })
        }
        T::Duration(unit) => durations(array, *unit)?,
        _ => match number::numbers(array) {
            Some(render) => render,
            None => other(array)?,
        },
    };
    Ok((kind, render))
}

fn durations<'a>(array: &'a dyn Array, unit: TimeUnit) -> Result<Render<'a>> {
    let unit_nanos = match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    };
    let counts = cast(array, &DataType::Int64).map_err(unreadable)?;
    Ok(Box::new(move |row, out| {
        let count = counts.as_primitive::<Int64Type>().value(row);
        out.extend_from_slice(duration_text(count, unit_nanos).as_bytes());
    }))
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

/// Types without a special format here: intervals of other units, times of day, decimals, other zones.
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

/// Renders lists as JSON; `None` for another type.
fn lists_as_json<'a>(array: &'a dyn Array) -> Result<Option<Render<'a>>> {
    let Some((cells, range)) = elements(array)? else { return Ok(None) };
    Ok(Some(Box::new(move |row, out| write_json_list(&cells, range(row), out))))
}

/// Renders lists as PostgreSQL writes arrays.
fn lists<'a>(array: &'a dyn Array) -> Result<Render<'a>> {
    let (cells, range) = elements(array)?.ok_or_else(|| Error::internal("no list"))?;
    Ok(Box::new(move |row, out| write_array(&cells, range(row), out)))
}

type Ranges<'a> = Box<dyn Fn(usize) -> Range<usize> + 'a>;

/// The elements of all lists, and where those of each row are; `None` for another type.
fn elements<'a>(array: &'a dyn Array) -> Result<Option<(Cells<'a>, Ranges<'a>)>> {
    fn of_offsets<O: OffsetSizeTrait>(array: &GenericListArray<O>) -> Result<(Cells<'_>, Ranges<'_>)> {
        let offsets = array.value_offsets();
        let range = move |row: usize| offsets[row].as_usize()..offsets[row + 1].as_usize();
        Ok((Cells::new(array.values().as_ref())?, Box::new(range)))
    }
    Ok(Some(match array.data_type() {
        DataType::List(_) => of_offsets(array.as_list::<i32>())?,
        DataType::LargeList(_) => of_offsets(array.as_list::<i64>())?,
        DataType::FixedSizeList(_, _) => {
            let lists = array.as_fixed_size_list();
            let length = lists.value_length() as usize;
            (Cells::new(lists.values().as_ref())?, Box::new(move |row| row * length..(row + 1) * length))
        }
        _ => return Ok(None),
    }))
}

/// Renders structs.
fn structs<'a>(array: &'a dyn Array) -> Result<Render<'a>> {
    let structs = array.as_struct();
    let fields = structs
        .fields()
        .iter()
        .zip(structs.columns())
        .map(|(field, column)| Ok((field.name().clone(), Cells::new(column.as_ref())?)))
        .collect::<Result<Vec<_>>>()?;
    Ok(Box::new(move |row, out| {
        out.push(b'{');
        for (position, (name, cells)) in fields.iter().enumerate() {
            if position > 0 {
                out.push(b',');
            }
            write_json_text(name, out);
            out.push(b':');
            cells.write_json(row, out);
        }
        out.push(b'}');
    }))
}

fn write_json_list(cells: &Cells<'_>, rows: Range<usize>, out: &mut Vec<u8>) {
    out.push(b'[');
    for row in rows.clone() {
        if row > rows.start {
            out.push(b',');
        }
        cells.write_json(row, out);
    }
    out.push(b']');
}

fn write_array(cells: &Cells<'_>, rows: Range<usize>, out: &mut Vec<u8>) {
    out.push(b'{');
    for row in rows.clone() {
        if row > rows.start {
            out.push(b',');
        }
        if cells.is_null(row) {
            out.extend_from_slice(b"NULL");
            continue;
        }
        let start = out.len();
        cells.write(row, out);
        // Arrays in arrays are not quoted.
        if cells.json.is_none() {
            let text = String::from_utf8_lossy(&out.split_off(start)).into_owned();
            let mut quoted = String::new();
            array_text::push_element(&mut quoted, &text);
            out.extend_from_slice(quoted.as_bytes());
        }
    }
    out.push(b'}');
}
