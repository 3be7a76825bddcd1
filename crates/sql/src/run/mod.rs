//! Running queries: DataFusion's context with all that is plugged into it, the threads, and what bounds a query.
//!
//! Owned here: the context ([`context`]), the worker on which queries of one or several sessions are planned and
//! executed ([`worker`]), what one may hold and take ([`memory`], [`query_limits`], [`running`]), how it is
//! interrupted, the plans that are kept ([`plan_cache`]), and the rows that come out ([`answer`]). Not owned: what the
//! plans are made of (`plan`, `scan`, `operators`, `workarounds`).

pub(crate) mod answer;
pub(crate) mod context;
pub(crate) mod describe;
mod explain;
pub(crate) mod interrupt;
pub(crate) mod memory;
pub(crate) mod options;
pub(crate) mod permission;
pub(crate) mod plan_cache;
mod planned;
pub(crate) mod query;
mod query_limits;
mod running;
mod statement_query;
mod threads;
mod wait;
pub(crate) mod worker;
