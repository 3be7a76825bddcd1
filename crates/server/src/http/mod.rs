//! HTTP: connections, and paths about the server itself.
//!
//! Owned here: reading requests within limits, ending connections when the server drains, /health, /ready and /metrics,
//! the running statements, errors in the log, refusing requests of other people's pages, the layer that finds out who
//! sends a request and whether the address is for them, and what protocols answer alike.
//! Not owned: addresses of other rooms, which have routers of their own.

pub(crate) mod connections;
mod credentials;
pub(crate) mod draining;
pub(crate) mod errors;
pub(crate) mod guard;
pub(crate) mod needs;
pub(crate) mod operation;
pub(crate) mod origin;
pub(crate) mod refusal;
pub(crate) mod statements;
