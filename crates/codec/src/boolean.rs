//! Booleans: constant, or bits.

use crate::bits::{BitForm, decode_bits, encode_bits};
use crate::encoding::{Effort, Encoding};
use crate::wire::{DecodeResult, Reader};
use arrow::array::{BooleanArray, BooleanBufferBuilder};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use atsdb_core::Result;

/// Returns the values that are not NULL.
pub(crate) fn gather_booleans(array: &BooleanArray, nulls: Option<&NullBuffer>) -> BooleanBuffer {
    let Some(nulls) = nulls else { return array.values().clone() };
    let mut present = BooleanBufferBuilder::new(array.len() - nulls.null_count());
    for (start, end) in nulls.valid_slices() {
        present.append_buffer(&array.values().slice(start, end - start));
    }
    present.finish()
}

/// Writes values and returns their encoding.
pub(crate) fn encode_booleans(out: &mut Vec<u8>, values: &BooleanBuffer, effort: Effort) -> Result<Encoding> {
    let true_count = values.count_set_bits();
    if values.is_empty() {
        return Ok(Encoding::Null);
    }
    if true_count == 0 || true_count == values.len() {
        out.push(u8::from(true_count > 0));
        return Ok(Encoding::Constant);
    }
    let (form, bytes) = encode_bits(values, effort)?;
    out.extend_from_slice(&bytes);
    Ok(match form {
        BitForm::Bitmap => Encoding::Bitmap,
        BitForm::Runs => Encoding::Runs,
        BitForm::Zstd => Encoding::BitmapZstd,
    })
}

/// Reads `count` values from the rest of the reader.
pub(crate) fn decode_booleans(
    encoding: Encoding,
    reader: &mut Reader<'_>,
    count: usize,
) -> DecodeResult<BooleanBuffer> {
    let form = match encoding {
        Encoding::Null if count == 0 => return Ok(BooleanBuffer::new_unset(0)),
        Encoding::Constant => {
            return match reader.byte()? {
                0 => Ok(BooleanBuffer::new_unset(count)),
                1 => Ok(BooleanBuffer::new_set(count)),
                _ => Err("a boolean that is neither 0 nor 1".into()),
            };
        }
        Encoding::Bitmap => BitForm::Bitmap,
        Encoding::Runs => BitForm::Runs,
        Encoding::BitmapZstd => BitForm::Zstd,
        _ => return Err("booleans in an encoding of another type".into()),
    };
    decode_bits(form, reader.take_rest(), count)
}

/// Distributes the values to their rows; NULL rows contain false.
pub(crate) fn scatter_booleans(values: BooleanBuffer, nulls: Option<&NullBuffer>) -> BooleanBuffer {
    let Some(nulls) = nulls else { return values };
    let mut rows = BooleanBufferBuilder::new(nulls.len());
    let mut taken = 0;
    for (start, end) in nulls.valid_slices() {
        rows.append_n(start - rows.len(), false);
        rows.append_buffer(&values.slice(taken, end - start));
        taken += end - start;
    }
    rows.append_n(nulls.len() - rows.len(), false);
    rows.finish()
}
