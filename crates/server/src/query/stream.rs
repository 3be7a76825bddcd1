//! The bytes of an answer on their way from the thread that computes it to the connection.

use crate::shared::holds::Holds;
use crate::shared::places::StatementPermit;
use atsdb::sql::InterruptHandle;
use axum::body::{Body, Bytes};
use futures::stream::poll_fn;
use parking_lot::Mutex;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

/// Bytes are handed over in parts of this size.
const PART_BYTES: usize = 64 << 10;
/// This many parts wait to be sent.
const PARTS_MAX: usize = 4;

type AnswerPart = Result<Bytes, io::Error>;

/// The writing end, used by a thread that may block.
pub(crate) struct PartWriter {
    buffer: Vec<u8>,
    parts: mpsc::Sender<AnswerPart>,
    runtime: Handle,
    read_time_max: Duration,
    /// The statement's place, which others use while the client does not read.
    place: StatementPermit,
    holds: Holds,
}

/// The reading end.
pub(crate) struct PartReader(mpsc::Receiver<AnswerPart>);

/// Creates both ends. The reader runs in `runtime`.
pub(crate) fn parts(runtime: Handle, read_time_max: Duration, place: StatementPermit) -> (PartWriter, PartReader) {
    let (sender, receiver) = mpsc::channel(PARTS_MAX);
    let (buffer, holds) = (Vec::new(), Holds::default());
    (PartWriter { buffer, parts: sender, runtime, read_time_max, place, holds }, PartReader(receiver))
}

impl PartWriter {
    /// Where the batches are noted that the statement holds while the client does not read.
    pub(crate) fn holds(&self) -> Holds {
        self.holds.clone()
    }

    fn hand_over(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let part = Bytes::from(std::mem::take(&mut self.buffer));
        self.send(Ok(part))
    }

    fn send(&mut self, part: AnswerPart) -> io::Result<()> {
        let sent = tokio::time::timeout(self.read_time_max, self.parts.send(part));
        let byte_count = self.holds.byte_count() + PARTS_MAX * PART_BYTES;
        match self.runtime.block_on(self.place.wait_for(byte_count, sent)) {
            Ok(Ok(Ok(()))) => Ok(()),
            Ok(Ok(Err(_))) => Err(io::Error::new(io::ErrorKind::BrokenPipe, "the client has gone")),
            Ok(Err(_)) => Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read")),
            Err(_) => {
                Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read, and others do not either"))
            }
        }
    }

    /// Ends the answer with some last bytes.
    pub(crate) fn end_with(mut self, bytes: &[u8]) {
        // If the client has disconnected, errors do not matter.
        let _ = self.write_all(bytes).and_then(|()| self.flush());
    }

    /// Aborts the answer: the connection is closed, so that the client notices.
    pub(crate) fn fail(mut self, message: &str) {
        self.holds.set(0);
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

/// Stops a statement whose client no longer waits for the answer.
#[derive(Debug, Clone)]
pub(crate) struct Stop(Arc<Mutex<Option<InterruptHandle>>>);

impl Stop {
    pub(crate) fn new(handle: InterruptHandle) -> Self {
        Self(Arc::new(Mutex::new(Some(handle))))
    }

    /// Called when the statement has ended. Its session may then run another one, which must not be stopped.
    pub(crate) fn disarm(&self) {
        self.0.lock().take();
    }
}

/// Stops the statement when this is dropped, as a connection does with answers that it can no longer send.
#[derive(Debug)]
pub(crate) struct StopOnDrop(pub(crate) Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        if let Some(handle) = self.0.0.lock().as_ref() {
            handle.interrupt();
        }
    }
}

impl PartReader {
    /// The parts as the body of an answer, which stops the statement when it is dropped.
    pub(crate) fn into_body(mut self, stop: StopOnDrop) -> Body {
        Body::from_stream(poll_fn(move |context| {
            let _ = &stop;
            self.0.poll_recv(context)
        }))
    }
}
