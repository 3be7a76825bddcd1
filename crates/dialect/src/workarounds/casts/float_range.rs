//! Floats that are out of range of the type that they are converted to.
//!
//! Part of [`postgres`](super::postgres). No upstream issue known.

use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, Float32Array, PrimitiveArray, StringArray,
};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::common::{Result, exec_err};
use std::sync::Arc;

/// `DOUBLE`s as `REAL`s. One that becomes infinite or zero is an error, or NULL if the options say so.
pub(super) fn narrowed(array: &ArrayRef, options: &CastOptions<'_>) -> Result<ArrayRef> {
    let wide = array.as_primitive::<Float64Type>();
    let narrow: Float32Array = wide.unary(|value| value as f32);
    let is_lost = |row: usize| {
        let (value, narrow) = (wide.value(row), narrow.value(row));
        wide.is_valid(row) && (narrow.is_infinite() && value.is_finite() || narrow == 0.0 && value != 0.0)
    };
    let may_be_lost = |value: &f32| value.is_infinite() | (*value == 0.0);
    if !narrow.values().iter().fold(false, |found, value| found | may_be_lost(value)) {
        return Ok(Arc::new(narrow));
    }
    let is_small = |row: usize| narrow.value(row) == 0.0;
    match (0..narrow.len()).find(|row| is_lost(*row)) {
        None => Ok(Arc::new(narrow)),
        Some(_) if options.safe => {
            let kept = (0..narrow.len()).map(|row| (wide.is_valid(row) && !is_lost(row)).then(|| narrow.value(row)));
            Ok(Arc::new(kept.collect::<Float32Array>()))
        }
        Some(row) => exec_err!("value out of range: {}", if is_small(row) { "underflow" } else { "overflow" }),
    }
}

/// Texts as floats. A number that becomes infinite or zero is an error, or NULL if the options say so. SQL has one NaN,
/// without a sign.
pub(super) fn floats_of(texts: &StringArray, target: &DataType, options: &CastOptions<'_>) -> Result<ArrayRef> {
    let floats = cast_with_options(texts, target, options)?;
    match target {
        DataType::Float32 => {
            let floats = floats.as_primitive::<Float32Type>();
            let floats = floats.unary::<_, Float32Type>(|value| if value.is_nan() { f32::NAN } else { value });
            in_range(texts, &floats, "real", options)
        }
        _ => {
            let floats = floats.as_primitive::<Float64Type>();
            let floats = floats.unary::<_, Float64Type>(|value| if value.is_nan() { f64::NAN } else { value });
            in_range(texts, &floats, "double precision", options)
        }
    }
}

fn in_range<T>(
    texts: &StringArray,
    floats: &PrimitiveArray<T>,
    type_name: &str,
    options: &CastOptions<'_>,
) -> Result<ArrayRef>
where
    T: ArrowPrimitiveType<Native: Into<f64>>,
{
    let is_lost = |row: usize| {
        let value: f64 = floats.value(row).into();
        floats.is_valid(row) && (value.is_infinite() || value == 0.0) && is_other_number(texts.value(row), value)
    };
    match (0..floats.len()).find(|row| is_lost(*row)) {
        None => Ok(Arc::new(floats.clone())),
        Some(_) if options.safe => {
            let kept = (0..floats.len()).map(|row| (floats.is_valid(row) && !is_lost(row)).then(|| floats.value(row)));
            Ok(Arc::new(kept.collect::<PrimitiveArray<T>>()))
        }
        Some(row) => exec_err!("\"{:.60}\" is out of range for type {type_name}", texts.value(row)),
    }
}

/// Returns whether a text that was read as infinity or zero is another number.
fn is_other_number(text: &str, value: f64) -> bool {
    let text = text.trim().trim_start_matches(['+', '-']);
    match value.is_infinite() {
        true => !text.starts_with(['i', 'I']),
        false => {
            let mantissa = text.split(['e', 'E']).next().unwrap_or(text);
            mantissa.contains(|digit: char| ('1'..='9').contains(&digit))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::Float64Array;

    #[test]
    fn what_becomes_infinite_or_zero_is_an_error() {
        let strict = CastOptions { safe: false, ..CastOptions::default() };
        let read = |text: &str, target: &DataType| floats_of(&StringArray::from(vec![text]), target, &strict);
        for text in ["1e400", "-1e400", "1e-400", "0.1e-400"] {
            assert!(read(text, &DataType::Float64).is_err(), "{text}");
        }
        for text in ["Infinity", "-inf", "0e500", "-0.0", "1e300", "NaN"] {
            assert!(read(text, &DataType::Float64).is_ok(), "{text}");
        }
        assert!(read("1e40", &DataType::Float32).is_err() && read("1e30", &DataType::Float32).is_ok());
        let narrow = |values: Vec<Option<f64>>| narrowed(&(Arc::new(Float64Array::from(values)) as ArrayRef), &strict);
        assert!(narrow(vec![Some(1.0), Some(1e39)]).is_err() && narrow(vec![Some(1e-50)]).is_err());
        assert!(narrow(vec![None, Some(f64::INFINITY), Some(0.0), Some(f64::NAN)]).is_ok());
        let lenient = CastOptions { safe: true, ..CastOptions::default() };
        let values = Arc::new(Float64Array::from(vec![1e39, 1.0])) as ArrayRef;
        assert_eq!(narrowed(&values, &lenient).unwrap().null_count(), 1);
    }
}
