//! The server as programs see it: real clients, real connections, and their rows in the store.

#![expect(clippy::disallowed_methods, reason = "tests wait, and time what they test")]
#![expect(clippy::print_stderr, reason = "tests say what they skip")]

mod access;
mod access_pg;
mod access_tls;
mod activity;
mod advisory_locks;
mod at_once;
mod catalogue;
mod client;
mod compressed_answers;
mod copying;
mod curl;
mod cursors;
mod databases;
mod enumerated_types;
mod flight;
mod full_disk;
mod hostile;
mod idle;
mod influx_clients;
mod introspection;
mod kills;
mod limits;
mod lines;
mod lost_store;
mod materialized_views;
mod notices;
mod origins;
mod page;
mod pg_dump;
mod pgbench;
mod portals;
mod prepared;
mod programs;
mod prom;
mod psql;
mod rust_client;
mod schemas;
mod senders;
mod session_functions;
mod settings;
mod sharing;
mod shutdown;
mod slow_clients;
mod statements;
mod support;
