//! The names of aggregates, by which calls of them are known before a statement is planned.
//!
//! No upstream issue known.

use datafusion::functions_aggregate::all_default_aggregate_functions;
use datafusion::sql::sqlparser::ast::{Function, ObjectName};
use std::collections::HashSet;
use std::sync::LazyLock;

/// Aggregates that are not DataFusion's. A column in the call of one that is missing here becomes a group without need,
/// and its call is accepted in FROM.
const OTHER_AGGREGATES: [&str; 23] = [
    "first",
    "last",
    "delta",
    "increase",
    "rate",
    "time_weighted_average",
    "lttb",
    "histogram",
    "mode",
    "percentile",
    "percentile_disc",
    "approx_percentile",
    "every",
    "variance",
    "group_concat",
    "arg_max",
    "arg_min",
    "max_by",
    "min_by",
    "json_agg",
    "jsonb_agg",
    "json_object_agg",
    "jsonb_object_agg",
];

/// The names of all aggregates.
static AGGREGATES: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let functions = all_default_aggregate_functions();
    let names = functions.iter().flat_map(|function| {
        let aliases = function.aliases().iter().map(String::as_str);
        std::iter::once(function.name()).chain(aliases)
    });
    names.chain(OTHER_AGGREGATES).map(str::to_owned).collect()
});

/// Returns whether a call computes one value of all rows of a group.
pub(crate) fn is_aggregate(call: &Function) -> bool {
    call.over.is_none() && is_name_of_aggregate(&call.name)
}

pub(crate) fn is_name_of_aggregate(name: &ObjectName) -> bool {
    let name = name.0.last().and_then(|part| part.as_ident());
    name.is_some_and(|name| AGGREGATES.contains(&name.value.to_lowercase()))
}
