//! Floats as decimals. A float is first rounded to the digits that every number of its type has, 15 of a `DOUBLE` and
//! 6 of a `REAL`, as in PostgreSQL. So `1.005` stays in the middle of 1.00 and 1.01, though the float is a bit less.
//!
//! Part of [`postgres`](super::postgres). Arrow takes all digits of the float, and those that a multiplication adds. No
//! upstream issue known.

use atsdb_core::decimal;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Decimal128Array};
use datafusion::arrow::compute::{CastOptions, cast, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::common::{Result, exec_err};
use std::sync::Arc;

/// A decimal type, and the digits that a float keeps.
struct Rounding {
    precision: u8,
    scale: u8,
    digits: u8,
}

/// `REAL`s or `DOUBLE`s as decimals. One that does not fit is an error, or NULL if the options say so.
pub(super) fn decimals_of(array: &ArrayRef, target: &DataType, options: &CastOptions<'_>) -> Result<ArrayRef> {
    let (precision, scale) = match *target {
        DataType::Decimal128(precision, scale) if scale >= 0 => (precision, scale),
        _ => return Ok(cast_with_options(array, target, options)?),
    };
    let digits = if *array.data_type() == DataType::Float32 { 6 } else { 15 };
    let rounding = Rounding { precision, scale: scale.unsigned_abs(), digits };
    let doubles = cast(array, &DataType::Float64)?;
    let decimals = doubles.as_primitive::<Float64Type>().iter().map(|value| match value {
        Some(value) => match rounding.decimal(value) {
            None if !options.safe => exec_err!("{value} does not fit DECIMAL({precision}, {scale})"),
            decimal => Ok(decimal),
        },
        None => Ok(None),
    });
    let decimals = decimals.collect::<Result<Vec<Option<i128>>>>()?;
    Ok(Arc::new(Decimal128Array::from(decimals).with_precision_and_scale(precision, scale)?))
}

impl Rounding {
    /// The decimal, as an integer that counts its last digit; `None` if it does not fit.
    fn decimal(&self, value: f64) -> Option<i128> {
        let scaled = value * 10_f64.powi(self.scale.into());
        let unit = 10_f64.powi(i32::from(self.digits) - 1);
        // Away from the middle of two decimals, rounding first makes no difference.
        let to_middle = (scaled.abs().fract() - 0.5).abs();
        if scaled.abs() < unit && to_middle > scaled.abs() / unit {
            let nearest = scaled.round() as i128;
            return decimal::fits(nearest, self.precision).then_some(nearest);
        }
        let places = usize::from(self.digits) - 1;
        decimal::parse(&format!("{value:.places$e}"), self.precision, self.scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_keep_the_digits_of_their_type() {
        let double = Rounding { precision: 38, scale: 4, digits: 15 };
        for (value, decimal) in [
            (0.1, Some(1_000)),
            (1.00005, Some(10_001)),
            (-1.00005, Some(-10_001)),
            (1.000_049_99, Some(10_000)),
            (0.0, Some(0)),
            (123_456_789_012_345_680.0, Some(1_234_567_890_123_460_000_000)),
            (1e-300, Some(0)),
            (1e300, None),
            (f64::NAN, None),
            (f64::INFINITY, None),
        ] {
            assert_eq!(double.decimal(value), decimal, "{value}");
        }
        let real = Rounding { precision: 12, scale: 2, digits: 6 };
        for (value, decimal) in
            [(0.1_f32, Some(10)), (2.675, Some(268)), (16_777_216.0, Some(1_677_720_000)), (1e11, None)]
        {
            assert_eq!(real.decimal(value.into()), decimal, "{value}");
        }
    }
}
