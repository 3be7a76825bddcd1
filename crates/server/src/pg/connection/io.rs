//! The stream to a client: frames in, messages out.

use crate::ingest::request_memory::{Full, MemoryReservation, RequestMemory};
use crate::pg::error::{Failure, PgError, Severity};
use crate::pg::sessions::Termination;
use crate::pg::wire::incoming::{self, Incoming};
use crate::pg::wire::outgoing::Outgoing;
use crate::shared::holds::HeldBytes;
use crate::shared::permits::{StatementPermit, TooSlow};
use crate::shared::phase::{Phase, PhaseFollower};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::runtime::Handle;
use tokio_rustls::TlsAcceptor;

/// The number of bytes from which on messages are sent. They are also sent when there are no more.
const FLUSH_BYTES: usize = 64 << 10;

/// The number of bytes that are read at a time.
const READ_BYTES: usize = 32 << 10;

/// A frame that is longer has its memory reserved before it is read.
const FREE_BYTES: usize = 2 * READ_BYTES;

/// The maximum length of the body of a short frame in bytes.
const SHORT_BYTES_MAX: usize = 8 << 10;

/// The maximum time for which a client may read nothing while data is being sent to it.
const SEND_TIME_MAX: Duration = Duration::from_secs(60);

/// The maximum time that a refused client may take to read the reason and to hang up.
const HANG_UP_TIME_MAX: Duration = Duration::from_secs(1);

/// The byte stream of a connection: a TCP socket or TLS.
pub(in crate::pg) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// The stream to a client.
pub(in crate::pg) struct Io {
    stream: Box<dyn Stream>,
    input: Vec<u8>,
    /// The start of the bytes that are not consumed yet.
    start: usize,
    pub(in crate::pg) out: Outgoing,
    runtime: Handle,
    phase: PhaseFollower,
    /// The permit of the statement that runs, which others use while the client is waited for.
    pub(in crate::pg) permit: Option<StatementPermit>,
    /// The memory that this statement holds meanwhile.
    pub(in crate::pg) holds: HeldBytes,
    /// The memory of a long frame: of its bytes and of the message made of them.
    reservation: MemoryReservation,
    /// The maximum time for which a client may send nothing in the middle of a long frame.
    read_time_max: Duration,
    /// Whether somebody has ended the session.
    termination: Option<Termination>,
    /// Whether the thread that handles messages may block. Otherwise, output waits until it is [sent](Self::send).
    pub(in crate::pg) may_block: bool,
}

impl Io {
    pub(in crate::pg) fn new(
        stream: Box<dyn Stream>,
        phase: PhaseFollower,
        memory: &RequestMemory,
        read_time_max: Duration,
    ) -> Self {
        Self {
            stream,
            input: Vec::new(),
            start: 0,
            out: Outgoing::default(),
            runtime: Handle::current(),
            phase,
            permit: None,
            holds: HeldBytes::default(),
            reservation: memory.reservation(),
            read_time_max,
            termination: None,
            may_block: true,
        }
    }

    /// A reservation for what is made of frames, which is empty.
    pub(in crate::pg) fn further_reservation(&self) -> MemoryReservation {
        self.reservation.beside()
    }

    /// Enlarges a reservation, on a thread that may block. Others use the statement's permit meanwhile: whoever has the
    /// memory may wait for a permit.
    pub(in crate::pg) fn grow(
        &mut self,
        reservation: &mut MemoryReservation,
        byte_count: usize,
    ) -> Result<(), PgError> {
        let (runtime, held_bytes) = (self.runtime.clone(), self.holds.byte_count());
        let permit = self.permit.as_mut();
        let grown = runtime.block_on(async {
            match permit {
                Some(permit) => permit.wait_for(held_bytes, reservation.grow(byte_count)).await.unwrap_or(Err(Full)),
                None => reservation.grow(byte_count).await,
            }
        });
        grown.map_err(|Full| PgError::full())
    }

    /// Waits no longer when the session is ended.
    pub(in crate::pg) fn follow(&mut self, termination: Termination) {
        self.termination = Some(termination);
    }

    pub(in crate::pg) fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// Performs the TLS handshake. Everything after it is encrypted.
    pub(in crate::pg) async fn encrypt(&mut self, acceptor: &TlsAcceptor) -> Result<(), Failure> {
        // Bytes received before the handshake cannot be trusted: a man in the middle may have sent them.
        if !self.buffered().is_empty() {
            return Err(PgError::protocol("received unencrypted data after SSL request").into());
        }
        let stream = std::mem::replace(&mut self.stream, Box::new(tokio::io::empty()));
        self.stream = Box::new(acceptor.accept(stream).await.map_err(|_| Failure::Gone)?);
        Ok(())
    }

    /// Reads once from the client. It is an error if the client has disconnected.
    pub(in crate::pg) async fn fill(&mut self) -> Result<(), Failure> {
        if self.start == self.input.len() {
            self.input.clear();
            self.start = 0;
        } else if self.start > READ_BYTES {
            self.input.drain(..self.start);
            self.start = 0;
        }
        let byte_count = self.buffered().len() + READ_BYTES;
        let is_long = byte_count > FREE_BYTES;
        if is_long {
            self.reservation
                .grow(2 * byte_count)
                .await
                .map_err(|_| PgError { severity: Severity::Fatal, ..PgError::full() })?;
        }
        self.input.reserve(READ_BYTES);
        let read = self.stream.read_buf(&mut self.input);
        let read = if is_long {
            tokio::time::timeout(self.read_time_max, read).await.map_err(|_| {
                PgError::fatal("08006", "terminating connection because the client stopped in the middle of a message")
            })?
        } else {
            read.await
        };
        match read {
            Ok(0) | Err(_) => Err(Failure::Gone),
            Ok(_) => Ok(()),
        }
    }

    /// The bytes that are not consumed yet.
    pub(in crate::pg) fn buffered(&self) -> &[u8] {
        &self.input[self.start..]
    }

    pub(in crate::pg) fn advance(&mut self, count: usize) {
        self.start += count;
    }

    /// The kind of the next frame, if it has arrived completely.
    pub(in crate::pg) fn next_kind(&self) -> Result<Option<u8>, PgError> {
        let found = incoming::head(self.buffered())?;
        Ok(found.filter(|(_, length)| self.buffered().len() >= 5 + length).map(|(kind, _)| kind))
    }

    /// The next frame, if it has arrived completely, is short and can be read, and its length. It is not consumed.
    pub(in crate::pg) fn peek_short(&self) -> Option<(Incoming, usize)> {
        let (kind, length) = incoming::head(self.buffered()).ok()??;
        let body = self.buffered().get(5..5 + length).filter(|_| length <= SHORT_BYTES_MAX)?;
        Some((incoming::read(kind, body).ok()?, 5 + length))
    }

    /// The next frame, if it has arrived completely.
    pub(in crate::pg) fn take(&mut self) -> Result<Option<Incoming>, PgError> {
        let Some((kind, length)) = incoming::head(self.buffered())? else { return Ok(None) };
        let Some(body) = self.buffered().get(5..5 + length) else { return Ok(None) };
        let message = incoming::read(kind, body);
        self.advance(5 + length);
        message.map(Some)
    }

    /// Waits for the next frame, on a thread that may block. Pending output is sent first.
    pub(in crate::pg) fn wait(&mut self) -> Result<Incoming, Failure> {
        loop {
            if let Some(message) = self.take()? {
                return Ok(message);
            }
            self.flush()?;
            self.rest();
            let (runtime, mut phase) = (self.runtime.clone(), self.phase.clone());
            let (mut permit, byte_count) = (self.permit.take(), self.holds.byte_count());
            let mut termination = self.termination.clone();
            let ended = async {
                match &mut termination {
                    Some(termination) => termination.requested().await,
                    None => std::future::pending().await,
                }
            };
            let filled = runtime.block_on(async {
                let filled = async {
                    match &mut permit {
                        Some(permit) => permit.wait_for(byte_count, self.fill()).await.unwrap_or_else(|TooSlow| {
                            Err(PgError::fatal("53200", "the client sends nothing, and others do not either").into())
                        }),
                        None => self.fill().await,
                    }
                };
                tokio::select! {
                    // What arrives after the end of the session is not executed.
                    biased;
                    () = phase.reach(Phase::Stopping) => Err(PgError::shutting_down().into()),
                    () = ended => Err(PgError::shutting_down().into()),
                    filled = filled => filled,
                }
            });
            self.permit = permit;
            filled?;
        }
    }

    /// Sends pending output, if the thread may block.
    pub(in crate::pg) fn flush(&mut self) -> Result<(), Failure> {
        if !self.may_block {
            return Ok(());
        }
        let runtime = self.runtime.clone();
        runtime.block_on(self.send())
    }

    pub(in crate::pg) fn flush_if_full(&mut self) -> Result<(), Failure> {
        if self.is_full() { self.flush() } else { Ok(()) }
    }

    /// Returns whether there is enough output to send it.
    pub(in crate::pg) fn is_full(&self) -> bool {
        self.out.bytes.len() >= FLUSH_BYTES
    }

    /// Sends pending output. A client that reads nothing for a minute counts as disconnected.
    pub(in crate::pg) async fn send(&mut self) -> Result<(), Failure> {
        let mut sent = 0;
        while sent < self.out.bytes.len() {
            let write = tokio::time::timeout(SEND_TIME_MAX, self.stream.write(&self.out.bytes[sent..]));
            let written = match &mut self.permit {
                Some(permit) => {
                    permit.wait_for(self.holds.byte_count(), write).await.map_err(|TooSlow| Failure::Gone)?
                }
                None => write.await,
            };
            match written {
                Ok(Ok(count)) if count > 0 => sent += count,
                _ => return Err(Failure::Gone),
            }
        }
        self.out.bytes.clear();
        if self.out.bytes.capacity() > 4 * FLUSH_BYTES {
            self.out.bytes.shrink_to(FLUSH_BYTES);
        }
        self.stream.flush().await.map_err(|_| Failure::Gone)
    }

    /// Sends pending output and ends the connection. If a socket is closed while messages of its client are in
    /// transit, it is reset, which may discard data that was sent. So messages are read until the client hangs up,
    /// unless the server is shutting down too.
    pub(in crate::pg) async fn hang_up(&mut self) {
        // The client may have disconnected.
        if self.send().await.is_err() || self.stream.shutdown().await.is_err() {
            return;
        }
        let mut phase = self.phase.clone();
        let mut ignored = [0; 4096];
        let client_hung_up = async { while matches!(self.stream.read(&mut ignored).await, Ok(1..)) {} };
        tokio::select! {
            () = client_hung_up => {}
            () = tokio::time::sleep(HANG_UP_TIME_MAX) => {}
            () = phase.reach(Phase::Draining) => {}
        }
    }

    /// Frees memory that an idle connection does not need.
    pub(in crate::pg) fn rest(&mut self) {
        if self.start < self.input.len() {
            return;
        }
        if self.input.capacity() > READ_BYTES {
            (self.input, self.start) = (Vec::new(), 0);
        }
        self.reservation.shrink(0);
    }
}
