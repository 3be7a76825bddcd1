//! The limits of requests with statements over HTTP.

use std::time::Duration;

/// The limits of requests with statements over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryOptions {
    /// The maximum time that a client may take to read the next part of an answer.
    pub read_time_max: Duration,
    /// The maximum size of a request with a statement, in bytes.
    pub text_bytes_max: usize,
}

impl Default for QueryOptions {
    fn default() -> Self {
        Self { read_time_max: Duration::from_secs(60), text_bytes_max: 16 << 20 }
    }
}
