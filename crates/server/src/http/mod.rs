//! HTTP: connections, and what the server says of itself.
//!
//! Owned here: reading requests within limits, ending connections when the server drains, /health, /ready and /metrics,
//! refusing requests of other people's pages, and the layer that finds out who sends a request and whether the address
//! is for them.
//! Not owned: addresses of other rooms, which have routers of their own.

pub(crate) mod connections;
mod credentials;
pub(crate) mod guard;
pub(crate) mod needs;
pub(crate) mod operation;
pub(crate) mod origin;
