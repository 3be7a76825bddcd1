//! HTTP: connections, and what the server says of itself.
//!
//! Owned here: reading requests within limits, ending connections when the server drains, /health, /ready and /metrics,
//! the running statements, refusing requests of other people's pages, and what protocols answer alike.
//! Not owned: addresses of other rooms, which have routers of their own.

pub(crate) mod connections;
pub(crate) mod operation;
pub(crate) mod origin;
pub(crate) mod refusal;
pub(crate) mod statements;
