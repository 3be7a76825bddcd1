//! Trigonometric functions of angles in degrees, with PostgreSQL's formulas: they are exact at multiples of 30 and 45
//! degrees. What they divide by is computed when they run, as their arguments are: a compiler may round differently.

use crate::functions::base::plain::{Compute, Plain};
use datafusion::arrow::array::{ArrayRef, AsArray, Float64Array};
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ScalarUDF;
use std::hint::black_box;
use std::sync::Arc;

pub(super) fn functions() -> Vec<ScalarUDF> {
    const DOUBLE: DataType = DataType::Float64;
    let one = |name: &'static str, compute: Compute| Plain::new(name, &[&[DOUBLE]], DOUBLE, compute).udf();
    vec![
        one("sind", |args| of_angle(args, sind)),
        one("cosd", |args| of_angle(args, cosd)),
        one("tand", |args| of_angle(args, tand)),
        one("cotd", |args| of_angle(args, cotd)),
        one("asind", |args| of_ratio(args, asind)),
        one("acosd", |args| of_ratio(args, acosd)),
        one("atand", |args| computed(args, |_| true, |x| x.atan() / black_box(1_f64).atan() * 45.0)),
        Plain::new("atan2d", &[&[DOUBLE, DOUBLE]], DOUBLE, atan2d).udf(),
    ]
}

fn computed(args: &[ArrayRef], is_valid: fn(f64) -> bool, compute: fn(f64) -> f64) -> Result<ArrayRef> {
    let values = args[0].as_primitive::<Float64Type>();
    if !values.iter().flatten().all(is_valid) {
        return exec_err!("input is out of range");
    }
    Ok(Arc::new(values.unary::<_, Float64Type>(compute)))
}

fn of_angle(args: &[ArrayRef], compute: fn(f64) -> f64) -> Result<ArrayRef> {
    computed(args, |angle| !angle.is_infinite(), compute)
}

fn of_ratio(args: &[ArrayRef], compute: fn(f64) -> f64) -> Result<ArrayRef> {
    computed(args, |ratio| ratio.is_nan() || ratio.abs() <= 1.0, compute)
}

fn atan2d(args: &[ArrayRef]) -> Result<ArrayRef> {
    let (ys, xs) = (args[0].as_primitive::<Float64Type>(), args[1].as_primitive::<Float64Type>());
    let angles = ys.iter().zip(xs).map(|(y, x)| Some(y?.atan2(x?) / black_box(1_f64).atan() * 45.0));
    Ok(Arc::new(angles.collect::<Float64Array>()))
}

fn sind(angle: f64) -> f64 {
    // The sine is the same on both sides of 90 degrees.
    let (angle, sign, _) = first_quadrant(angle, true);
    sign * sine(angle)
}

fn cosd(angle: f64) -> f64 {
    let (angle, sign, is_second) = first_quadrant(angle, false);
    (if is_second { -sign } else { sign }) * cosine(angle)
}

fn tand(angle: f64) -> f64 {
    let (angle, sign, is_second) = first_quadrant(angle, true);
    let tangent = (sine(angle) / cosine(angle)) / (sine(black_box(45.0)) / cosine(black_box(45.0)));
    // Zero has no sign.
    (if is_second { -sign } else { sign }) * tangent + 0.0
}

fn cotd(angle: f64) -> f64 {
    let (angle, sign, is_second) = first_quadrant(angle, true);
    let cotangent = (cosine(angle) / sine(angle)) / (cosine(black_box(45.0)) / sine(black_box(45.0)));
    (if is_second { -sign } else { sign }) * cotangent + 0.0
}

/// The angle of the first quadrant with the same ratios but for their signs; the sign of an odd function; and whether
/// the angle was beyond 90 degrees.
fn first_quadrant(angle: f64, is_odd: bool) -> (f64, f64, bool) {
    let (mut angle, mut sign) = (angle % 360.0, 1.0);
    if angle < 0.0 {
        (angle, sign) = (-angle, if is_odd { -sign } else { sign });
    }
    if angle > 180.0 {
        (angle, sign) = (360.0 - angle, if is_odd { -sign } else { sign });
    }
    if angle > 90.0 { (180.0 - angle, sign, true) } else { (angle, sign, false) }
}

fn sine(angle: f64) -> f64 {
    if angle <= 30.0 { sine_up_to_30(angle) } else { cosine_up_to_60(90.0 - angle) }
}

fn cosine(angle: f64) -> f64 {
    if angle <= 60.0 { cosine_up_to_60(angle) } else { sine_up_to_30(90.0 - angle) }
}

/// Exactly 0.5 for 30 degrees.
fn sine_up_to_30(angle: f64) -> f64 {
    (angle.to_radians().sin() / black_box(30_f64).to_radians().sin()) / 2.0
}

/// Exactly 0.5 for 60 degrees.
fn cosine_up_to_60(angle: f64) -> f64 {
    1.0 - ((1.0 - angle.to_radians().cos()) / (1.0 - black_box(60_f64).to_radians().cos())) / 2.0
}

fn asind(ratio: f64) -> f64 {
    if ratio < 0.0 { -arcsine(-ratio) } else { arcsine(ratio) }
}

fn acosd(ratio: f64) -> f64 {
    if ratio < 0.0 { 90.0 + arcsine(-ratio) } else { arccosine(ratio) }
}

fn arcsine(ratio: f64) -> f64 {
    if ratio <= 0.5 {
        ratio.asin() / black_box(0.5_f64).asin() * 30.0
    } else {
        90.0 - ratio.acos() / black_box(0.5_f64).acos() * 60.0
    }
}

fn arccosine(ratio: f64) -> f64 {
    if ratio <= 0.5 {
        90.0 - ratio.asin() / black_box(0.5_f64).asin() * 30.0
    } else {
        ratio.acos() / black_box(0.5_f64).acos() * 60.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_angles_are_exact() {
        let angles = [0.0, 30.0, 90.0, 150.0, 180.0, 210.0, 270.0, 330.0, 360.0, -30.0];
        assert_eq!(angles.map(sind), [0.0, 0.5, 1.0, 0.5, 0.0, -0.5, -1.0, -0.5, 0.0, -0.5]);
        let angles = [0.0, 60.0, 90.0, 120.0, 180.0, 240.0, 270.0, 300.0, 360.0, -60.0];
        assert_eq!(angles.map(cosd), [1.0, 0.5, 0.0, -0.5, -1.0, -0.5, 0.0, 0.5, 1.0, 0.5]);
        assert_eq!([0.0, 45.0, 135.0, 225.0, -45.0].map(tand), [0.0, 1.0, -1.0, 1.0, -1.0]);
        assert_eq!([45.0, 90.0, 135.0].map(cotd), [1.0, 0.0, -1.0]);
        assert_eq!([-1.0, -0.5, 0.0, 0.5, 1.0].map(asind), [-90.0, -30.0, 0.0, 30.0, 90.0]);
        assert_eq!([-1.0, -0.5, 0.0, 0.5, 1.0].map(acosd), [180.0, 120.0, 90.0, 60.0, 0.0]);
        assert!(sind(f64::NAN).is_nan() && tand(90.0).is_infinite());
    }
}
