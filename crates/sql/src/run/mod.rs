//! Running queries: DataFusion's context with all that is plugged into it, the threads, and what bounds a query.
//!
//! Owned here: the context ([`context`]), the worker on which a query is planned and executed ([`worker`]), its limits
//! of time and memory ([`query_limits`]), how it is interrupted, and the rows that come out ([`answer`]). Not owned:
//! what the plans are made of (`plan`, `scan`, `operators`, `workarounds`).

pub(crate) mod answer;
pub(crate) mod context;
mod explain;
pub(crate) mod interrupt;
pub(crate) mod options;
pub(crate) mod query;
mod query_limits;
mod statement_query;
mod threads;
mod wait;
pub(crate) mod worker;
