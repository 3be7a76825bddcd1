//! The server: what it listens to, when it is ready, how it ends.

mod listen;
pub(crate) mod options;
mod routes;
pub(crate) mod server;
