//! `regexp_replace` with PostgreSQL's replacements: `\&` is the whole match, and `$` is a plain character. DataFusion
//! takes `$1` for a group, and does not know `\&`.
//!
//! No upstream issue known.

use datafusion::arrow::array::{AsArray, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::{ColumnarValue, Documentation, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature};
use std::sync::Arc;

/// Replaces DataFusion's `regexp_replace`.
pub(super) fn register(context: &SessionContext) {
    if let Some(inner) = context.state().scalar_functions().get("regexp_replace") {
        context.register_udf(ScalarUDF::new_from_impl(RegexpReplace { inner: Arc::clone(inner) }));
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct RegexpReplace {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for RegexpReplace {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let Some(replacement) = args.args.get_mut(2) {
            *replacement = match replacement {
                ColumnarValue::Scalar(ScalarValue::Utf8(Some(text))) => {
                    ColumnarValue::Scalar(ScalarValue::from(translated(text)))
                }
                ColumnarValue::Scalar(_) => replacement.clone(),
                ColumnarValue::Array(texts) => {
                    let plain = cast(texts, &DataType::Utf8)?;
                    let texts_of_rows = plain.as_string::<i32>().iter().map(|text| text.map(translated));
                    ColumnarValue::Array(cast(&texts_of_rows.collect::<StringArray>(), texts.data_type())?)
                }
            };
        }
        self.inner.invoke_with_args(args)
    }
}

/// A replacement in DataFusion's notation, which reads `\1` as PostgreSQL does.
fn translated(text: &str) -> String {
    text.replace('$', "$$").replace("\\&", "${0}")
}
