//! Values in binary, in the form of PostgreSQL's send functions.

use super::calendar::{EPOCH_DAYS, EPOCH_US};
use super::cells::{Cell, Cells};
use super::{known, numeric, text};
use crate::pg::error::PgError;
use arrow::array::{Array, ArrayRef};
use atsdb::uuid_text;

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

/// Appends an array with one dimension that begins at 1, or with none if it is empty.
fn push_array(out: &mut Vec<u8>, element: u32, list: &ArrayRef) -> Result<(), PgError> {
    out.extend(i32::from(!list.is_empty()).to_be_bytes());
    out.extend(i32::from(list.null_count() > 0).to_be_bytes());
    out.extend(element.to_be_bytes());
    if list.is_empty() {
        return Ok(());
    }
    out.extend((list.len() as i32).to_be_bytes());
    out.extend(1_i32.to_be_bytes());
    let cells = Cells::new(list);
    for row in 0..list.len() {
        push_value(out, |out| push(out, element, &cells.get(row)))?;
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
