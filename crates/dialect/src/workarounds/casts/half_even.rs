//! Floats rounded to whole numbers. Halves go to the even neighbour.
//!
//! Part of [`postgres`](super::postgres). Waits for [#11886](https://github.com/apache/datafusion/issues/11886).

use datafusion::arrow::array::{ArrayRef, AsArray};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};
use std::sync::Arc;

/// `round(x)` of a float.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct RoundHalfEven {
    signature: Signature,
}

impl RoundHalfEven {
    pub(super) fn new() -> Self {
        Self { signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for RoundHalfEven {
    fn name(&self) -> &str {
        "round"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(types[0].clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match &args.args[0] {
            ColumnarValue::Array(array) => Ok(ColumnarValue::Array(rounded(array))),
            ColumnarValue::Scalar(value) => {
                ScalarValue::try_from_array(&rounded(&value.to_array()?), 0).map(ColumnarValue::Scalar)
            }
        }
    }
}

fn rounded(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Float32 => {
            Arc::new(array.as_primitive::<Float32Type>().unary::<_, Float32Type>(f32::round_ties_even))
        }
        DataType::Float64 => {
            Arc::new(array.as_primitive::<Float64Type>().unary::<_, Float64Type>(f64::round_ties_even))
        }
        _ => Arc::clone(array),
    }
}

/// Rounds floats to integers of a type. A value that does not fit is an error, or NULL if the options say so.
pub(super) fn to_integers(array: &ArrayRef, target: &DataType, options: &CastOptions<'_>) -> Result<ArrayRef> {
    Ok(cast_with_options(&rounded(array), target, options)?)
}
