//! `array_dims(array)` as PostgreSQL writes it: `[1:2][1:3]`. DataFusion returns the lengths as an array.

use crate::functions::base::of_inner::of_inner;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, UInt64Type};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl};
use std::sync::Arc;

/// Replaces DataFusion's function.
pub(super) fn register(context: &SessionContext) {
    if let Some(inner) = context.state().scalar_functions().get("array_dims") {
        context.register_udf(ScalarUDF::new_from_impl(ArrayDims { inner: Arc::clone(inner) }));
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ArrayDims {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for ArrayDims {
    of_inner!(name, aliases, signature, documentation);

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let lengths = Field::new(self.name(), DataType::new_list(DataType::UInt64, true), true);
        match self.inner.invoke_with_args(ScalarFunctionArgs { return_field: Arc::new(lengths), ..args })? {
            ColumnarValue::Array(lengths) => Ok(ColumnarValue::Array(Arc::new(bounds(&lengths)?))),
            ColumnarValue::Scalar(lengths) => {
                ScalarValue::try_from_array(&bounds(&lengths.to_array()?)?, 0).map(ColumnarValue::Scalar)
            }
        }
    }
}

/// The first and last position in each dimension, from the lengths.
fn bounds(lengths: &ArrayRef) -> Result<StringArray> {
    let Some(lengths) = lengths.as_list_opt::<i32>() else {
        return internal_err!("array_dims returned {}", lengths.data_type());
    };
    let text = |lengths: ArrayRef| -> String {
        lengths.as_primitive::<UInt64Type>().iter().flatten().map(|length| format!("[1:{length}]")).collect()
    };
    Ok(lengths.iter().map(|lengths| lengths.map(text)).collect())
}
