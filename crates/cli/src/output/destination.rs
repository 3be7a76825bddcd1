//! The destination of output: stdout, or a file that appears under its name only when it is complete.

use crate::console::{interrupt, stdout};
use atsdb::{Error, ErrorKind, Result};
use atsdb_export::write_error;
use atsdb_temporary::UnfinishedFile;
use flate2::write::GzEncoder;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// How a text file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    /// The output is not compressed.
    None,
    /// gzip, for `.gz`.
    Gzip,
    /// Zstandard, for `.zst`.
    Zstd,
}

impl Compression {
    /// The compression that a file's last extension names.
    pub(crate) fn of_path(path: &Path) -> Self {
        match path.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase).as_deref() {
            Some("gz") => Self::Gzip,
            Some("zst") => Self::Zstd,
            _ => Self::None,
        }
    }
}

const BUFFER_BYTES: usize = 64 << 10;

type PlainWriter = BufWriter<Box<dyn Write + Send>>;

enum Encoder {
    None(PlainWriter),
    Gzip(GzEncoder<PlainWriter>),
    Zstd(zstd::Encoder<'static, PlainWriter>),
}

/// An open output. It is complete when [`complete`](Self::complete) returns. If it is dropped before, the unfinished
/// file is removed.
pub(crate) struct Destination {
    encoder: Encoder,
    name: String,
    file: Option<UnfinishedFile>,
    may_replace: bool,
    is_stdout: bool,
}

impl Destination {
    /// The standard output.
    pub(crate) fn stdout() -> Self {
        let plain: PlainWriter = BufWriter::with_capacity(BUFFER_BYTES, Box::new(Stdout));
        Self {
            encoder: Encoder::None(plain),
            name: "stdout".to_owned(),
            file: None,
            may_replace: true,
            is_stdout: true,
        }
    }

    /// A file that does not exist yet, written as by [`file`](Self::file). A symbolic link is followed only to a
    /// special file.
    pub(crate) fn new_file(path: &Path, compression: Compression) -> Result<Self> {
        let is_special = path.metadata().is_ok_and(|metadata| !metadata.is_file());
        if path.symlink_metadata().is_ok() && !is_special {
            return Err(is_there(path));
        }
        Ok(Self { may_replace: is_special, ..Self::file(path, compression)? })
    }

    /// A file, which gets its name when it is complete. A pipe or device is written directly.
    pub(crate) fn file(path: &Path, compression: Compression) -> Result<Self> {
        refuse_url(path)?;
        let name = path.display().to_string();
        let refuse = |error: io::Error| write_error(&name, error);
        let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let special = target.metadata().is_ok_and(|metadata| !metadata.is_file());
        let (out, file): (Box<dyn Write + Send>, _) = if special {
            (Box::new(File::options().write(true).open(&target).map_err(refuse)?), None)
        } else {
            let unfinished = UnfinishedFile::create(target).map_err(refuse)?;
            interrupt::remove_at_exit(unfinished.temporary_path().map(Path::to_path_buf));
            (Box::new(unfinished.file().try_clone().map_err(refuse)?), Some(unfinished))
        };
        let plain = BufWriter::with_capacity(BUFFER_BYTES, out);
        let encoder = match compression {
            Compression::None => Encoder::None(plain),
            Compression::Gzip => Encoder::Gzip(GzEncoder::new(plain, flate2::Compression::default())),
            Compression::Zstd => Encoder::Zstd(zstd::Encoder::new(plain, 3).map_err(refuse)?),
        };
        Ok(Self { encoder, name, file, may_replace: true, is_stdout: false })
    }

    /// The name of the output in messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether this is the standard output.
    pub(crate) fn is_stdout(&self) -> bool {
        self.is_stdout
    }

    /// Writes bytes. An error names the output.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.write_all(bytes).map_err(|error| write_error(&self.name, error))
    }

    /// Writes buffered data.
    pub(crate) fn hand_on(&mut self) -> Result<()> {
        self.flush().map_err(|error| write_error(&self.name, error))
    }

    /// Ends the output. The file then exists under its name.
    pub(crate) fn complete(self) -> Result<()> {
        let name = self.name;
        let refuse = |error: io::Error| write_error(&name, error);
        let mut plain = match self.encoder {
            Encoder::None(plain) => plain,
            Encoder::Gzip(encoder) => encoder.finish().map_err(refuse)?,
            Encoder::Zstd(encoder) => encoder.finish().map_err(refuse)?,
        };
        plain.flush().map_err(refuse)?;
        if let Some(unfinished) = self.file {
            let target = unfinished.target().to_owned();
            unfinished.complete(self.may_replace).map_err(|error| match error.kind() {
                io::ErrorKind::AlreadyExists if !self.may_replace => is_there(&target),
                _ => refuse(error),
            })?;
            interrupt::remove_at_exit(None);
        }
        Ok(())
    }
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.encoder {
            Encoder::None(out) => out.write(bytes),
            Encoder::Gzip(out) => out.write(bytes),
            Encoder::Zstd(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.encoder {
            Encoder::None(out) => out.flush(),
            Encoder::Gzip(out) => out.flush(),
            Encoder::Zstd(out) => out.flush(),
        }
    }
}

/// Stdout that remembers whether its reader has closed it.
struct Stdout;

impl Stdout {
    fn note(error: io::Error) -> io::Error {
        if error.kind() == io::ErrorKind::BrokenPipe {
            stdout::set_closed();
        }
        error
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::stdout().write(bytes).map_err(Self::note)
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush().map_err(Self::note)
    }
}

/// Refuses a URL, which names no folder that exists. It may have a password, and is not shown.
fn refuse_url(path: &Path) -> Result<()> {
    let scheme = path.to_str().and_then(|text| text.split_once("://")).map(|(scheme, _)| scheme);
    let has_folder = || path.parent().is_some_and(Path::is_dir);
    let is_scheme = |scheme: &&str| !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
    match scheme.filter(is_scheme).filter(|_| !has_folder()) {
        Some(scheme) => Err(Error::invalid(format!("files are not written to {scheme}:// URLs")).with_hint(
            "write a file on this machine and upload it; -o - writes to stdout, for the program that uploads",
        )),
        None => Ok(()),
    }
}

fn is_there(path: &Path) -> Error {
    Error::new(ErrorKind::Sql, format!("{} already exists", path.display()))
        .with_hint("name another file, or replace it: COPY ... TO '...' WITH (OVERWRITE)")
}
