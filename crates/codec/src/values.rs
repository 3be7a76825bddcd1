//! The values of a page: the family of encodings for each Arrow type, the conversion of Arrow arrays, and columns of
//! arrays, whose elements are encoded like a column.

use crate::boolean::{decode_booleans, encode_booleans, gather_booleans, scatter_booleans};
use crate::encoding::{Effort, Encoding};
use crate::number::Number;
use crate::numbers::{decode_numbers, encode_numbers, gather_numbers, scatter_numbers};
use crate::plain_numbers::{read_numbers, write_numbers};
use crate::statistics::{of_booleans, of_bytes, of_numbers};
use crate::text::{PAGE_TEXT_BYTES_MAX, TextValues, decode_text, encode_text};
use crate::types::element_bytes;
use crate::validity::{read_validity, write_validity};
use crate::wire::{Damage, DecodeResult, Reader};
use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, GenericByteArray, ListArray, PrimitiveArray,
};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::compute::filter;
use arrow::datatypes::{self as arrow_types, BinaryType, ByteArrayType, DataType, FieldRef, TimeUnit, Utf8Type};
use atsdb_core::{ColumnStatistics, Error, ErrorKind, Result};
use std::sync::Arc;

/// Calls a function that is generic over Arrow's number types with the one of a data type.
macro_rules! with_number_type {
    ($data_type:expr, $function:ident($($argument:expr),*), $other:expr) => {
        match $data_type {
            DataType::Int8 => $function::<arrow_types::Int8Type>($($argument),*),
            DataType::Int16 => $function::<arrow_types::Int16Type>($($argument),*),
            DataType::Int32 => $function::<arrow_types::Int32Type>($($argument),*),
            DataType::Int64 => $function::<arrow_types::Int64Type>($($argument),*),
            DataType::UInt8 => $function::<arrow_types::UInt8Type>($($argument),*),
            DataType::UInt16 => $function::<arrow_types::UInt16Type>($($argument),*),
            DataType::UInt32 => $function::<arrow_types::UInt32Type>($($argument),*),
            DataType::UInt64 => $function::<arrow_types::UInt64Type>($($argument),*),
            DataType::Float32 => $function::<arrow_types::Float32Type>($($argument),*),
            DataType::Float64 => $function::<arrow_types::Float64Type>($($argument),*),
            DataType::Date32 => $function::<arrow_types::Date32Type>($($argument),*),
            DataType::Timestamp(TimeUnit::Second, _) => $function::<arrow_types::TimestampSecondType>($($argument),*),
            DataType::Timestamp(TimeUnit::Millisecond, _) => {
                $function::<arrow_types::TimestampMillisecondType>($($argument),*)
            }
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                $function::<arrow_types::TimestampMicrosecondType>($($argument),*)
            }
            DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                $function::<arrow_types::TimestampNanosecondType>($($argument),*)
            }
            _ => $other,
        }
    };
}

/// Writes the values of an array that are not NULL, and returns their encoding and statistics. `nulls` is `None` if no
/// row is NULL. Numbers get a sum only with `is_summed`.
pub(crate) fn encode_values(
    out: &mut Vec<u8>,
    array: &dyn Array,
    nulls: Option<&NullBuffer>,
    is_summed: bool,
    effort: Effort,
) -> Result<(Encoding, ColumnStatistics)> {
    match array.data_type() {
        DataType::Boolean => {
            let values = gather_booleans(array.as_boolean(), nulls);
            Ok((encode_booleans(out, &values, effort)?, of_booleans(&values)))
        }
        DataType::Utf8 => encode_byte_array::<Utf8Type>(out, array, nulls, effort),
        DataType::Binary => encode_byte_array::<BinaryType>(out, array, nulls, effort),
        DataType::List(_) => {
            encode_arrays(out, array.as_list(), nulls, effort)?;
            Ok((Encoding::Array, ColumnStatistics::default()))
        }
        data_type => with_number_type!(
            data_type,
            encode_number_array(out, array, nulls, is_summed, effort),
            Err(Error::internal(format!("pages cannot contain {data_type}")))
        ),
    }
}

/// Reads `present_count` values from the rest of the reader, and distributes them to their rows.
pub(crate) fn decode_values(
    data_type: &DataType,
    encoding: Encoding,
    reader: &mut Reader<'_>,
    present_count: usize,
    nulls: Option<NullBuffer>,
) -> DecodeResult<ArrayRef> {
    match data_type {
        DataType::Boolean => {
            let values = decode_booleans(encoding, reader, present_count)?;
            let rows = scatter_booleans(values, nulls.as_ref());
            Ok(Arc::new(BooleanArray::new(rows, nulls)))
        }
        DataType::Utf8 => decode_byte_array::<Utf8Type>(encoding, reader, present_count, nulls),
        DataType::Binary => decode_byte_array::<BinaryType>(encoding, reader, present_count, nulls),
        DataType::List(element) => Ok(Arc::new(decode_arrays(element, encoding, reader, present_count, nulls)?)),
        data_type => with_number_type!(
            data_type,
            decode_number_array(data_type, encoding, reader, present_count, nulls),
            Err(Damage(format!("pages cannot contain {data_type}")))
        ),
    }
}

fn encode_number_array<P: ArrowPrimitiveType<Native: Number>>(
    out: &mut Vec<u8>,
    array: &dyn Array,
    nulls: Option<&NullBuffer>,
    is_summed: bool,
    effort: Effort,
) -> Result<(Encoding, ColumnStatistics)> {
    let rows = array.as_primitive::<P>().values();
    match nulls {
        None => Ok((encode_numbers(out, rows, effort)?, of_numbers(rows, is_summed))),
        Some(nulls) => {
            let values = gather_numbers(rows, nulls);
            Ok((encode_numbers(out, &values, effort)?, of_numbers(&values, is_summed)))
        }
    }
}

fn decode_number_array<P: ArrowPrimitiveType<Native: Number>>(
    data_type: &DataType,
    encoding: Encoding,
    reader: &mut Reader<'_>,
    present_count: usize,
    nulls: Option<NullBuffer>,
) -> DecodeResult<ArrayRef> {
    let values: Vec<P::Native> = decode_numbers(encoding, reader, present_count)?;
    let rows = scatter_numbers(values, nulls.as_ref());
    let array = PrimitiveArray::<P>::try_new(ScalarBuffer::from(rows), nulls)?;
    Ok(Arc::new(array.with_data_type(data_type.clone())))
}

fn encode_byte_array<T: ByteArrayType<Offset = i32>>(
    out: &mut Vec<u8>,
    array: &dyn Array,
    nulls: Option<&NullBuffer>,
    effort: Effort,
) -> Result<(Encoding, ColumnStatistics)> {
    let array = array.as_bytes::<T>();
    let values = TextValues::new(array.value_data(), array.value_offsets(), nulls);
    Ok((encode_text(out, &values, effort)?, of_bytes(values.iter())))
}

fn decode_byte_array<T: ByteArrayType<Offset = i32>>(
    encoding: Encoding,
    reader: &mut Reader<'_>,
    present_count: usize,
    nulls: Option<NullBuffer>,
) -> DecodeResult<ArrayRef> {
    let text = decode_text(encoding, reader, present_count)?;
    let lengths = scatter_numbers(text.lengths, nulls.as_ref());
    // The lengths were checked: their sum is the number of bytes, and fits into 31 bits.
    let offsets = OffsetBuffer::from_lengths(lengths.into_iter().map(|length| length as usize));
    let array = GenericByteArray::<T>::try_new(offsets, Buffer::from_vec(text.bytes), nulls)?;
    Ok(Arc::new(array))
}

/// Writes the arrays that are not NULL: their lengths as numbers, then all elements, encoded like a column.
fn encode_arrays(out: &mut Vec<u8>, arrays: &ListArray, nulls: Option<&NullBuffer>, effort: Effort) -> Result<()> {
    let present = match nulls {
        None => arrays.clone(),
        // A NULL may have elements, too.
        Some(nulls) => filter(arrays, &BooleanArray::new(nulls.inner().clone(), None))?.as_list::<i32>().clone(),
    };
    let offsets = present.offsets();
    let lengths: Vec<u32> = offsets.windows(2).map(|ends| (ends[1] - ends[0]).unsigned_abs()).collect();
    let (first, last) = (offsets[0] as usize, offsets[offsets.len() - 1] as usize);
    let elements = present.values().slice(first, last - first);
    let byte_count = elements.len() * element_bytes(elements.data_type());
    if byte_count > PAGE_TEXT_BYTES_MAX {
        let message = format!("{byte_count} bytes of arrays in one chunk; the maximum is {PAGE_TEXT_BYTES_MAX}");
        return Err(Error::new(ErrorKind::Limit, message).with_hint("append fewer rows at a time"));
    }
    write_numbers(out, &lengths, effort)?;
    let nulls = elements.nulls().filter(|nulls| nulls.null_count() > 0);
    write_validity(out, nulls, elements.len(), effort)?;
    let encoding_at = out.len();
    out.push(0);
    let (encoding, _) = encode_values(out, &elements, nulls, false, effort)?;
    out[encoding_at] = encoding.number();
    Ok(())
}

/// Reads `present_count` arrays from the rest of the reader, and distributes them to their rows.
fn decode_arrays(
    element: &FieldRef,
    encoding: Encoding,
    reader: &mut Reader<'_>,
    present_count: usize,
    nulls: Option<NullBuffer>,
) -> DecodeResult<ListArray> {
    if encoding != Encoding::Array {
        return Err("arrays in an encoding of another type".into());
    }
    let lengths: Vec<u32> = read_numbers(reader, present_count)?;
    let count: u64 = lengths.iter().map(|length| u64::from(*length)).sum();
    if count * element_bytes(element.data_type()) as u64 > PAGE_TEXT_BYTES_MAX as u64 {
        return Err(Damage(format!("{count} elements of arrays; they may have {PAGE_TEXT_BYTES_MAX} bytes")));
    }
    let element_nulls = read_validity(reader, count as usize)?;
    let encoding = Encoding::from_repr(reader.byte()?).ok_or("elements in an unknown encoding")?;
    let value_count = count as usize - element_nulls.as_ref().map_or(0, NullBuffer::null_count);
    let elements = decode_values(element.data_type(), encoding, reader, value_count, element_nulls)?;
    let lengths = scatter_numbers(lengths, nulls.as_ref());
    let offsets = OffsetBuffer::from_lengths(lengths.into_iter().map(|length| length as usize));
    Ok(ListArray::try_new(FieldRef::clone(element), offsets, elements, nulls)?)
}

impl From<arrow::error::ArrowError> for Damage {
    fn from(error: arrow::error::ArrowError) -> Self {
        Self(error.to_string())
    }
}
