//! The body of a request with messages: each is passed on when it has arrived completely, so that no length is believed
//! before its bytes are there. Bytes are counted in the memory that all requests share.
//!
//! A request that its client breaks off ends with an error, and never like one that is complete.

use crate::ingest::options::IngestOptions;
use crate::ingest::request_memory::{MemoryReservation, RequestMemory};
use axum::body::Body;
use hyper::body::{Body as _, Bytes, Incoming};
use std::pin::Pin;
use std::time::Duration;
use tonic::Status;

/// A message begins with a flag and its length.
const PREFIX_BYTES: usize = 5;

/// The maximum time that a client may take to begin the next message.
const PAUSE_MAX: Duration = Duration::from_secs(600);

/// The number of copies of a message in memory: as it arrives, and decoded.
const COPIES: usize = 2;

struct Messages {
    body: Incoming,
    /// The bytes of the next message that have arrived, and possibly of later ones.
    arrived: Vec<u8>,
    reservation: MemoryReservation,
    bytes_max: usize,
    read_time_max: Duration,
}

/// The same body, cut into whole messages.
pub(super) fn whole_messages(body: Incoming, memory: &RequestMemory, options: &IngestOptions) -> Body {
    let messages = Messages {
        body,
        arrived: Vec::new(),
        reservation: memory.reservation(),
        bytes_max: options.body_bytes_max,
        read_time_max: options.read_time_max,
    };
    Body::from_stream(futures::stream::unfold(Some(messages), |messages| async move {
        let mut messages = messages?;
        match messages.next().await {
            Ok(message) => message.map(|message| (Ok(message), Some(messages))),
            Err(status) => Some((Err(status), None)),
        }
    }))
}

impl Messages {
    /// The next message with its prefix; `None` at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, Status> {
        loop {
            if let Some(length) = self.length()?
                && self.arrived.len() >= length
            {
                let rest = self.arrived.split_off(length);
                return Ok(Some(Bytes::from(std::mem::replace(&mut self.arrived, rest))));
            }
            let time_max = if self.arrived.is_empty() { PAUSE_MAX } else { self.read_time_max };
            let frame = std::future::poll_fn(|context| Pin::new(&mut self.body).poll_frame(context));
            let frame = tokio::time::timeout(time_max, frame).await;
            let frame = frame.map_err(|_| Status::deadline_exceeded("the request did not arrive in time"))?;
            let Some(frame) = frame else {
                return match self.arrived.len() {
                    0 => Ok(None),
                    _ => Err(Status::invalid_argument("the request ends in the middle of a message")),
                };
            };
            let frame = frame.map_err(|error| Status::aborted(format!("the request was broken off: {error}")))?;
            let Ok(bytes) = frame.into_data() else { continue };
            let byte_count = (self.arrived.len() + bytes.len()).saturating_mul(COPIES);
            let full = |_| Status::unavailable("too many bytes are being written: retry later");
            self.reservation.grow(byte_count).await.map_err(full)?;
            self.arrived.extend_from_slice(&bytes);
        }
    }

    /// The length of the next message with its prefix, if it is known.
    fn length(&self) -> Result<Option<usize>, Status> {
        let Some([_, length @ ..]) = self.arrived.first_chunk::<PREFIX_BYTES>() else { return Ok(None) };
        let length = u32::from_be_bytes(*length) as usize;
        if length > self.bytes_max {
            let message = format!("the message is larger than {} bytes", self.bytes_max);
            return Err(Status::resource_exhausted(message));
        }
        Ok(Some(PREFIX_BYTES + length))
    }
}
