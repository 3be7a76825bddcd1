//! The limits of statements that come over HTTP.

use std::time::Duration;

/// The limits of statements that come over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryOptions {
    /// The most statements that run at the same time. Others are held, and refused after `hold_time`.
    pub statements_max: usize,
    /// How long a statement is held that has no place.
    pub hold_time: Duration,
    /// The most bytes that one statement may hold.
    pub memory_bytes: usize,
    /// The longest that a statement may take until its last row is sent.
    pub time_limit: Duration,
    /// How long a client may take to read the next part of an answer.
    pub read_time_max: Duration,
    /// The most bytes of a request with a statement.
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
