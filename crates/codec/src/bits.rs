//! Bits: as a bitmap, as run lengths, or as a compressed bitmap, whichever is shortest.
//!
//! This is shared by validity and booleans. A bitmap has the first bit in the lowest bit of the first byte. Run lengths
//! are varints: of zeros, of ones, of zeros, ...; only the first may be 0.

use crate::block::{compress, decompress};
use crate::encoding::Effort;
use crate::wire::{Damage, DecodeResult, Reader, write_varint};
use arrow::array::BooleanBufferBuilder;
use arrow::buffer::{BooleanBuffer, Buffer};
use atsdb_core::Result;

/// The forms of encoded bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum BitForm {
    Bitmap = 0,
    Runs = 1,
    Zstd = 2,
}

impl BitForm {
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        [Self::Bitmap, Self::Runs, Self::Zstd].get(usize::from(number)).copied()
    }
}

/// Encodes bits in the shortest form.
pub(crate) fn encode_bits(bits: &BooleanBuffer, effort: Effort) -> Result<(BitForm, Vec<u8>)> {
    let plain = bitmap(bits);
    let compressed = match effort {
        Effort::Fresh => None,
        Effort::Sealed => compress(&plain, effort)?,
    };
    let mut best = (BitForm::Bitmap, plain);
    if let Some(compressed) = compressed {
        best = (BitForm::Zstd, compressed);
    }
    if let Some(runs) = runs(bits, best.1.len()) {
        best = (BitForm::Runs, runs);
    }
    Ok(best)
}

/// Decodes `count` bits from bytes in this form.
pub(crate) fn decode_bits(form: BitForm, bytes: &[u8], count: usize) -> DecodeResult<BooleanBuffer> {
    let byte_count = count.div_ceil(8);
    match form {
        BitForm::Bitmap if bytes.len() == byte_count => Ok(BooleanBuffer::new(Buffer::from(bytes), 0, count)),
        BitForm::Bitmap => Err(Damage(format!("a bitmap of {} bytes for {count} rows", bytes.len()))),
        BitForm::Runs => decode_runs(bytes, count),
        BitForm::Zstd => {
            let bitmap = decompress(bytes, byte_count)?;
            Ok(BooleanBuffer::new(Buffer::from_vec(bitmap), 0, count))
        }
    }
}

fn bitmap(bits: &BooleanBuffer) -> Vec<u8> {
    let count = bits.len();
    let aligned = bits.inner().bit_slice(bits.offset(), count);
    let mut bytes = aligned.as_slice()[..count.div_ceil(8)].to_vec();
    // The bits after the last one are arbitrary, and must not appear in the page.
    if let (Some(last), used @ 1..) = (bytes.last_mut(), count % 8) {
        *last &= (1 << used) - 1;
    }
    bytes
}

/// Returns the run lengths, if they have fewer bytes than `limit`.
fn runs(bits: &BooleanBuffer, limit: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut written = 0;
    for (start, end) in bits.set_slices() {
        write_varint(&mut bytes, (start - written) as u64);
        write_varint(&mut bytes, (end - start) as u64);
        written = end;
        if bytes.len() >= limit {
            return None;
        }
    }
    if written < bits.len() {
        write_varint(&mut bytes, (bits.len() - written) as u64);
    }
    (bytes.len() < limit).then_some(bytes)
}

fn decode_runs(bytes: &[u8], count: usize) -> DecodeResult<BooleanBuffer> {
    let mut reader = Reader::new(bytes);
    let mut bits = BooleanBufferBuilder::new(count);
    let mut value = false;
    while reader.remaining() > 0 {
        let run = reader.varint_up_to(count - bits.len())?;
        if run == 0 && !bits.is_empty() {
            return Err("a run of no rows".into());
        }
        bits.append_n(run, value);
        value = !value;
    }
    if bits.len() == count { Ok(bits.finish()) } else { Err("the runs end too early".into()) }
}
