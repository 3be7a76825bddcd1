//! Floats that clients send. In SQL, NaN has no sign: it equals itself, and is greater than all numbers.

/// A float of 64 bits; a NaN loses its sign.
pub(in crate::pg) fn float64(value: f64) -> f64 {
    if value.is_nan() { value.abs() } else { value }
}

/// A float of 32 bits; a NaN loses its sign.
pub(in crate::pg) fn float32(value: f32) -> f32 {
    if value.is_nan() { value.abs() } else { value }
}
