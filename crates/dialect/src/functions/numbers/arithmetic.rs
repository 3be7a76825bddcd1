//! Functions of numbers that PostgreSQL has and DataFusion lacks, or computes for fewer numbers.

use crate::functions::base::arguments::strictly;
use crate::functions::base::plain::Plain;
use atsdb_core::column_type::DECIMAL_DIGITS_MAX;
use atsdb_core::decimal;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Decimal128Array, Float64Array, Int32Array, ListArray, PrimitiveArray, make_comparator,
};
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

pub(super) fn functions() -> Vec<ScalarUDF> {
    const DOUBLE: DataType = DataType::Float64;
    const BIGINT: DataType = DataType::Int64;
    vec![
        Plain::new("sign", &[&[DOUBLE]], DOUBLE, sign).udf(),
        Plain::new("in_range", &[&[DOUBLE]], DOUBLE, in_range).udf(),
        Plain::variadic("width_bucket", DataType::Int32, width_bucket).udf(),
        Plain::new("factorial", &[&[BIGINT]], DataType::Decimal128(DECIMAL_DIGITS_MAX, 0), factorial).udf(),
        Plain::variadic("scale", DataType::Int32, |args| scales("scale", args, |_, scale| scale)).udf(),
        Plain::variadic("min_scale", DataType::Int32, |args| scales("min_scale", args, least_scale)).udf(),
    ]
}

fn sign(args: &[ArrayRef]) -> Result<ArrayRef> {
    // NaN has the sign 0.
    let sign = |value: f64| match value {
        value if value > 0.0 => 1.0,
        value if value < 0.0 => -1.0,
        _ => 0.0,
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

fn factorial(args: &[ArrayRef]) -> Result<ArrayRef> {
    let factorials = args[0].as_primitive::<Int64Type>().iter().map(|number| match number {
        None => Ok(None),
        Some(..=-1) => exec_err!("factorial of a negative number is undefined"),
        Some(number) => {
            let product = (1..=i128::from(number)).try_fold(1_i128, |product, factor| product.checked_mul(factor));
            match product.filter(|product| decimal::fits(*product, DECIMAL_DIGITS_MAX)) {
                Some(product) => Ok(Some(product)),
                None => exec_err!("value overflows numeric format: factorial({number})"),
            }
        }
    });
    let factorials = factorials.collect::<Result<Decimal128Array>>()?;
    Ok(Arc::new(factorials.with_precision_and_scale(DECIMAL_DIGITS_MAX, 0)?))
}

/// A property of each decimal, from its digits and the number of them after the point.
fn scales(name: &str, args: &[ArrayRef], of: fn(i128, i32) -> i32) -> Result<ArrayRef> {
    let [numbers] = args else { return exec_err!("{name} takes 1 argument, not {}", args.len()) };
    let scales: Int32Array = match numbers.data_type() {
        DataType::Decimal128(_, scale) => {
            let values = numbers.as_primitive::<Decimal128Type>().iter();
            values.map(|value| value.map(|value| of(value, i32::from(*scale)))).collect()
        }
        DataType::Null => Int32Array::new_null(numbers.len()),
        integer if integer.is_integer() => (0..numbers.len()).map(|row| numbers.is_valid(row).then_some(0)).collect(),
        _ => return exec_err!("{name} takes a NUMERIC: convert it, {name}(CAST(x AS NUMERIC))"),
    };
    Ok(Arc::new(scales))
}

/// The digits after the point without zeros at the end.
pub(super) fn least_scale(mut value: i128, mut scale: i32) -> i32 {
    while scale > 0 && value % 10 == 0 {
        (value, scale) = (value / 10, scale - 1);
    }
    scale
}

fn width_bucket(args: &[ArrayRef]) -> Result<ArrayRef> {
    let number = |at: usize| strictly(&args[at], &DataType::Float64);
    match args.len() {
        2 if let DataType::List(of) = args[1].data_type()
            && !of.data_type().is_numeric()
            && !of.data_type().is_null() =>
        {
            bucket_by_order(&strictly(&args[0], of.data_type())?, args[1].as_list::<i32>())
        }
        2 => {
            let bounds = strictly(&args[1], &DataType::new_list(DataType::Float64, true))?;
            bucket_of_list(number(0)?.as_primitive::<Float64Type>(), bounds.as_list::<i32>())
        }
        4 => {
            let counts = strictly(&args[3], &DataType::Int64)?;
            bucket_of_range([number(0)?, number(1)?, number(2)?], counts.as_primitive::<Int64Type>())
        }
        count => exec_err!("width_bucket takes 2 or 4 arguments, not {count}"),
    }
}

/// The number of bounds in an ascending list that a value has reached.
fn bucket_of_list(values: &Float64Array, bounds: &ListArray) -> Result<ArrayRef> {
    let buckets = values.iter().zip(bounds.iter()).map(|(value, bounds)| {
        let Some((value, bounds)) = value.zip(bounds) else { return Ok(None) };
        if bounds.null_count() > 0 {
            return exec_err!("width_bucket: the array of bounds contains NULL");
        }
        // NaN is greater than all numbers.
        let is_reached = |bound: &f64| *bound <= value || value.is_nan();
        let bounds = bounds.as_primitive::<Float64Type>().values();
        Ok(i32::try_from(bounds.partition_point(is_reached)).ok())
    });
    Ok(Arc::new(buckets.collect::<Result<Int32Array>>()?))
}

/// The same for texts, times and other values with an order.
fn bucket_by_order(values: &ArrayRef, bounds: &ListArray) -> Result<ArrayRef> {
    let compare = make_comparator(bounds.values(), values, SortOptions::default())?;
    let buckets = (0..values.len()).map(|row| {
        if values.is_null(row) || bounds.is_null(row) {
            return Ok(None);
        }
        let first = bounds.value_offsets()[row] as usize;
        let (mut low, mut high) = (first, bounds.value_offsets()[row + 1] as usize);
        if (low..high).any(|at| bounds.values().is_null(at)) {
            return exec_err!("width_bucket: the array of bounds contains NULL");
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if compare(middle, row).is_gt() {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Ok(i32::try_from(low - first).ok())
    });
    Ok(Arc::new(buckets.collect::<Result<Int32Array>>()?))
}

/// The number of the bucket, of `count` equally wide ones between two bounds, in which a value lies: 0 before the
/// first, `count + 1` after the last. The bounds may be in descending order.
fn bucket_of_range(numbers: [ArrayRef; 3], counts: &PrimitiveArray<Int64Type>) -> Result<ArrayRef> {
    let [values, lows, highs] = numbers.each_ref().map(|column| column.as_primitive::<Float64Type>());
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
    fn zeros_at_the_end_need_no_digits() {
        assert_eq!([least_scale(84_100, 4), least_scale(-8_410, 0), least_scale(0, 3)], [2, 0, 0]);
    }

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
