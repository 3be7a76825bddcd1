//! Rollups: tables whose rows are computed from another's, bucket of time by bucket of time.
//!
//! Owned here: the statements ([`syntax`]), which queries can be a rollup's ([`query`], [`check`]), what stands in a
//! plan where a statement names one ([`plan`]), and when and in which steps it is computed ([`refresh`], [`chore`]). A
//! bucket is computed from all of its rows or not at all, so that whatever a query can say of a bucket can be kept. Not
//! owned: which times are stale, and how rows take others' places (`engine`).

mod buckets;
mod check;
mod chore;
mod plan;
mod query;
mod refresh;
mod syntax;

pub(crate) use check::{Described, describe_rollup};
pub(crate) use chore::RollupChore;
pub(crate) use plan::{Focus, refuse_change, rollup_plan};
pub(crate) use query::{BucketedQuery, default_slice};
pub use refresh::RefreshReport;
pub(crate) use refresh::{Effort, Refresh, rollups_named};
pub(crate) use syntax::{CreateRollup, RollupStatement};
