//! Numbers in an encoding without nested numbers: constant, regular, raw, or compressed by pcodec.

use crate::encoding::{Effort, Encoding};
use crate::number::{Number, number_of_bytes, read_number, write_number};
use crate::pcodec;
use crate::wire::{DecodeResult, Reader, write_varint};
use atsdb_core::Result;

/// Fresh numbers of at most this many bytes stay raw: pcodec would take longer and save little.
const FRESH_RAW_BYTES_MAX: usize = 64;

/// Writes values and returns their encoding. `shorter` gets values that are neither constant nor regular first, and
/// writes them in another encoding, or writes nothing.
pub(crate) fn encode_plain_numbers<T: Number>(
    out: &mut Vec<u8>,
    values: &[T],
    effort: Effort,
    shorter: impl FnOnce(&mut Vec<u8>) -> Result<Option<Encoding>>,
) -> Result<Encoding> {
    let Some(first) = values.first() else { return Ok(Encoding::Null) };
    if let Some(step) = regular_step(values) {
        write_number(out, *first);
        if step == 0 {
            return Ok(Encoding::Constant);
        }
        write_number(out, T::from_bits(step));
        return Ok(Encoding::Regular);
    }
    let start = out.len();
    let raw_bytes = values.len() * T::WIDTH;
    if effort == Effort::Sealed || raw_bytes > FRESH_RAW_BYTES_MAX {
        let encoding = match shorter(out)? {
            Some(encoding) => encoding,
            None if values.len() <= pcodec::VALUES_MAX => {
                pcodec::encode(out, values, effort)?;
                Encoding::Pco
            }
            None => return write_raw(out, values),
        };
        if out.len() - start < raw_bytes {
            return Ok(encoding);
        }
        out.truncate(start);
    }
    write_raw(out, values)
}

fn write_raw<T: Number>(out: &mut Vec<u8>, values: &[T]) -> Result<Encoding> {
    out.reserve(values.len() * T::WIDTH);
    values.iter().for_each(|value| write_number(out, *value));
    Ok(Encoding::Raw)
}

/// Reads `count` values from the rest of the reader.
pub(crate) fn decode_plain_numbers<T: Number>(
    encoding: Encoding,
    reader: &mut Reader<'_>,
    count: usize,
) -> DecodeResult<Vec<T>> {
    match encoding {
        Encoding::Null if count == 0 => Ok(Vec::new()),
        Encoding::Constant => Ok(vec![read_number(reader)?; count]),
        Encoding::Regular => {
            let (first, step) = (read_number::<T>(reader)?.to_bits(), read_number::<T>(reader)?.to_bits());
            Ok((0..count as u64)
                .map(|position| T::from_bits(first.wrapping_add(step.wrapping_mul(position))))
                .collect())
        }
        Encoding::Raw => {
            let bytes = reader.bytes(count * T::WIDTH)?;
            Ok(bytes.chunks_exact(T::WIDTH).map(number_of_bytes).collect())
        }
        Encoding::Pco => pcodec::decode(reader.take_rest(), count),
        _ => Err("numbers in an encoding of another type".into()),
    }
}

/// Writes values after their encoding and length, so that other data can follow.
pub(crate) fn write_numbers<T: Number>(out: &mut Vec<u8>, values: &[T], effort: Effort) -> Result<()> {
    let mut bytes = Vec::new();
    let encoding = encode_plain_numbers(&mut bytes, values, effort, |_| Ok(None))?;
    out.push(encoding as u8);
    write_varint(out, bytes.len() as u64);
    out.extend_from_slice(&bytes);
    Ok(())
}

/// Reads what [`write_numbers`] wrote.
pub(crate) fn read_numbers<T: Number>(reader: &mut Reader<'_>, count: usize) -> DecodeResult<Vec<T>> {
    let encoding = Encoding::from_repr(reader.byte()?).ok_or("numbers in an unknown encoding")?;
    let byte_count = reader.varint_up_to(reader.remaining())?;
    let mut bytes = Reader::new(reader.bytes(byte_count)?);
    let values = decode_plain_numbers(encoding, &mut bytes, count)?;
    bytes.finish()?;
    Ok(values)
}

/// Returns the bits of the step, if all values are one step apart; a single value has step 0.
fn regular_step<T: Number>(values: &[T]) -> Option<u64> {
    let step_between = |pair: &[T]| T::from_bits(pair[1].to_bits().wrapping_sub(pair[0].to_bits())).to_bits();
    let step = values.get(..2).map_or(0, step_between);
    values.windows(2).all(|pair| step_between(pair) == step).then_some(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_numbers_than_pcodec_takes_stay_raw() {
        let values: Vec<u8> = (0..=pcodec::VALUES_MAX).map(|position| u8::from(position % 3 == 0)).collect();
        let mut out = Vec::new();
        let encoding = encode_plain_numbers(&mut out, &values, Effort::Fresh, |_| Ok(None)).unwrap();
        assert_eq!((encoding, out.len()), (Encoding::Raw, values.len()));
        let read: Vec<u8> = decode_plain_numbers(encoding, &mut Reader::new(&out), values.len()).unwrap();
        assert!(read == values);
    }
}
