//! JSON: functions that [`read`], [`build`] and [`change`] it, PostgreSQL's [`operators`], [values of any type as
//! JSON](values), and the form of [`jsonb`].
//!
//! SQL/JSON paths: [functions](path_query) of them; their text as a [tree](path_tree), which is [parsed](path_syntax)
//! and [shown](path_text); and the [items](path_items) that they find.

mod build;
mod change;
mod jsonb;
pub mod operators;
mod path_datetime;
mod path_failures;
mod path_ids;
mod path_items;
mod path_numbers;
pub(crate) mod path_query;
mod path_regex;
mod path_syntax;
#[cfg(test)]
mod path_syntax_tests;
mod path_text;
mod path_times;
mod path_tokens;
mod path_tree;
mod path_values;
mod path_walk;
mod path_work;
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
