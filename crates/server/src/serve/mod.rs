//! The server: its addresses, what answers for each database, when it is ready, how it shuts down.

mod database_services;
mod listen;
pub(crate) mod options;
mod routes;
pub(crate) mod server;
