//! The limits of requests that bring rows.

use std::time::Duration;

/// The limits of requests that bring rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IngestOptions {
    /// The most bytes of a request's body as it is sent.
    pub body_bytes_max: usize,
    /// The most bytes of a request's body after decompression.
    pub plain_bytes_max: usize,
    /// The most bytes that all requests together hold.
    pub bytes_in_flight_max: usize,
    /// How long a request is held that finds no room.
    pub hold_time: Duration,
    /// How long a client may take to send the next bytes of a body.
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
