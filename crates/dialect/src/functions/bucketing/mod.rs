//! Cutting time into buckets: [`time_bucket`], whose arguments [`cut`] turns into [`buckets`] of a time zone, over a
//! [`grid`] of a clock without changes.

pub mod buckets;
pub mod cut;
pub mod grid;
pub mod time_bucket;

use datafusion::logical_expr::ScalarUDF;
use datafusion::prelude::SessionContext;
use time_bucket::{Name, TimeBucket};

pub(super) fn register(context: &SessionContext) {
    for name in [Name::TimeBucket, Name::DateBin] {
        context.register_udf(ScalarUDF::new_from_impl(TimeBucket::new(name)));
    }
}
