//! The options of a server.

use crate::ingest::options::IngestOptions;
use crate::query::QueryOptions;
use crate::shared::log::LogOptions;
use crate::shared::statement_options::StatementOptions;
use crate::tls::options::TlsOptions;

/// The options of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerOptions {
    /// `HOST:PORT` for PostgreSQL's protocol. Port 0 takes any free port. `None` disables it.
    pub pg: Option<String>,
    /// `HOST:PORT` for HTTP. Port 0 takes any free port. `None` disables it.
    pub http: Option<String>,
    /// `HOST:PORT` for gRPC: Arrow Flight SQL, and OpenTelemetry's metrics. Port 0 takes any free port. `None` disables
    /// it.
    pub grpc: Option<String>,
    /// The certificate by which all are encrypted: HTTP and gRPC always, PostgreSQL's protocol if the client asks for
    /// it.
    pub tls: Option<TlsOptions>,
    /// The maximum number of connections of each protocol.
    pub connections_max: usize,
    /// The log on stderr.
    pub log: LogOptions,
    /// `http://HOST:PORT` of a collector of OpenTelemetry, which gets a span for each statement. `None` sends none.
    pub traces: Option<String>,
    /// The limits of statements, over all protocols.
    pub statements: StatementOptions,
    /// The limits of requests that bring rows.
    pub ingest: IngestOptions,
    /// Further limits of requests with statements over HTTP.
    pub query: QueryOptions,
}

impl Default for ServerOptions {
    /// PostgreSQL on 127.0.0.1:5433, HTTP on 127.0.0.1:8086, no gRPC, 1,000 connections each, no TLS, no log, no
    /// traces.
    fn default() -> Self {
        Self {
            pg: Some("127.0.0.1:5433".to_owned()),
            http: Some("127.0.0.1:8086".to_owned()),
            grpc: None,
            tls: None,
            connections_max: 1_000,
            log: LogOptions::default(),
            traces: None,
            statements: StatementOptions::default(),
            ingest: IngestOptions::default(),
            query: QueryOptions::default(),
        }
    }
}
