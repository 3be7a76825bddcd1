//! Aggregates over values in the order of their times, `first` and `last` ([`bookend`]) and what is computed over all
//! points of a [`series`]; and over values in their own order: [`histogram`], percentiles and modes ([`ordered`]). The
//! window function [`nth_value`], too.

mod bookend;
mod bookend_groups;
mod ends;
mod histogram;
mod lttb;
mod nth_value;
mod ordered;
mod points;
mod series;
mod series_state;

use bookend::Bookend;
use datafusion::functions_aggregate::approx_percentile_cont::approx_percentile_cont_udaf;
use datafusion::functions_aggregate::percentile_cont::percentile_cont_udaf;
use datafusion::logical_expr::AggregateUDF;
use datafusion::prelude::SessionContext;
use ends::End;
use histogram::Histogram;
use series::{Series, SeriesFunction};

pub(super) fn register(context: &SessionContext) {
    for end in [End::First, End::Last] {
        context.register_udaf(AggregateUDF::new_from_impl(Bookend::new(end)));
    }
    for &kind in SeriesFunction::ALL {
        context.register_udaf(AggregateUDF::new_from_impl(Series::new(kind)));
    }
    context.register_udaf(AggregateUDF::new_from_impl(Histogram::new()));
    for function in ordered::functions() {
        context.register_udaf(function);
    }
    let (exact, approximate) = (percentile_cont_udaf(), approx_percentile_cont_udaf());
    for (function, alias) in [(exact, "percentile"), (approximate, "approx_percentile")] {
        context.register_udaf(function.as_ref().clone().with_aliases([alias]));
    }
    nth_value::register(context);
}
