//! Numbers as text.

use super::cells::Render;
use arrow::array::{Array, AsArray};
use arrow::datatypes::{
    DataType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use std::io::Write;

/// The renderer of an integer or float column; `None` for another type.
pub(super) fn numbers<'a>(array: &'a dyn Array) -> Option<Render<'a>> {
    macro_rules! integers {
        ($type:ty) => {{
            let values = array.as_primitive::<$type>().values();
            // Writing to memory does not fail.
            Box::new(move |row: usize, out: &mut Vec<u8>| drop(write!(out, "{}", values[row])))
        }};
    }
    Some(match array.data_type() {
        DataType::Int8 => integers!(Int8Type),
        DataType::Int16 => integers!(Int16Type),
        DataType::Int32 => integers!(Int32Type),
        DataType::Int64 => integers!(Int64Type),
        DataType::UInt8 => integers!(UInt8Type),
        DataType::UInt16 => integers!(UInt16Type),
        DataType::UInt32 => integers!(UInt32Type),
        DataType::UInt64 => integers!(UInt64Type),
        DataType::Float32 => {
            let values = array.as_primitive::<Float32Type>().values();
            // Formatted in its own width: a 32-bit 0.1 is not 0.10000000149011612.
            Box::new(move |row, out| drop(write!(out, "{:?}", values[row])))
        }
        DataType::Float64 => {
            let values = array.as_primitive::<Float64Type>().values();
            Box::new(move |row, out| write_float(values[row], out))
        }
        _ => return None,
    })
}

/// Appends the shortest text that reads back to the same float, with a point or an exponent.
pub(super) fn write_float(value: f64, out: &mut Vec<u8>) {
    // Writing to memory does not fail.
    let _ = write!(out, "{value:?}");
}
