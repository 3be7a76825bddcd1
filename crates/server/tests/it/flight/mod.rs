//! Flight SQL over gRPC: by the client of arrow-flight, and by drivers in Python.

mod access;
pub(crate) mod client;
mod hostile;
mod keys;
mod lifecycle;
mod programs;
mod statements;
