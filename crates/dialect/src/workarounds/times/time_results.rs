//! `current_time` and `to_time` return microseconds, as every TIME has them. DataFusion's return nanoseconds.
//!
//! No upstream issue known.

use super::time_types::TIME_OF_DAY;
use crate::functions::base::of_inner::of_inner;
use crate::workarounds::casts::time_of_day::rounded_times;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, TimeUnit};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, cast,
};
use std::sync::Arc;

/// The functions of DataFusion whose result is a time of day.
const FUNCTIONS: [&str; 2] = ["current_time", "to_time"];

/// Replaces DataFusion's functions.
pub(crate) fn register(context: &SessionContext) {
    for name in FUNCTIONS {
        if let Some(inner) = context.state().scalar_functions().get(name) {
            context.register_udf(ScalarUDF::new_from_impl(TimeResult { inner: Arc::clone(inner) }));
        }
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct TimeResult {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for TimeResult {
    of_inner!(name, aliases, signature, documentation);

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(TIME_OF_DAY)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let field = self.inner.return_field_from_args(args)?;
        Ok(Arc::new(field.as_ref().clone().with_data_type(TIME_OF_DAY)))
    }

    fn simplify(&self, args: Vec<Expr>, context: &SimplifyContext) -> Result<ExprSimplifyResult> {
        Ok(match self.inner.simplify(args, context)? {
            // The clock's time is cut off: rounded, it could be that of the next day.
            ExprSimplifyResult::Simplified(Expr::Literal(time, metadata)) => {
                ExprSimplifyResult::Simplified(Expr::Literal(time.cast_to(&TIME_OF_DAY)?, metadata))
            }
            ExprSimplifyResult::Simplified(other) => ExprSimplifyResult::Simplified(cast(other, TIME_OF_DAY)),
            original => original,
        })
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        args.return_field = Arc::new(Field::new(self.name(), DataType::Time64(TimeUnit::Nanosecond), true));
        match self.inner.invoke_with_args(args)? {
            ColumnarValue::Array(times) => Ok(ColumnarValue::Array(rounded_times(&times, false)?)),
            ColumnarValue::Scalar(time) => {
                let times = rounded_times(&time.to_array()?, false)?;
                ScalarValue::try_from_array(&times, 0).map(ColumnarValue::Scalar)
            }
        }
    }
}
