//! Numbers: constant, regular, raw, or by pcodec; floating point numbers also as decimals, sealed integers also as a
//! rhythm. For integers, floating
//! point numbers, timestamps, dates, mapped columns' indices, and the lengths and indices of text.
//!
//! All but pcodec go through [`Number::to_bits`], so that every bit pattern comes back.

use crate::decimal::{decode_decimals, encode_decimals};
use crate::encoding::{Effort, Encoding};
use crate::pco_form;
use crate::rhythm::{decode_rhythm, encode_rhythm};
use crate::wire::{Damage, Decoded, Reader, write_varint};
use arrow::buffer::NullBuffer;
use atsdb_core::{Bound, Result};

/// A number of Rust that pages hold.
pub(crate) trait Number: pco::data_types::Number + Default {
    /// How many bytes it has.
    const WIDTH: usize = size_of::<Self>();

    /// Its bits, as many as it has, lowest.
    fn to_bits(self) -> u64;

    /// The number of these bits; higher ones are dropped.
    fn from_bits(bits: u64) -> Self;

    /// An integer of the same order; NaN and -0.0 have their place in it (IEEE 754 totalOrder).
    fn order_key(self) -> u64;

    /// The number of this [`order_key`](Self::order_key).
    fn from_order_key(key: u64) -> Self;

    /// The bound that this number is; NaN is none.
    fn bound(self) -> Option<Bound>;

    /// Itself, if it is a floating point number.
    fn as_float(self) -> Option<f64>;

    /// The floating point number nearest to this one.
    fn from_float(float: f64) -> Self;
}

macro_rules! integers {
    ($($number:ty, $unsigned:ty, $wide:ty, $offset:expr, $bound:ident;)*) => {$(
        impl Number for $number {
            fn to_bits(self) -> u64 {
                u64::from(self as $unsigned)
            }
            fn from_bits(bits: u64) -> Self {
                bits as Self
            }
            fn order_key(self) -> u64 {
                (<$wide>::from(self) as u64) ^ $offset
            }
            fn from_order_key(key: u64) -> Self {
                (key ^ $offset) as Self
            }
            fn bound(self) -> Option<Bound> {
                Some(Bound::$bound(self.into()))
            }
            fn as_float(self) -> Option<f64> {
                None
            }
            fn from_float(_: f64) -> Self {
                0
            }
        }
    )*};
}

const SIGN: u64 = 1 << 63;

integers! {
    i8, u8, i64, SIGN, Int;
    i16, u16, i64, SIGN, Int;
    i32, u32, i64, SIGN, Int;
    i64, u64, i64, SIGN, Int;
    u8, u8, u64, 0, UInt;
    u16, u16, u64, 0, UInt;
    u32, u32, u64, 0, UInt;
    u64, u64, u64, 0, UInt;
}

/// Negative floating point numbers rise with falling bits: turns theirs around, sign apart; its own inverse.
macro_rules! turn_negative {
    ($signed:ty, $bits:ty, $value:expr) => {{
        let value: $signed = $value;
        value ^ (((value >> (<$bits>::BITS - 1)) as $bits) >> 1) as $signed
    }};
}

macro_rules! floats {
    ($($number:ty, $bits:ty, $signed:ty;)*) => {$(
        impl Number for $number {
            fn to_bits(self) -> u64 {
                u64::from(<$number>::to_bits(self))
            }
            fn from_bits(bits: u64) -> Self {
                <$number>::from_bits(bits as $bits)
            }
            fn order_key(self) -> u64 {
                (i64::from(turn_negative!($signed, $bits, <$number>::to_bits(self) as $signed)) as u64) ^ SIGN
            }
            fn from_order_key(key: u64) -> Self {
                <$number>::from_bits(turn_negative!($signed, $bits, (key ^ SIGN) as $signed) as $bits)
            }
            fn bound(self) -> Option<Bound> {
                (!self.is_nan()).then(|| Bound::Float(self.into()))
            }
            fn as_float(self) -> Option<f64> {
                Some(f64::from(self))
            }
            fn from_float(float: f64) -> Self {
                float as Self
            }
        }
    )*};
}

floats! { f32, u32, i32; f64, u64, i64; }

/// Fresh numbers of at most this many bytes stay raw: pcodec would take longer and save little.
const FRESH_RAW_BYTES_MAX: usize = 64;

/// Writes values, and says how.
pub(crate) fn encode_numbers<T: Number>(out: &mut Vec<u8>, values: &[T], effort: Effort) -> Result<Encoding> {
    let start = out.len();
    let encoding = encode_inner_numbers(out, values, effort)?;
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

/// Writes values, and says how: never as a rhythm, which holds numbers itself.
fn encode_inner_numbers<T: Number>(out: &mut Vec<u8>, values: &[T], effort: Effort) -> Result<Encoding> {
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
        let encoding = encode_numbers_by_pco(out, values, effort)?;
        if out.len() - start < raw_bytes {
            return Ok(encoding);
        }
        out.truncate(start);
    }
    out.reserve(raw_bytes);
    values.iter().for_each(|value| write_number(out, *value));
    Ok(Encoding::Raw)
}

fn encode_numbers_by_pco<T: Number>(out: &mut Vec<u8>, values: &[T], effort: Effort) -> Result<Encoding> {
    if encode_decimals(out, values, effort)? {
        return Ok(Encoding::Decimal);
    }
    pco_form::encode(out, values, effort)?;
    Ok(Encoding::Pco)
}

/// Reads `count` values from all that is left.
pub(crate) fn decode_numbers<T: Number>(encoding: Encoding, reader: &mut Reader<'_>, count: usize) -> Decoded<Vec<T>> {
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
        Encoding::Pco => pco_form::decode(reader.take_rest(), count),
        Encoding::Decimal => decode_decimals(reader, count),
        Encoding::Rhythm => decode_rhythm(reader, count),
        _ => Err("numbers in an encoding that is not theirs".into()),
    }
}

/// Writes values behind their encoding and length, so that something may follow.
pub(crate) fn write_numbers<T: Number>(out: &mut Vec<u8>, values: &[T], effort: Effort) -> Result<()> {
    let mut bytes = Vec::new();
    let encoding = encode_inner_numbers(&mut bytes, values, effort)?;
    out.push(encoding as u8);
    write_varint(out, bytes.len() as u64);
    out.extend_from_slice(&bytes);
    Ok(())
}

/// Reads what [`write_numbers`] wrote.
pub(crate) fn read_numbers<T: Number>(reader: &mut Reader<'_>, count: usize) -> Decoded<Vec<T>> {
    let encoding = Encoding::from_number(reader.byte()?).ok_or("numbers in an unknown encoding")?;
    // Decimals and rhythms hold numbers themselves; one in another would be a way to nest without end.
    if matches!(encoding, Encoding::Decimal | Encoding::Rhythm) {
        return Err("numbers in an encoding that is not theirs".into());
    }
    let byte_count = reader.varint_up_to(reader.remaining())?;
    let mut bytes = Reader::new(reader.bytes(byte_count)?);
    let values = decode_numbers(encoding, &mut bytes, count)?;
    bytes.finish()?;
    Ok(values)
}

/// The values that are not NULL, gathered.
pub(crate) fn present_numbers<T: Copy>(values: &[T], nulls: &NullBuffer) -> Vec<T> {
    let mut present = Vec::with_capacity(values.len() - nulls.null_count());
    for (start, end) in nulls.valid_slices() {
        present.extend_from_slice(&values[start..end]);
    }
    present
}

/// The values, each in the row it belongs to; NULL rows are 0 underneath.
pub(crate) fn spread_numbers<T: Copy + Default>(values: Vec<T>, nulls: Option<&NullBuffer>) -> Vec<T> {
    let Some(nulls) = nulls else { return values };
    let mut rows = vec![T::default(); nulls.len()];
    let mut taken = 0;
    for (start, end) in nulls.valid_slices() {
        rows[start..end].copy_from_slice(&values[taken..taken + end - start]);
        taken += end - start;
    }
    rows
}

/// The step, in bits, if each value is one step after the one before it; a single value has step 0.
fn regular_step<T: Number>(values: &[T]) -> Option<u64> {
    let step_between = |pair: &[T]| T::from_bits(pair[1].to_bits().wrapping_sub(pair[0].to_bits())).to_bits();
    let step = values.get(..2).map_or(0, step_between);
    values.windows(2).all(|pair| step_between(pair) == step).then_some(step)
}

pub(crate) fn write_number<T: Number>(out: &mut Vec<u8>, value: T) {
    out.extend_from_slice(&value.to_bits().to_le_bytes()[..T::WIDTH]);
}

pub(crate) fn read_number<T: Number>(reader: &mut Reader<'_>) -> Decoded<T> {
    reader.bytes(T::WIDTH).map(number_of_bytes)
}

fn number_of_bytes<T: Number>(bytes: &[u8]) -> T {
    let mut wide = [0; 8];
    wide[..T::WIDTH].copy_from_slice(bytes);
    T::from_bits(u64::from_le_bytes(wide))
}

impl From<pco::errors::PcoError> for Damage {
    fn from(error: pco::errors::PcoError) -> Self {
        Self(format!("pcodec: {error}"))
    }
}
