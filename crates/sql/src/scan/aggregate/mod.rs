//! Aggregates over a table, grouped by mapped columns, integers or time buckets, as one operator that reads the chunks.
//!
//! DataFusion hands rows to an aggregate 8,192 at a time and looks each one up. Here whole chunks go to
//! [`Groups`](atsdb_engine::Groups), which works on runs of rows with equal keys: sealed chunks are sorted by series
//! and time. Everything else (other functions, other expressions than `x + 1`, DISTINCT, FILTER) stays with DataFusion.

mod bucket;
mod call;
mod moment;
mod operator;
mod rule;
mod shift;

pub(crate) use operator::{AggregateExec, Aggregation};
pub(crate) use rule::aggregate_chunks;
