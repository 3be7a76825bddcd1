//! The limits of statements that come over HTTP.

use std::time::Duration;

/// The limits of statements that come over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryOptions {
    /// The maximum number of concurrent statements. Others wait, and are refused after `hold_time`.
    pub statements_max: usize,
    /// How long a statement waits before it is refused.
    pub hold_time: Duration,
    /// The maximum memory of one statement, in bytes.
    pub memory_bytes: usize,
    /// The maximum duration of a statement until its last row is sent.
    pub time_limit: Duration,
    /// How long a client may take to read the next part of an answer.
    pub read_time_max: Duration,
    /// The maximum size of a request with a statement, in bytes.
    pub text_bytes_max: usize,
}

impl Default for QueryOptions {
    fn default() -> Self {
        Self {
            statements_max: 8,
            hold_time: Duration::from_secs(5),
            memory_bytes: 512 << 20,
            time_limit: Duration::from_secs(600),
            read_time_max: Duration::from_secs(60),
            text_bytes_max: 16 << 20,
        }
    }
}
