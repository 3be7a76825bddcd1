//! `round(x, places)` of a float at places that no float has. Left of the largest digit, the result is zero; right of
//! the last digit, it is the float itself. DataFusion multiplies by a power of ten that is zero or infinite, and
//! returns NaN for both.
//!
//! No upstream issue known.

use crate::functions::base::answers::{answer, are_constant};
use crate::functions::base::of_inner::of_inner;
use datafusion::arrow::array::{ArrayRef, AsArray, Float64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type, Int32Type};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl};
use std::sync::Arc;

/// The largest number of places, before or after the point, for which a float times the power of ten is finite if the
/// float has a digit there.
const PLACES_MAX: i32 = 15;
const PLACES_MIN: i32 = -300;

pub(crate) fn register(context: &SessionContext) {
    if let Some(inner) = context.state().scalar_functions().get("round") {
        context.register_udf(ScalarUDF::new_from_impl(Round { inner: Arc::clone(inner) }));
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Round {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for Round {
    of_inner!(name, aliases, signature, return_type, return_field_from_args, documentation);

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_float = |value: &ColumnarValue| value.data_type().is_floating();
        let is_far = match args.args.as_slice() {
            [value, ColumnarValue::Scalar(ScalarValue::Int32(Some(places)))] => is_float(value) && is_far(*places),
            [value, ColumnarValue::Array(places)] if *places.data_type() == DataType::Int32 => {
                is_float(value) && places.as_primitive::<Int32Type>().iter().flatten().any(is_far)
            }
            _ => false,
        };
        if !is_far {
            return self.inner.invoke_with_args(args);
        }
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [values, places] = arrays.as_slice() else { return internal_err!("round needs two arguments") };
        let values = cast(values, &DataType::Float64)?;
        let rows = values.as_primitive::<Float64Type>().iter().zip(places.as_primitive::<Int32Type>());
        let results: Float64Array = rows.map(|(value, places)| Some(rounded(value?, places?))).collect();
        let results = cast(&(Arc::new(results) as ArrayRef), args.return_type())?;
        answer(are_constant(&args.args), results)
    }
}

fn is_far(places: i32) -> bool {
    !(PLACES_MIN..=PLACES_MAX).contains(&places)
}

fn rounded(value: f64, places: i32) -> f64 {
    if !value.is_finite() {
        return value;
    }
    // 10^309 is infinite.
    if places < -308 {
        return 0.0;
    }
    let factor = 10_f64.powi(places.min(308));
    let moved = value * factor;
    if places > 308 || !moved.is_finite() { value } else { moved.round() / factor }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_float_has_no_digits_far_away() {
        for (value, places, expected) in [
            (1.0, i32::MIN, 0.0),
            (-1e300, -308, 0.0),
            (1.5, i32::MAX, 1.5),
            (1e300, 20, 1e300),
            (0.125, 2, 0.13),
            (f64::INFINITY, -400, f64::INFINITY),
        ] {
            assert_eq!(rounded(value, places), expected, "{value} {places}");
        }
    }
}
