//! The server as programs see it: real clients, real connections, and their rows in the store.

#![expect(clippy::disallowed_methods, reason = "tests wait, and time what they test")]
#![expect(clippy::print_stderr, reason = "tests say what they skip")]

mod access;
mod access_pg;
mod access_tls;
mod catalogue;
mod client;
mod curl;
mod hostile;
mod introspection;
mod kills;
mod limits;
mod lines;
mod page;
mod programs;
mod prom;
mod psql;
mod running;
mod rust_client;
mod statements;
mod support;
