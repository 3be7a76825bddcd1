//! Functions for time series, in addition to DataFusion's.
//!
//! Owned here: cutting time into buckets ([`time_bucket`], over [`buckets`], [`grid`] and [`zone`]); aggregates over
//! values in the order of their times. Not owned: filling gaps, which is done by a plan step, not by a function.

pub(crate) mod advisory_locks;
mod ages;
pub(crate) mod arguments;
mod array_dims;
mod at_zone;
mod bookend;
mod bookend_groups;
pub(crate) mod buckets;
mod codes;
pub(crate) mod cut;
pub(crate) mod declared;
mod degrees;
pub(crate) mod difference;
mod ends;
mod from_pattern;
pub(crate) mod grid;
mod histogram;
pub(crate) mod identity;
pub(crate) mod interval;
pub(crate) mod json;
mod json_build;
mod json_change;
pub(crate) mod json_operators;
mod json_values;
mod jsonb;
mod keywords;
mod like_escape;
pub(crate) mod lock_table;
mod lttb;
mod moments;
mod nth_value;
mod number_digits;
mod number_pattern;
mod number_text;
mod numbers;
pub(crate) mod of_inner;
mod ordered;
mod plain;
mod points;
mod regexps;
pub(crate) mod schema_names;
pub(crate) mod sequences;
mod series;
mod series_state;
pub(crate) mod sleep;
pub(crate) mod statement_time;
mod text;
pub(crate) mod text_types;
pub(crate) mod time_bucket;
mod time_digits;
mod time_pattern;
pub(crate) mod time_types;
mod to_char;
mod to_number;
mod trunc;
mod type_names;
pub(crate) mod uuids;
pub(crate) mod version;
pub(crate) mod zone;

pub(crate) use arguments::{place_named_arguments, text_of};
pub(crate) use like_escape::escaped_pattern;

use bookend::Bookend;
use datafusion::common::Result;
use datafusion::functions_aggregate::approx_percentile_cont::approx_percentile_cont_udaf;
use datafusion::functions_aggregate::percentile_cont::percentile_cont_udaf;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use datafusion::prelude::SessionContext;
use ends::End;
use std::sync::Arc;
use time_bucket::{Name, TimeBucket};

/// Functions that no statement can use: of unions, a type that no column has, and of files that DataFusion reads.
const UNUSABLE: [&str; 4] = ["file_row_index", "input_file_name", "union_extract", "union_tag"];

/// Registers all of them.
pub(crate) fn register(context: &SessionContext) -> Result<()> {
    for name in UNUSABLE {
        context.deregister_udf(name);
    }
    for name in [Name::TimeBucket, Name::DateBin] {
        context.register_udf(ScalarUDF::new_from_impl(TimeBucket::new(name)));
    }
    for end in [End::First, End::Last] {
        context.register_udaf(AggregateUDF::new_from_impl(Bookend::new(end)));
    }
    for &kind in series::SeriesFunction::ALL {
        context.register_udaf(AggregateUDF::new_from_impl(series::Series::new(kind)));
    }
    context.register_udaf(AggregateUDF::new_from_impl(histogram::Histogram::new()));
    let of_times = [ages::functions(), at_zone::functions(), moments::functions()];
    let of_values = [numbers::functions(), degrees::functions(), json::functions(), uuids::functions()];
    let of_texts = [text::functions(), codes::functions(), regexps::functions(), json_change::functions()];
    let of_json = [json_build::functions(), json_operators::functions(), declared::functions()];
    let functions = of_times.into_iter().chain(of_values).chain(of_texts).chain(of_json).flatten();
    functions.for_each(|function| context.register_udf(function));
    context.register_udf(to_number::function());
    context.register_udf(time_digits::function());
    array_dims::register(context);
    codes::register(context);
    trunc::register(context);
    nth_value::register(context);
    context.register_udf(version::function());
    context.register_udf(type_names::function());
    context.register_udf(statement_time::statement_timestamp(None));
    schema_names::search_path_functions(None).into_iter().for_each(|function| context.register_udf(function));
    context.register_udf(sleep::function());
    identity::identity_functions(None).for_each(|function| context.register_udf(function));
    advisory_locks::lock_functions(None).into_iter().for_each(|function| context.register_udf(function));
    sequences::sequence_functions(None).into_iter().for_each(|function| context.register_udf(function));
    ordered::functions().into_iter().for_each(|function| context.register_udaf(function));
    let state = context.state();
    if let Some(inner) = state.scalar_functions().get("to_char") {
        context.register_udf(ScalarUDF::new_from_impl(to_char::ToChar::new(Arc::clone(inner))));
    }
    for name in ["to_date", "to_timestamp"] {
        if let Some(inner) = state.scalar_functions().get(name) {
            context.register_udf(ScalarUDF::new_from_impl(from_pattern::FromPattern::new(Arc::clone(inner))));
        }
    }
    let (exact, approximate) = (percentile_cont_udaf(), approx_percentile_cont_udaf());
    for (function, alias) in [(exact, "percentile"), (approximate, "approx_percentile")] {
        context.register_udaf(function.as_ref().clone().with_aliases([alias]));
    }
    Ok(())
}
