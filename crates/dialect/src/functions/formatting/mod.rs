//! Numbers and times as texts in PostgreSQL's patterns, and back: [`to_char`], [`to_number`], and `to_date` and
//! `to_timestamp` ([`from_pattern`]). Patterns of DataFusion's (`%Y-%m-%d`) are left to its functions.

mod from_pattern;
mod number_digits;
mod number_pattern;
mod number_text;
mod to_char;
mod to_number;

use datafusion::logical_expr::ScalarUDF;
use datafusion::prelude::SessionContext;
use from_pattern::FromPattern;
use std::sync::Arc;
use to_char::ToChar;

pub(super) fn register(context: &SessionContext) {
    context.register_udf(to_number::function());
    let state = context.state();
    if let Some(inner) = state.scalar_functions().get("to_char") {
        context.register_udf(ScalarUDF::new_from_impl(ToChar::new(Arc::clone(inner))));
    }
    for name in ["to_date", "to_timestamp"] {
        if let Some(inner) = state.scalar_functions().get(name) {
            context.register_udf(ScalarUDF::new_from_impl(FromPattern::new(Arc::clone(inner))));
        }
    }
}
