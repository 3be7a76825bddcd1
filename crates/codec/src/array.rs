//! Arrays: their lengths as numbers, then all elements one after another, as a column of their own has them: which of
//! them are NULL, an encoding, and the values of the others.

use crate::encoding::{Effort, Encoding};
use crate::numbers::scatter_numbers;
use crate::plain_numbers::{read_numbers, write_numbers};
use crate::text::PAGE_TEXT_BYTES_MAX;
use crate::validity::{read_validity, write_validity};
use crate::values::{decode_values, encode_values};
use crate::wire::{Damage, DecodeResult, Reader};
use arrow::array::{Array, AsArray, BooleanArray, ListArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::filter;
use arrow::datatypes::{DataType, FieldRef};
use atsdb_core::{Error, ErrorKind, Result};

/// The size in bytes of an element, besides the letters of a text.
pub fn element_bytes(element: &DataType) -> usize {
    // A text has a length in memory.
    element.primitive_width().unwrap_or(if *element == DataType::Boolean { 1 } else { 4 })
}

/// Writes the arrays that are not NULL.
pub(crate) fn encode_arrays(
    out: &mut Vec<u8>,
    arrays: &ListArray,
    nulls: Option<&NullBuffer>,
    effort: Effort,
) -> Result<()> {
    let present = match nulls {
        None => arrays.clone(),
        // A NULL may have elements, too.
        Some(nulls) => filter(arrays, &BooleanArray::new(nulls.inner().clone(), None))?.as_list::<i32>().clone(),
    };
    let offsets = present.offsets();
    let lengths: Vec<u32> = offsets.lengths().map(|length| length as u32).collect();
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
    out[encoding_at] = encoding as u8;
    Ok(())
}

/// Reads `present_count` arrays from the rest of the reader, and distributes them to their rows.
pub(crate) fn decode_arrays(
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
