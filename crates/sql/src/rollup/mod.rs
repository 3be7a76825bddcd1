//! Rollups: tables whose rows are computed from another's, bucket of time by bucket of time.
//!
//! Owned here: the statements ([`syntax`]), which queries can be a rollup's ([`query`], [`check`]), and when and in
//! which steps one is computed ([`refresh`], [`background`]). A bucket is computed from all of its rows or not at all,
//! so that whatever a query can say of a bucket can be kept. Not owned: what stands in a plan where a statement names a
//! rollup (`plan`), which times are stale, and how rows replace others (`engine`).

pub(crate) mod background;
pub(crate) mod check;
pub(crate) mod query;
pub(crate) mod refresh;
pub(crate) mod syntax;
