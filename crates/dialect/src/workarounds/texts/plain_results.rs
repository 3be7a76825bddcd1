//! Functions that compute numbers from a mapped column return plain numbers.
//!
//! DataFusion keeps the dictionary when a function is applied to its texts. That saves work if the result is text. But
//! most other functions do not accept a dictionary of lengths, as in `abs(length(sensor))`.
//!
//! No upstream issue known: DataFusion 55.2 does so on purpose, since
//! [#23743](https://github.com/apache/datafusion/pull/23743) and
//! [#23930](https://github.com/apache/datafusion/pull/23930).

use crate::functions::base::of_inner::of_inner;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::Result;
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::{ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl};
use std::sync::Arc;

/// Replaces functions that would return dictionaries of anything but text.
pub(crate) fn plain_results(context: &SessionContext) {
    let state = context.state();
    for name in ["character_length", "octet_length", "bit_length", "ascii"] {
        if let Some(inner) = state.scalar_functions().get(name) {
            context.register_udf(ScalarUDF::new_from_impl(Plain { inner: Arc::clone(inner) }));
        }
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Plain {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for Plain {
    of_inner!(name, aliases, signature, coerce_types, documentation);

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(plain(self.inner.return_type(types)?))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let field = self.inner.return_field_from_args(args)?;
        let data_type = plain(field.data_type().clone());
        Ok(Arc::new(field.as_ref().clone().with_data_type(data_type)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let data_type = args.return_type().clone();
        Ok(match self.inner.invoke_with_args(args)? {
            ColumnarValue::Array(array) if *array.data_type() != data_type => {
                ColumnarValue::Array(cast(&array, &data_type)?)
            }
            ColumnarValue::Scalar(value) if value.data_type() != data_type => {
                ColumnarValue::Scalar(value.cast_to(&data_type)?)
            }
            value => value,
        })
    }
}

fn plain(data_type: DataType) -> DataType {
    match data_type {
        DataType::Dictionary(_, values) if !values.is_string() => *values,
        other => other,
    }
}
