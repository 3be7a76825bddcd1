//! A server, and requests as Prometheus and Grafana send them.

use crate::client::{Reply, TestServer, server, server_with};
use atsdb_server::IngestOptions;
use serde_json::Value;

pub(super) struct Served(pub(super) TestServer);

pub(super) fn json(reply: &Reply) -> Value {
    serde_json::from_slice(&reply.body).unwrap_or_else(|error| panic!("{error}: {}", reply.text()))
}

impl Served {
    pub(super) fn start() -> Self {
        Self(server())
    }

    pub(super) fn with(ingest: IngestOptions) -> Self {
        Self(server_with(ingest))
    }

    pub(super) fn get(&self, path: &str) -> Reply {
        self.0.get(path)
    }

    pub(super) fn form(&self, path: &str, form: &str) -> Reply {
        self.0.send("POST", path, &[("Content-Type", "application/x-www-form-urlencoded")], form)
    }

    /// Sends a remote write of version 1.
    pub(super) fn write(&self, body: &[u8]) -> Reply {
        let headers = [("Content-Type", "application/x-protobuf"), ("Content-Encoding", "snappy")];
        self.0.send("POST", "/api/v1/write", &headers, body)
    }

    pub(super) fn write_v2(&self, body: &[u8]) -> Reply {
        let kind = "application/x-protobuf;proto=io.prometheus.write.v2.Request";
        self.0.send("POST", "/api/v1/write", &[("Content-Type", kind), ("Content-Encoding", "snappy")], body)
    }

    /// Returns the rows of a statement, with each value as text.
    pub(super) fn rows(&self, sql: &str) -> Vec<Vec<String>> {
        self.0.rows(sql).iter().map(|row| row.split(" | ").map(str::to_owned).collect()).collect()
    }
}
