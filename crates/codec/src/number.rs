//! The number types of pages, and their bits.

use crate::sums::{float_sum, narrow_sum, signed_sum, unsigned_sum};
use crate::wire::{DecodeResult, Reader};
use atsdb_core::{Bound, Sum};

/// A number type of Rust that pages contain.
pub(crate) trait Number: pco::data_types::Number + Default {
    /// The size in bytes.
    const WIDTH: usize = size_of::<Self>();

    /// Returns the bits of the number in the lowest bits.
    fn to_bits(self) -> u64;

    /// Returns the number with these bits; higher bits are dropped.
    fn from_bits(bits: u64) -> Self;

    /// Returns an integer with the same order, in which NaN and -0.0 have a position too (IEEE 754 totalOrder).
    fn order_key(self) -> u64;

    /// Returns the number with this [`order_key`](Self::order_key).
    fn from_order_key(key: u64) -> Self;

    /// Returns the number as a bound, unless it is NaN.
    fn bound(self) -> Option<Bound>;

    /// Returns the sum of numbers.
    fn sum(values: &[Self]) -> Sum;

    /// Returns the number, if its type is floating point.
    fn as_float(self) -> Option<f64>;

    /// Converts to the nearest number of a floating point type.
    fn from_float(float: f64) -> Self;
}

macro_rules! integers {
    ($($number:ty, $unsigned:ty, $wide:ty, $offset:expr, $bound:ident, $sum:expr;)*) => {$(
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
            fn sum(values: &[Self]) -> Sum {
                Sum::Int($sum(values))
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
    i8, u8, i64, SIGN, Int, narrow_sum;
    i16, u16, i64, SIGN, Int, narrow_sum;
    i32, u32, i64, SIGN, Int, narrow_sum;
    i64, u64, i64, SIGN, Int, signed_sum;
    u8, u8, u64, 0, UInt, narrow_sum;
    u16, u16, u64, 0, UInt, narrow_sum;
    u32, u32, u64, 0, UInt, narrow_sum;
    u64, u64, u64, 0, UInt, unsigned_sum;
}

/// Inverts the bits of negative floating point numbers except the sign, since these numbers rise with falling bits. It
/// is its own inverse.
macro_rules! order_negative {
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
                (i64::from(order_negative!($signed, $bits, <$number>::to_bits(self) as $signed)) as u64) ^ SIGN
            }
            fn from_order_key(key: u64) -> Self {
                <$number>::from_bits(order_negative!($signed, $bits, (key ^ SIGN) as $signed) as $bits)
            }
            fn bound(self) -> Option<Bound> {
                (!self.is_nan()).then(|| Bound::Float(self.into()))
            }
            fn sum(values: &[Self]) -> Sum {
                Sum::Float(float_sum(values))
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

/// Writes the bits of a value, lowest first.
pub(crate) fn write_number<T: Number>(out: &mut Vec<u8>, value: T) {
    out.extend_from_slice(&value.to_bits().to_le_bytes()[..T::WIDTH]);
}

/// Reads what [`write_number`] wrote.
pub(crate) fn read_number<T: Number>(reader: &mut Reader<'_>) -> DecodeResult<T> {
    reader.bytes(T::WIDTH).map(number_of_bytes)
}

/// Returns the value of at most 8 bytes, lowest first.
pub(crate) fn number_of_bytes<T: Number>(bytes: &[u8]) -> T {
    let mut wide = [0; 8];
    wide[..T::WIDTH].copy_from_slice(bytes);
    T::from_bits(u64::from_le_bytes(wide))
}
