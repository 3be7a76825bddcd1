//! Validity: a flag for each row of a page, set if the row is not NULL. It comes first in the payload, and only the
//! values of these rows follow.
//!
//! The first byte is 0 if no row is NULL, 1 if every row is, and otherwise 2 plus the form of the bits, which follow
//! after their length.

use crate::bits::{BitForm, decode_bits, encode_bits};
use crate::encoding::Effort;
use crate::wire::{DecodeResult, Reader, write_varint};
use arrow::buffer::NullBuffer;
use atsdb_core::Result;

const NONE_NULL: u8 = 0;
const ALL_NULL: u8 = 1;
const FIRST_FORM: u8 = 2;

/// Writes which of `row_count` rows are not NULL.
pub(crate) fn write_validity(
    out: &mut Vec<u8>,
    nulls: Option<&NullBuffer>,
    row_count: usize,
    effort: Effort,
) -> Result<()> {
    match nulls.map_or(0, NullBuffer::null_count) {
        0 => out.push(NONE_NULL),
        null_count if null_count == row_count => out.push(ALL_NULL),
        _ => {
            let bits = nulls.expect("a null is counted").inner();
            let (form, bytes) = encode_bits(bits, effort)?;
            out.push(FIRST_FORM + form as u8);
            write_varint(out, bytes.len() as u64);
            out.extend_from_slice(&bytes);
        }
    }
    Ok(())
}

/// Reads which rows are not NULL; `None` means that no row is NULL.
pub(crate) fn read_validity(reader: &mut Reader<'_>, row_count: usize) -> DecodeResult<Option<NullBuffer>> {
    match reader.byte()? {
        NONE_NULL => Ok(None),
        ALL_NULL => Ok(Some(NullBuffer::new_null(row_count))),
        number => {
            let form = BitForm::from_number(number - FIRST_FORM).ok_or("validity of unknown form")?;
            let byte_count = reader.varint_up_to(reader.remaining())?;
            let bits = decode_bits(form, reader.bytes(byte_count)?, row_count)?;
            Ok(Some(NullBuffer::new(bits)))
        }
    }
}
