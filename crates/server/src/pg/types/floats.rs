//! Floats that clients send. SQL has one NaN, without a sign: it equals itself, and is greater than all numbers.

/// A float of 64 bits, with this NaN in place of any other.
pub(in crate::pg) fn float64(value: f64) -> f64 {
    if value.is_nan() { f64::NAN } else { value }
}

/// A float of 32 bits, with this NaN in place of any other.
pub(in crate::pg) fn float32(value: f32) -> f32 {
    if value.is_nan() { f32::NAN } else { value }
}
