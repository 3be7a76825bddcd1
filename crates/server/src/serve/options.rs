//! What a server is started with.

use crate::ingest::options::IngestOptions;
use crate::query::QueryOptions;

/// What a server is started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerOptions {
    /// `HOST:PORT` for HTTP. Port 0 takes any free port. `None`: not spoken.
    pub http: Option<String>,
    /// The most connections of each protocol.
    pub connections_max: usize,
    /// The limits of requests that bring rows.
    pub ingest: IngestOptions,
    /// The limits of statements that come over HTTP.
    pub query: QueryOptions,
}

impl Default for ServerOptions {
    /// HTTP on 127.0.0.1:8086, 1,000 connections.
    fn default() -> Self {
        Self {
            http: Some("127.0.0.1:8086".to_owned()),
            connections_max: 1_000,
            ingest: IngestOptions::default(),
            query: QueryOptions::default(),
        }
    }
}
