//! Values in binary, in the form of PostgreSQL's send functions.

use super::calendar::{EPOCH_DAYS, EPOCH_US};
use super::cells::{Cell, Cells};
use super::{known, numeric, text};
use crate::pg::error::PgError;
use arrow::array::{Array, ArrayRef};
use atsdb::uuid_text;
use std::sync::Arc;

/// Appends the value for a column of this type. Returns `false` for NULL, for which nothing is appended.
pub(in crate::pg) fn push(out: &mut Vec<u8>, type_id: u32, cell: &Cell<'_>) -> Result<bool, PgError> {
    match cell {
        Cell::Null => return Ok(false),
        Cell::Bool(value) => out.push(u8::from(*value)),
        Cell::Int(value) => match type_id {
            known::INT2 => out.extend((*value as i16).to_be_bytes()),
            known::INT8 => out.extend(value.to_be_bytes()),
            _ => out.extend((*value as i32).to_be_bytes()),
        },
        // Object numbers of the catalogue have 32 bits, unsigned.
        Cell::Named(number, _) => out.extend((*number as u32).to_be_bytes()),
        Cell::Float32(value) => out.extend(value.to_be_bytes()),
        Cell::Float64(value) => out.extend(value.to_be_bytes()),
        Cell::Numeric(digits) => numeric::push(out, digits),
        Cell::Text(text) if type_id == known::UUID => {
            out.extend(uuid_text::to_bytes(text).ok_or_else(|| super::input::invalid(type_id, text))?);
        }
        Cell::Text(text) if type_id == known::JSONB => {
            out.push(known::JSONB_VERSION);
            out.extend(text.as_bytes());
        }
        Cell::Text(text) => out.extend(text.as_bytes()),
        Cell::Json(text) => out.extend(text.as_bytes()),
        Cell::Bytes(bytes) => out.extend(*bytes),
        Cell::Date(days) => {
            let days = i32::try_from(*days - i64::from(EPOCH_DAYS)).map_err(|_| text::out_of_range())?;
            out.extend(days.to_be_bytes());
        }
        Cell::Time(microseconds) => out.extend(microseconds.to_be_bytes()),
        Cell::Timestamp(microseconds) => {
            let since = microseconds.and_then(|microseconds| microseconds.checked_sub(EPOCH_US));
            out.extend(since.ok_or_else(text::out_of_range)?.to_be_bytes());
        }
        Cell::Interval { months, days, microseconds } => {
            out.extend(microseconds.to_be_bytes());
            out.extend(days.to_be_bytes());
            out.extend(months.to_be_bytes());
        }
        // An array of UUIDs has texts.
        Cell::List(element, list) => {
            push_array(out, known::element_of(type_id).map_or(*element, |known| known.id), list)?;
        }
    }
    Ok(true)
}

/// Appends an array with dimensions that begin at 1, or with none if it is empty.
fn push_array(out: &mut Vec<u8>, element: u32, list: &ArrayRef) -> Result<(), PgError> {
    let (mut lengths, mut parts) = (Vec::new(), Vec::new());
    flatten(list, 0, &mut lengths, &mut parts)?;
    if lengths.contains(&0) {
        lengths.clear();
        parts.clear();
    }
    out.extend((lengths.len() as i32).to_be_bytes());
    out.extend(i32::from(parts.iter().any(|part| part.null_count() > 0)).to_be_bytes());
    out.extend(element.to_be_bytes());
    for length in lengths {
        out.extend(length.to_be_bytes());
        out.extend(1_i32.to_be_bytes());
    }
    for part in &parts {
        let cells = Cells::new(part);
        for row in 0..part.len() {
            push_value(out, |out| push(out, element, &cells.get(row)))?;
        }
    }
    Ok(())
}

/// Collects the lengths of the dimensions of an array from this one on, and the innermost arrays.
fn flatten(
    list: &ArrayRef,
    dimension: usize,
    lengths: &mut Vec<i32>,
    parts: &mut Vec<ArrayRef>,
) -> Result<(), PgError> {
    let uneven = || PgError::error("2202E", "the arrays in an array differ in length").with_hint("read it as text");
    let here = i32::try_from(list.len())
        .map_err(|_| PgError::error("54000", "an array is longer than the protocol allows"))?;
    match lengths.get(dimension) {
        None => lengths.push(here),
        Some(length) if *length == here => {}
        Some(_) => return Err(uneven()),
    }
    if !list.data_type().is_nested() {
        parts.push(Arc::clone(list));
        return Ok(());
    }
    let cells = Cells::new(list);
    for row in 0..list.len() {
        match cells.get(row) {
            Cell::List(_, inner) => flatten(&inner, dimension + 1, lengths, parts)?,
            _ => return Err(uneven()),
        }
    }
    Ok(())
}

/// Appends a value with its length before it, -1 for NULL.
pub(in crate::pg) fn push_value(
    out: &mut Vec<u8>,
    value: impl FnOnce(&mut Vec<u8>) -> Result<bool, PgError>,
) -> Result<(), PgError> {
    let start = out.len();
    out.extend([0; 4]);
    let length = match value(out)? {
        true => i32::try_from(out.len() - start - 4)
            .map_err(|_| PgError::error("54000", "a value is longer than the protocol allows"))?,
        false => -1,
    };
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}
