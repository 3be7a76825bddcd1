//! JSON: functions that [`read`], [`build`] and [`change`] it, PostgreSQL's [`operators`], [paths](path_query) of
//! SQL/JSON and [their texts](path_syntax), [values of any type as JSON](values), and the form of [`jsonb`].

mod build;
mod change;
mod jsonb;
pub mod operators;
mod path_query;
mod path_syntax;
pub mod read;
mod values;

use datafusion::prelude::SessionContext;

pub(super) fn register(context: &SessionContext) {
    let all =
        [read::functions(), build::functions(), change::functions(), operators::functions(), path_query::functions()];
    for function in all.into_iter().flatten() {
        context.register_udf(function);
    }
}
