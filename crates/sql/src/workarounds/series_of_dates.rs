//! `generate_series` between dates is a series of times, as in PostgreSQL, also with steps of less than a day.
//! DataFusion returns dates in a SELECT list, and refuses such steps.
//!
//! No upstream issue known.

use crate::functions::of_inner::of_inner;
use datafusion::arrow::datatypes::{DataType, FieldRef, TimeUnit};
use datafusion::common::Result;
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::{ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl};
use std::sync::Arc;

/// The type of times in a series.
const TIME: DataType = DataType::Timestamp(TimeUnit::Nanosecond, None);

/// Replaces DataFusion's function.
pub(crate) fn register(context: &SessionContext) {
    if let Some(inner) = context.state().scalar_functions().get("generate_series") {
        context.register_udf(ScalarUDF::new_from_impl(SeriesOfTimes { inner: Arc::clone(inner) }));
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct SeriesOfTimes {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for SeriesOfTimes {
    of_inner!(name, aliases, signature, coerce_types, documentation);

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(of_times(self.inner.return_type(types)?))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let field = self.inner.return_field_from_args(args)?;
        let data_type = of_times(field.data_type().clone());
        Ok(Arc::new(field.as_ref().clone().with_data_type(data_type)))
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        for arg in &mut args.args {
            if is_date(&arg.data_type()) {
                *arg = arg.cast_to(&TIME, None)?;
            }
        }
        self.inner.invoke_with_args(args)
    }
}

/// The type of a series, with times in place of dates.
fn of_times(data_type: DataType) -> DataType {
    match data_type {
        DataType::List(element) if is_date(element.data_type()) => {
            DataType::List(Arc::new(element.as_ref().clone().with_data_type(TIME)))
        }
        other => other,
    }
}

fn is_date(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Date32 | DataType::Date64)
}
