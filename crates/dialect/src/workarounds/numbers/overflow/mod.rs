//! Numbers that do not fit their type are an error, as in PostgreSQL. DataFusion wraps integers around, and makes
//! floats infinite or zero.
//!
//! Owned here: `+`, `-` and `*` of integers and their negation ([`integer_operation`]), `+` and `-` of decimals
//! ([`decimal_sum`]) and arithmetic of floats ([`float_operation`]), which replace DataFusion's operators as soon as
//! types are known, so that constants are checked too ([`CheckNumbers`]); `sum` of integers and decimals
//! ([`ExactSum`](sum::ExactSum)), `avg` of integers of 64 bits and of decimals
//! ([`ExactAverage`](average::ExactAverage)), functions of floats ([`float_functions`]), `sum` and `avg` of floats in
//! sliding frames ([`sliding_floats`]), variances and standard deviations ([`variance`]), and covariances and the like
//! in sliding frames ([`covariance`]). A result that is not a number is the one NaN ([`one_nan`]).
//! Not owned: division of integers, casts, `abs` and arithmetic of times, which DataFusion checks, products and
//! quotients of decimals ([`decimals`](super::decimals)), and sums of floats, which become infinite.
//!
//! Waits for [#3520](https://github.com/apache/datafusion/issues/3520) and
//! [#21318](https://github.com/apache/datafusion/issues/21318); for the aggregates no upstream issue is known.

mod average;
mod average_groups;
mod counted_moments;
mod covariance;
mod decimal_sum;
mod float_functions;
mod float_operation;
mod float_range;
mod frame_accumulator;
mod frame_values;
mod integer_operation;
mod one_nan;
mod rule;
mod sliding_floats;
mod sum;
mod sum_distinct;
mod sum_groups;
mod variance;
mod wide_sum;

pub use integer_operation::IntegerOperation;
pub(crate) use rule::CheckNumbers;
pub use rule::checked;
pub use wide_sum::{AVERAGE, STATE as WIDE_SUM, average, fitting as fitting_sum, sums_as};

use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::AggregateUDF;
use std::sync::Arc;

/// Replaces DataFusion's `sum` and `avg` by the checked sum and the exact average, and its variances and
/// covariances, and checks functions of floats.
pub(crate) fn check_functions(context: &SessionContext) {
    float_functions::register(context);
    variance::register(context);
    covariance::register(context);
    if let Some(inner) = context.state().aggregate_functions().get("sum") {
        context.register_udaf(AggregateUDF::new_from_impl(sum::ExactSum::new(Arc::clone(inner))));
    }
    if let Some(inner) = context.state().aggregate_functions().get("avg") {
        context.register_udaf(AggregateUDF::new_from_impl(average::ExactAverage::new(Arc::clone(inner))));
    }
}
