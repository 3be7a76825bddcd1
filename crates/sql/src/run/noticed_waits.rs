//! Functions that wait, such as `pg_sleep`, in a session with `StatementWaits`.

use super::interrupt::Interrupt;
use async_trait::async_trait;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::async_udf::{AsyncScalarUDF, AsyncScalarUDFImpl};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Returns the function for the session's queries. If it waits, and the session has `StatementWaits`, these await it.
pub(super) fn noticed(function: Arc<ScalarUDF>, interrupt: &Interrupt) -> Arc<ScalarUDF> {
    if function.as_async().is_none() || interrupt.waits().is_none() {
        return function;
    }
    let noticed = NoticedWait { function, interrupt: interrupt.clone() };
    Arc::new(AsyncScalarUDF::new(Arc::new(noticed)).into_scalar_udf())
}

#[derive(Debug)]
struct NoticedWait {
    function: Arc<ScalarUDF>,
    /// The session's waits may be noticed by another one when the function is called.
    interrupt: Interrupt,
}

impl PartialEq for NoticedWait {
    fn eq(&self, other: &Self) -> bool {
        self.function == other.function
    }
}

impl Eq for NoticedWait {}

impl Hash for NoticedWait {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.function.hash(state);
    }
}

impl ScalarUDFImpl for NoticedWait {
    fn name(&self) -> &str {
        self.function.name()
    }

    fn signature(&self) -> &Signature {
        self.function.signature()
    }

    fn return_type(&self, argument_types: &[DataType]) -> Result<DataType> {
        self.function.inner().return_type(argument_types)
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        internal_err!("{} is awaited", self.name())
    }
}

#[async_trait]
impl AsyncScalarUDFImpl for NoticedWait {
    async fn invoke_async_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(function) = self.function.as_async() else {
            return internal_err!("{} does not wait", self.name());
        };
        let Some(waits) = self.interrupt.waits() else { return function.invoke_async_with_args(args).await };
        let mut answer = None;
        let until = Box::pin(async { answer = Some(function.invoke_async_with_args(args).await) });
        waits.wait(until).await;
        answer.unwrap_or_else(|| internal_err!("{} was not awaited", self.name()))
    }
}
