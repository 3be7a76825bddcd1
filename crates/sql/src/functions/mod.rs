//! Functions that people ask time series with, beside those of DataFusion.
//!
//! Owned here: cutting time into buckets ([`time_bucket`], over [`buckets`], [`grid`] and [`zone`]); aggregates over
//! values in the order of their times. Not owned: filling gaps, which is a plan and no function.

pub(crate) mod arguments;
pub(crate) mod buckets;
pub(crate) mod grid;
pub(crate) mod interval;
mod time_bucket;
pub(crate) mod zone;

pub(crate) use arguments::place_named_arguments;

use datafusion::common::Result;
use datafusion::logical_expr::ScalarUDF;
use datafusion::prelude::SessionContext;

/// Registers all of them.
pub(crate) fn register(context: &SessionContext) -> Result<()> {
    context.register_udf(ScalarUDF::new_from_impl(time_bucket::TimeBucket::new()));
    Ok(())
}
