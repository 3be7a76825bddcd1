//! The bytes of an answer on their way from the thread that computes it to the connection.

use crate::shared::holds::HeldBytes;
use crate::shared::outlet::{Inlet, Outlet, PARTS_MAX, StopOnDrop, outlet};
use crate::shared::permits::StatementPermit;
use axum::body::{Body, Bytes};
use futures::stream::poll_fn;
use std::io::{self, Write};
use std::time::Duration;
use tokio::runtime::Handle;

/// Bytes are handed over in parts of this size.
pub(super) const PART_BYTES: usize = 64 << 10;

type AnswerPart = Result<Bytes, io::Error>;

/// The writing end, used by a thread that may block.
pub(crate) struct PartWriter {
    buffer: Vec<u8>,
    parts: Outlet<AnswerPart>,
}

/// The reading end.
pub(crate) struct PartReader(Inlet<AnswerPart>);

/// Creates both ends. The reader runs in `runtime`.
pub(crate) fn parts(runtime: Handle, read_time_max: Duration, permit: StatementPermit) -> (PartWriter, PartReader) {
    let (parts, received) = outlet(runtime, read_time_max, permit);
    (PartWriter { buffer: Vec::new(), parts }, PartReader(received))
}

impl PartWriter {
    /// Returns the estimate of the memory that the statement holds while the client does not read.
    pub(crate) fn holds(&self) -> HeldBytes {
        self.parts.holds()
    }

    fn hand_over(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let part = Bytes::from(std::mem::take(&mut self.buffer));
        self.send(Ok(part))
    }

    fn send(&mut self, part: AnswerPart) -> io::Result<()> {
        self.parts.send(part, PARTS_MAX * PART_BYTES)
    }

    /// Ends the answer with some last bytes.
    pub(crate) fn end_with(mut self, bytes: &[u8]) {
        // If the client has disconnected, errors do not matter.
        let _ = self.write_all(bytes).and_then(|()| self.flush());
    }

    /// Aborts the answer: the connection is closed, so that the client notices.
    pub(crate) fn fail(mut self, message: &str) {
        self.holds().set(0);
        let _ = self.send(Err(io::Error::other(message.to_owned())));
    }
}

impl Write for PartWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // No part is larger, however much is written at once.
        let taken = bytes.len().min(PART_BYTES.saturating_sub(self.buffer.len()));
        self.buffer.extend_from_slice(&bytes[..taken]);
        if self.buffer.len() == PART_BYTES {
            self.hand_over()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.hand_over()
    }
}

impl PartReader {
    /// The parts as the body of an answer, which stops the statement when it is dropped.
    pub(crate) fn into_body(mut self, stop: StopOnDrop) -> Body {
        Body::from_stream(poll_fn(move |context| {
            let _ = &stop;
            self.0.poll_next(context)
        }))
    }
}
