//! `statement_timestamp()`, the time at which the statement began, also named `clock_timestamp()`, and `now()`, the
//! time at which the transaction began, also named `current_timestamp`. They have microseconds, as columns of tables
//! do. DataFusion's `now()` has nanoseconds, and what is beside it would become nanoseconds, too, whose range ends in
//! the year 2262.

use chrono::{DateTime, Utc};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, TimeUnit};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility, lit,
};
use std::sync::Arc;

/// `statement_timestamp()` of a statement that began at this time. Without one it is the time of the query's state.
pub fn statement_timestamp(began: Option<DateTime<Utc>>) -> ScalarUDF {
    BeginTime::function("statement_timestamp", "clock_timestamp", began)
}

/// `now()`, the time of the query's state, which is that of the transaction.
pub fn now() -> ScalarUDF {
    BeginTime::function("now", "current_timestamp", None)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct BeginTime {
    name: &'static str,
    aliases: Vec<String>,
    /// `None` for the time of the query's state.
    began: Option<DateTime<Utc>>,
    signature: Signature,
}

impl BeginTime {
    fn function(name: &'static str, alias: &str, began: Option<DateTime<Utc>>) -> ScalarUDF {
        let (aliases, signature) = (vec![alias.to_owned()], Signature::nullary(Volatility::Stable));
        ScalarUDF::new_from_impl(Self { name, aliases, began, signature })
    }
}

impl ScalarUDFImpl for BeginTime {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Timestamp(TimeUnit::Microsecond, None))
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        Ok(Arc::new(Field::new(self.name, self.return_type(&[])?, false)))
    }

    fn simplify(&self, args: Vec<Expr>, context: &SimplifyContext) -> Result<ExprSimplifyResult> {
        Ok(match self.began.or(context.query_execution_start_time()) {
            Some(began) => {
                let value = ScalarValue::TimestampMicrosecond(Some(began.timestamp_micros()), None);
                ExprSimplifyResult::Simplified(lit(value))
            }
            None => ExprSimplifyResult::Original(args),
        })
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        internal_err!("{} of a statement that does not run", self.name())
    }
}
