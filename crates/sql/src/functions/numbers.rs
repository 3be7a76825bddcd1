//! Functions of numbers that PostgreSQL has and DataFusion lacks.

use super::plain::Plain;
use datafusion::arrow::array::{ArrayRef, AsArray, Float64Array, Int32Array, PrimitiveArray};
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

pub(super) fn functions() -> Vec<ScalarUDF> {
    const DOUBLE: DataType = DataType::Float64;
    const BIGINT: DataType = DataType::Int64;
    vec![
        Plain::new("sign", &[&[DOUBLE]], DOUBLE, sign).udf(),
        Plain::new("in_range", &[&[DOUBLE]], DOUBLE, in_range).udf(),
        Plain::new("width_bucket", &[&[DOUBLE, DOUBLE, DOUBLE, BIGINT]], DataType::Int32, width_bucket).udf(),
    ]
}

fn sign(args: &[ArrayRef]) -> Result<ArrayRef> {
    let sign = |value: f64| match value {
        value if value > 0.0 => 1.0,
        value if value < 0.0 => -1.0,
        0.0 => 0.0,
        value => value,
    };
    Ok(Arc::new(args[0].as_primitive::<Float64Type>().unary::<_, Float64Type>(sign)))
}

/// Returns the values, or an error if one is infinite.
fn in_range(args: &[ArrayRef]) -> Result<ArrayRef> {
    let values: &Float64Array = args[0].as_primitive::<Float64Type>();
    match values.iter().flatten().any(f64::is_infinite) {
        true => exec_err!("value out of range: overflow"),
        false => Ok(Arc::clone(&args[0])),
    }
}

/// The number of the bucket, of `count` equally wide ones between two bounds, in which a value lies: 0 before the
/// first, `count + 1` after the last. The bounds may be in descending order.
fn width_bucket(args: &[ArrayRef]) -> Result<ArrayRef> {
    let bound = |at: usize| -> &PrimitiveArray<Float64Type> { args[at].as_primitive::<Float64Type>() };
    let (values, lows, highs) = (bound(0), bound(1), bound(2));
    let counts = args[3].as_primitive::<Int64Type>();
    let rows = values.iter().zip(lows).zip(highs.iter().zip(counts));
    let buckets = rows.map(|((value, low), (high, count))| match (value, low, high, count) {
        (Some(value), Some(low), Some(high), Some(count)) => bucket(value, low, high, count).map(Some),
        _ => Ok(None),
    });
    Ok(Arc::new(buckets.collect::<Result<Int32Array>>()?))
}

fn bucket(value: f64, low: f64, high: f64, count: i64) -> Result<i32> {
    let Some(count) = i32::try_from(count).ok().filter(|count| (1..i32::MAX).contains(count)) else {
        return exec_err!("width_bucket: the count of buckets must be greater than zero");
    };
    if value.is_nan() || !low.is_finite() || !high.is_finite() {
        return exec_err!("width_bucket takes finite bounds, and a value that is a number");
    }
    if low == high {
        return exec_err!("width_bucket: the bounds are equal");
    }
    let (is_before, is_behind) = if low < high { (value < low, value >= high) } else { (value > low, value <= high) };
    Ok(match (is_before, is_behind) {
        (true, _) => 0,
        (_, true) => count + 1,
        // Computed with halves, because the difference of the bounds may be out of range.
        _ => {
            let part = (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
            ((part * f64::from(count)) as i32).min(count - 1) + 1
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fall_into_buckets_from_either_side() {
        for (value, low, high, count, expected) in [
            (5.35, 0.024, 10.06, 5, 3),
            (0.0, 0.0, 10.0, 10, 1),
            (10.0, 0.0, 10.0, 10, 11),
            (-0.1, 0.0, 10.0, 10, 0),
            (10.0, 10.0, 0.0, 5, 1),
            (0.0, 10.0, 0.0, 5, 6),
            (f64::INFINITY, 0.0, 1.0, 2, 3),
        ] {
            assert_eq!(bucket(value, low, high, count).unwrap(), expected, "{value}");
        }
        for (value, low, high, count) in [(1.0, 0.0, 0.0, 5), (1.0, 0.0, 1.0, 0), (f64::NAN, 0.0, 1.0, 1)] {
            assert!(bucket(value, low, high, count).is_err());
        }
    }
}
