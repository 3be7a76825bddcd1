//! The limits of requests that bring rows.

use std::time::Duration;

/// The limits of requests that bring rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IngestOptions {
    /// The maximum size of a request's body as sent, in bytes.
    pub body_bytes_max: usize,
    /// The maximum size of a request's body after decompression, in bytes.
    pub plain_bytes_max: usize,
    /// The maximum memory of all requests together, in bytes.
    pub bytes_in_flight_max: usize,
    /// The maximum time for which a request waits if there is no room for it.
    pub hold_time: Duration,
    /// The maximum time that a client may take to send the next bytes of a body.
    pub read_time_max: Duration,
}

impl Default for IngestOptions {
    fn default() -> Self {
        Self {
            body_bytes_max: 64 << 20,
            plain_bytes_max: 128 << 20,
            bytes_in_flight_max: 256 << 20,
            hold_time: Duration::from_secs(5),
            read_time_max: Duration::from_secs(30),
        }
    }
}
