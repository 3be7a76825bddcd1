//! The server: one process that makes stores available to other programs.
//!
//! Rooms, from the top; each imports only rooms below it:
//!
//! | room | what it owns |
//! |---|---|
//! | `serve` | [`Server`]: listening, readiness, draining; which rooms answer HTTP |
//! | `pg` | PostgreSQL's protocol, its types and its catalogue |
//! | `grpc` | gRPC connections, and the methods that they may call; OpenTelemetry's metrics over gRPC |
//! | `flight` | Arrow Flight SQL |
//! | `query` | SQL over HTTP, and appending Arrow batches |
//! | `prom` | Prometheus over HTTP: remote write and read, PromQL |
//! | `influx` | line protocol over HTTP, as InfluxDB 1, 2 and 3 accept it |
//! | `page` | the web page at / |
//! | `http` | HTTP connections, and the paths about the server itself: /health, /ready, /metrics, running statements |
//! | `databases` | which databases there are, and which one a client means |
//! | `access` | access control: users, roles, passwords, tokens, delays after failed attempts |
//! | `tls` | the server's certificate, which can be reloaded |
//! | `ingest` | storing incoming rows: bodies within limits, creating tables and columns, many requests in one commit |
//! | `shared` | what every room uses: the store, metrics, the phase that the server is in |
//!
//! A room that answers HTTP has a function `router(state)`, which `serve::routes` merges with the others. There is one
//! such router for each database, and one for the paths about the server itself.
//!
//! Not owned: SQL (`sql`), rows and chunks (`engine`), the command line (`cli`).

mod access;
mod databases;
mod flight;
mod grpc;
mod http;
mod influx;
mod ingest;
mod page;
mod pg;
mod prom;
mod query;
mod serve;
mod shared;
mod tls;

/// Functions for [atsdb-fuzz](../../fuzz) that read the bytes of clients without a connection.
#[doc(hidden)]
pub mod fuzz {
    pub use crate::access::fuzz::read_scram;
    pub use crate::pg::fuzz::{read_copy, read_pg_frames, read_pg_parameters, read_pg_startup};
    pub use crate::query::read_arrow;
}

pub use access::role::Role;
pub use access::user_store::{TokenEntry, UserEntry, UserStore};
pub use databases::source::DatabaseSource;
pub use ingest::options::IngestOptions;
pub use pg::copy::files::{read_copied, write_copied};
pub use query::QueryOptions;
pub use serve::options::ServerOptions;
pub use serve::server::{Drained, Listening, Reloader, Server};
pub use shared::log::{LogFormat, LogLevel, LogOptions};
pub use shared::statement_options::{RoleLimits, StatementOptions};
pub use tls::options::TlsOptions;
