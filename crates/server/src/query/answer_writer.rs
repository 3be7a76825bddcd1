//! The bytes of an answer with rows, compressed if the client accepts that and the answer is not short.
//!
//! The head of the answer names the encoding. So if there is a choice, the first bytes wait until it is known whether
//! there are enough of them.

use super::encoding::{Encoder, Encoding};
use super::stream::{PART_BYTES, PartWriter};
use atsdb::{Error, Result};
use std::io::{self, Write};
use std::mem;
use tokio::sync::oneshot;

/// A shorter answer is sent as it is.
const COMPRESSED_BYTES_MIN: usize = 1 << 10;

/// The part of the outcome that is known before the first byte of an answer is sent.
pub(super) enum AnswerStart {
    /// Rows follow.
    Rows { encoding: Option<Encoding> },
    /// A statement without rows was executed.
    Done { verb: &'static str, row_count: Option<u64>, notices: Vec<String> },
}

/// Sends the start of an answer.
pub(super) type StartSender = oneshot::Sender<Result<AnswerStart>>;

/// The writing end of an answer with rows.
pub(super) struct AnswerWriter {
    parts: PartWriter,
    coding: Coding,
}

enum Coding {
    /// The start is not sent yet.
    Undecided {
        first: Vec<u8>,
        encoding: Encoding,
        start: StartSender,
    },
    Plain,
    Compressed {
        encoder: Encoder,
        /// The number of bytes since the last output.
        pending: usize,
    },
}

impl AnswerWriter {
    /// Begins an answer, which may be compressed with an encoding.
    pub(super) fn new(parts: PartWriter, encoding: Option<Encoding>, start: StartSender) -> io::Result<Self> {
        let coding = match encoding {
            Some(encoding) => Coding::Undecided { first: Vec::new(), encoding, start },
            None => {
                send_start(start, None)?;
                Coding::Plain
            }
        };
        Ok(Self { parts, coding })
    }

    /// The writer of the parts.
    pub(super) fn parts(&self) -> &PartWriter {
        &self.parts
    }

    /// Chooses the encoding by the first bytes, and sends the start and those bytes.
    fn decide(&mut self) -> io::Result<()> {
        match mem::replace(&mut self.coding, Coding::Plain) {
            Coding::Undecided { first, encoding, start } => {
                if first.len() < COMPRESSED_BYTES_MIN {
                    send_start(start, None)?;
                } else {
                    self.coding = Coding::Compressed { encoder: Encoder::new(encoding)?, pending: 0 };
                    send_start(start, Some(encoding))?;
                }
                self.write_all(&first)
            }
            decided => {
                self.coding = decided;
                Ok(())
            }
        }
    }

    /// Ends the answer after its last row.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.decide()?;
        if let Coding::Compressed { encoder, .. } = mem::replace(&mut self.coding, Coding::Plain) {
            self.parts.write_all(&encoder.finish()?)?;
        }
        self.parts.flush()
    }

    /// Ends an answer that is not compressed with some last bytes.
    pub(super) fn end_with(self, bytes: &[u8]) {
        self.parts.end_with(bytes);
    }

    /// Answers with the error if nothing was sent yet; otherwise aborts the answer, so that the client notices.
    pub(super) fn fail(self, error: Error) {
        match self.coding {
            // If the client has disconnected, nobody needs the error.
            Coding::Undecided { start, .. } => drop(start.send(Err(error))),
            Coding::Plain | Coding::Compressed { .. } => self.parts.fail(error.message()),
        }
    }
}

impl Write for AnswerWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.coding {
            Coding::Plain => self.parts.write(bytes),
            Coding::Undecided { first, .. } => {
                first.extend_from_slice(bytes);
                if first.len() >= COMPRESSED_BYTES_MIN {
                    self.decide()?;
                }
                Ok(bytes.len())
            }
            Coding::Compressed { encoder, pending } => {
                // A client gets rows as early as it would without compression.
                let taken = bytes.len().min(PART_BYTES.saturating_sub(*pending));
                encoder.add(&bytes[..taken])?;
                *pending += taken;
                if *pending == PART_BYTES {
                    self.flush()?;
                }
                Ok(taken)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.coding {
            Coding::Undecided { .. } => return Ok(()),
            Coding::Plain | Coding::Compressed { pending: 0, .. } => {}
            Coding::Compressed { encoder, pending } => {
                *pending = 0;
                self.parts.write_all(&encoder.take()?)?;
            }
        }
        self.parts.flush()
    }
}

fn send_start(start: StartSender, encoding: Option<Encoding>) -> io::Result<()> {
    let gone = |_| io::Error::new(io::ErrorKind::BrokenPipe, "the client has gone");
    start.send(Ok(AnswerStart::Rows { encoding })).map_err(gone)
}
