//! `statement_timestamp()`: the time at which the statement began, while `now()` is the time at which the transaction
//! began. `clock_timestamp()` is the same.

use chrono::{DateTime, Utc};
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility, lit,
};

/// The function for a statement that began at this time; without one, for a statement that is only planned.
pub(crate) fn statement_timestamp(began: Option<DateTime<Utc>>) -> ScalarUDF {
    let aliases = vec!["clock_timestamp".to_owned()];
    ScalarUDF::new_from_impl(StatementTime { began, aliases, signature: Signature::nullary(Volatility::Stable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct StatementTime {
    began: Option<DateTime<Utc>>,
    aliases: Vec<String>,
    signature: Signature,
}

impl ScalarUDFImpl for StatementTime {
    fn name(&self) -> &'static str {
        "statement_timestamp"
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Timestamp(TimeUnit::Nanosecond, None))
    }

    fn simplify(&self, args: Vec<Expr>, _: &SimplifyContext) -> Result<ExprSimplifyResult> {
        Ok(match self.began {
            Some(began) => {
                let value = ScalarValue::TimestampNanosecond(began.timestamp_nanos_opt(), None);
                ExprSimplifyResult::Simplified(lit(value))
            }
            None => ExprSimplifyResult::Original(args),
        })
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        internal_err!("{} of a statement that does not run", self.name())
    }
}
