//! The numbers of a page: floating point numbers also as decimals, sealed integers also as a rhythm. They serve
//! integers, floating point numbers, timestamps, dates, the indices of mapped columns, and the lengths and indices of
//! text.

use crate::decimal::{decode_decimals, encode_decimals};
use crate::encoding::{Effort, Encoding};
use crate::number::Number;
use crate::plain_numbers::{decode_plain_numbers, encode_plain_numbers};
use crate::rhythm::{decode_rhythm, encode_rhythm};
use crate::wire::{DecodeResult, Reader};
use arrow::buffer::NullBuffer;
use atsdb_core::Result;

/// Writes values and returns their encoding.
pub(crate) fn encode_numbers<T: Number>(out: &mut Vec<u8>, values: &[T], effort: Effort) -> Result<Encoding> {
    let start = out.len();
    let decimals = |out: &mut Vec<u8>| Ok(encode_decimals(out, values, effort)?.then_some(Encoding::Decimal));
    let encoding = encode_plain_numbers(out, values, effort, decimals)?;
    if effort == Effort::Sealed && matches!(encoding, Encoding::Pco | Encoding::Raw) {
        let mut rhythm = Vec::new();
        if encode_rhythm(&mut rhythm, values, effort)? && rhythm.len() < out.len() - start {
            out.truncate(start);
            out.extend_from_slice(&rhythm);
            return Ok(Encoding::Rhythm);
        }
    }
    Ok(encoding)
}

/// Reads `count` values from the rest of the reader.
pub(crate) fn decode_numbers<T: Number>(
    encoding: Encoding,
    reader: &mut Reader<'_>,
    count: usize,
) -> DecodeResult<Vec<T>> {
    match encoding {
        Encoding::Decimal => decode_decimals(reader, count),
        Encoding::Rhythm => decode_rhythm(reader, count),
        plain => decode_plain_numbers(plain, reader, count),
    }
}

/// Gathers the values that are not NULL.
pub(crate) fn gather_numbers<T: Copy>(values: &[T], nulls: &NullBuffer) -> Vec<T> {
    let mut present = Vec::with_capacity(values.len() - nulls.null_count());
    for (start, end) in nulls.valid_slices() {
        present.extend_from_slice(&values[start..end]);
    }
    present
}

/// Distributes the values to their rows; NULL rows contain 0.
pub(crate) fn scatter_numbers<T: Copy + Default>(values: Vec<T>, nulls: Option<&NullBuffer>) -> Vec<T> {
    let Some(nulls) = nulls else { return values };
    let mut rows = vec![T::default(); nulls.len()];
    let mut taken = 0;
    for (start, end) in nulls.valid_slices() {
        rows[start..end].copy_from_slice(&values[taken..taken + end - start]);
        taken += end - start;
    }
    rows
}
