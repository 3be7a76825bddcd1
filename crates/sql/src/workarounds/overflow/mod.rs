//! Integers that do not fit their type are an error, as in PostgreSQL. DataFusion wraps around.
//!
//! Owned here: `+`, `-` and `*` of integers and their negation ([`CheckIntegers`], which replaces DataFusion's operator
//! by an [`Operation`](operation::Operation) as soon as types are known, so that constants are checked too), `sum` of
//! integers and decimals ([`ExactSum`](sum::ExactSum)), `avg` of integers of 64 bits and of decimals
//! ([`ExactAverage`](average::ExactAverage)), and floats divided by zero ([`quotient`]). Not owned: division of
//! integers, casts, `abs` and arithmetic of times and decimals, which DataFusion checks.
//!
//! Waits for [#3520](https://github.com/apache/datafusion/issues/3520) and
//! [#21318](https://github.com/apache/datafusion/issues/21318); for `sum` and `avg` no upstream issue is known.

mod average;
mod average_groups;
mod operation;
mod quotient;
mod rule;
mod sum;
mod sum_distinct;
mod sum_groups;
mod wide_sum;

pub(crate) use rule::{CheckIntegers, checked};
pub(crate) use wide_sum::{AVERAGE, STATE as WIDE_SUM, average, fitting as fitting_sum, sums_as};

use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::AggregateUDF;
use std::sync::Arc;

/// Replaces DataFusion's `sum` and `avg` by the checked sum and the exact average.
pub(crate) fn check_sums(context: &SessionContext) {
    if let Some(inner) = context.state().aggregate_functions().get("sum") {
        context.register_udaf(AggregateUDF::new_from_impl(sum::ExactSum::new(Arc::clone(inner))));
    }
    if let Some(inner) = context.state().aggregate_functions().get("avg") {
        context.register_udaf(AggregateUDF::new_from_impl(average::ExactAverage::new(Arc::clone(inner))));
    }
}
