//! The writer of a result in a format, and its error.

use arrow::record_batch::RecordBatch;
use atsdb_core::{Error, ErrorKind, Result};
use std::io::{self, Write};

/// Writes one result: the header when the writer is created, and rows as they arrive.
pub trait ResultWriter {
    /// Writes the rows of a batch of the schema it was made for.
    fn write(&mut self, batch: &RecordBatch) -> Result<()>;

    /// Writes the end of the output. A writer that is dropped before this leaves an incomplete output.
    fn finish(&mut self) -> Result<()>;
}

/// An output with the name that messages call it by.
#[derive(Debug)]
pub struct Output<W> {
    pub(crate) out: W,
    pub(crate) location: String,
}

impl<W: Write> Output<W> {
    /// Names an output.
    pub fn new(out: W, location: impl Into<String>) -> Self {
        Self { out, location: location.into() }
    }

    /// Writes bytes. An error names the destination.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|error| write_error(&self.location, error))
    }
}

/// The error of a writer, in the words of its innermost source: the others only name the layers between.
pub fn write_error(location: &str, error: impl std::error::Error + Send + Sync + 'static) -> Error {
    let mut cause: &(dyn std::error::Error + 'static) = &error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    let hint = cause.downcast_ref::<io::Error>().and_then(|cause| hint(cause.kind()));
    let refused = Error::new(ErrorKind::Unavailable, format!("cannot write {location}: {cause}")).with_source(error);
    match hint {
        Some(hint) => refused.with_hint(hint),
        None => refused,
    }
}

/// Returns the hint for a file that cannot be written; `None` for errors without one.
fn hint(kind: io::ErrorKind) -> Option<&'static str> {
    match kind {
        io::ErrorKind::NotFound => Some("create its folder first"),
        io::ErrorKind::PermissionDenied => Some("name a file in a folder that you may write to"),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Some("free some space, or name a file on another disk")
        }
        io::ErrorKind::FileTooLarge => Some("raise the limit on the size of files: ulimit -f unlimited"),
        _ => None,
    }
}
