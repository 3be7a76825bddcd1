//! The length of an empty array: `array_length` is NULL, because an empty array has no dimension. DataFusion 55 returns 0.
//!
//! No upstream issue known.

use crate::functions::of_inner::of_inner;
use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, UInt64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl};
use std::sync::Arc;

/// Replaces DataFusion's function.
pub(super) fn register(context: &SessionContext) {
    if let Some(inner) = context.state().scalar_functions().get("array_length") {
        context.register_udf(ScalarUDF::new_from_impl(ArrayLength { inner: Arc::clone(inner) }));
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ArrayLength {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for ArrayLength {
    of_inner!(name, aliases, signature, coerce_types, return_type, documentation);

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(match self.inner.invoke_with_args(args)? {
            ColumnarValue::Scalar(ScalarValue::UInt64(Some(0))) => ColumnarValue::Scalar(ScalarValue::UInt64(None)),
            ColumnarValue::Array(lengths) if *lengths.data_type() == DataType::UInt64 => {
                let lengths = lengths.as_primitive::<UInt64Type>().iter();
                let lengths = lengths.map(|length| length.filter(|length| *length > 0));
                ColumnarValue::Array(Arc::new(lengths.collect::<datafusion::arrow::array::UInt64Array>()) as ArrayRef)
            }
            other => other,
        })
    }
}
