//! The server: its addresses, when it is ready, how it shuts down.

mod listen;
pub(crate) mod options;
mod routes;
pub(crate) mod server;
