//! `pg_sleep(seconds)`: a pause, during which the statement occupies no thread.

use async_trait::async_trait;
use datafusion::arrow::array::{AsArray, StringArray};
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::async_udf::{AsyncScalarUDF, AsyncScalarUDFImpl};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use std::sync::Arc;
use std::time::Duration;

/// The name of the function.
pub const SLEEP: &str = "pg_sleep";

pub(super) fn function() -> ScalarUDF {
    let signature = Signature::exact(vec![DataType::Float64], Volatility::Volatile);
    AsyncScalarUDF::new(Arc::new(Sleep { signature })).into_scalar_udf()
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Sleep {
    signature: Signature,
}

impl ScalarUDFImpl for Sleep {
    fn name(&self) -> &'static str {
        SLEEP
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        internal_err!("{SLEEP} is awaited")
    }
}

#[async_trait]
impl AsyncScalarUDFImpl for Sleep {
    async fn invoke_async_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays =
            args.args.iter().map(|arg| arg.clone().into_array(args.number_rows)).collect::<Result<Vec<_>>>()?;
        let Some(seconds) = arrays.first().map(|array| array.as_primitive::<Float64Type>()) else {
            return internal_err!("{SLEEP} without an argument");
        };
        for seconds in seconds.iter().flatten() {
            // NaN and negative numbers do not pause.
            let pause = Duration::try_from_secs_f64(seconds.max(0.0));
            tokio::time::sleep(pause.unwrap_or(Duration::MAX)).await;
        }
        let done: StringArray = seconds.iter().map(|seconds| seconds.map(|_| "")).collect();
        Ok(ColumnarValue::Array(Arc::new(done)))
    }
}
