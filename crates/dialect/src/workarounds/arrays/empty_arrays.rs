//! Dimensions of empty arrays: they have none, so that `array_length` and `array_ndims` are NULL. DataFusion 55 returns
//! 0 and 1.
//!
//! Waits for [#22264](https://github.com/apache/datafusion/issues/22264) (`array_length`).

use crate::functions::base::answers::are_constant;
use crate::functions::base::of_inner::of_inner;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, UInt64Array};
use datafusion::arrow::datatypes::UInt64Type;
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl};
use std::sync::Arc;

/// Replaces DataFusion's functions.
pub(crate) fn register(context: &SessionContext) {
    for name in ["array_length", "array_ndims"] {
        if let Some(inner) = context.state().scalar_functions().get(name) {
            context.register_udf(ScalarUDF::new_from_impl(Dimensions { inner: Arc::clone(inner) }));
        }
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Dimensions {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for Dimensions {
    of_inner!(name, aliases, signature, coerce_types, return_type, documentation);

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_scalar = are_constant(&args.args);
        let row_count = args.number_rows;
        let arrays = args.args.first().map(|arrays| arrays.to_array(row_count)).transpose()?;
        let found = self.inner.invoke_with_args(args)?.to_array(row_count)?;
        let (Some(arrays), Some(found)) = (arrays, found.as_primitive_opt::<UInt64Type>()) else {
            return Ok(ColumnarValue::Array(found));
        };
        let arrays = arrays.as_list_opt::<i32>();
        let is_empty = |row: usize| arrays.is_some_and(|arrays| arrays.is_valid(row) && arrays.value_length(row) == 0);
        let found = found.iter().enumerate().map(|(row, found)| found.filter(|found| *found > 0 && !is_empty(row)));
        let found: ArrayRef = Arc::new(found.collect::<UInt64Array>());
        Ok(match is_scalar && row_count > 0 {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&found, 0)?),
            false => ColumnarValue::Array(found),
        })
    }
}
