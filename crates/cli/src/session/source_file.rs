//! A file that a command or a statement reads: here, or elsewhere and fetched.

use crate::console::failure;
use crate::console::interrupt;
use crate::console::prefetch::Prefetch;
use crate::console::progress::Progress;
use atsdb::{Error, Result};
use atsdb_import::{Input, Pieces};
use atsdb_remote::{Content, PiecewiseFile, RemoteClient, RemoteFile};
use atsdb_temporary::{PositionedFile, TemporaryFile, TemporarySpace, cannot_copy};
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of a pipe that are read at once.
const PIECE_BYTES: usize = 1 << 16;

/// A file.
#[derive(Debug, Clone)]
pub(crate) enum SourceFile {
    /// A file of this machine, or what only an import understands: `-`, the URL of a table.
    Local(PathBuf),
    /// An input that can be read only once, such as a pipe.
    Piped(Arc<PipedFile>),
    /// A file from elsewhere.
    Fetched(Arc<FetchedFile>),
    /// A sheet of a workbook, or a file of a zip archive, by name.
    Part(Box<Self>, String),
}

/// The bytes of a pipe.
#[derive(Debug)]
pub(crate) struct PipedFile {
    path: PathBuf,
    copy: PositionedFile,
}

/// A file from elsewhere.
#[derive(Debug)]
pub(crate) struct FetchedFile {
    file: RemoteFile,
    content: Content,
}

impl SourceFile {
    /// A file of this machine. A pipe, such as `<(zcat a.csv.gz)` in a shell or `/dev/stdin`, is copied to a temporary
    /// file in `space`. Ctrl-C ends the wait.
    pub(crate) fn local(path: PathBuf, space: &Arc<TemporarySpace>) -> Result<Self> {
        let is_pipe = path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
        if !is_pipe {
            return Ok(Self::Local(path));
        }
        let copy = copied(&path, space)?;
        Ok(Self::Piped(Arc::new(PipedFile { path, copy })))
    }

    /// Fetches the files that a URL means into temporary files in `space`. Parquet may be left where it is and read
    /// piece by piece. Ctrl-C ends the wait.
    pub(crate) fn fetch(url: &str, in_pieces: bool, space: &Arc<TemporarySpace>) -> Result<Vec<Self>> {
        let client = RemoteClient::new(interrupt::check, space)?;
        let progress = Progress::new();
        let files = client.files(url)?;
        let (count, mut before) = (files.len(), 0);
        let mut fetched = Vec::new();
        for file in files {
            let mut arrived = 0;
            let (content, warning) = file.fetch(in_pieces, &mut |done, total| {
                arrived = done;
                // The size of the other files is not known.
                progress.update_bytes(before + done, total.filter(|_| count == 1));
            })?;
            before += arrived;
            warning.iter().for_each(|warning| failure::warn(warning));
            fetched.push(Self::Fetched(Arc::new(FetchedFile { file, content })));
        }
        Ok(fetched)
    }

    /// Returns the name of the file for messages, without secrets.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Local(path) => path.display().to_string(),
            Self::Piped(piped) => piped.path.display().to_string(),
            Self::Fetched(fetched) => fetched.file.shown().to_owned(),
            Self::Part(file, part) => format!("{}#{part}", file.shown()),
        }
    }

    /// Returns the name of the file without folders.
    pub(crate) fn name(&self) -> Option<&[u8]> {
        match self {
            Self::Local(path) => path.file_name().map(std::ffi::OsStr::as_encoded_bytes),
            Self::Piped(piped) => piped.path.file_name().map(std::ffi::OsStr::as_encoded_bytes),
            Self::Fetched(fetched) => Some(fetched.file.name().as_bytes()),
            Self::Part(file, _) => file.name(),
        }
    }

    /// Returns the content of the file, if all of it is on this machine.
    pub(crate) fn opened(&self) -> io::Result<Option<PositionedFile>> {
        match self {
            Self::Local(path) => File::open(path).map(|file| Some(file.into())),
            Self::Piped(piped) => Ok(Some(piped.copy.clone())),
            Self::Fetched(fetched) => match &fetched.content {
                Content::Whole(file) => Ok(Some(file.clone())),
                Content::Pieces(_) => Ok(None),
            },
            Self::Part(file, _) => file.opened(),
        }
    }

    /// Returns whether it is a file that can be read several times, unlike stdin.
    pub(crate) fn is_plain_file(&self) -> bool {
        match self {
            Self::Local(path) => path.is_file(),
            Self::Piped(_) | Self::Fetched(_) => true,
            Self::Part(file, _) => file.is_plain_file(),
        }
    }

    /// The part of the file that is meant.
    pub(crate) fn part(&self) -> Option<&str> {
        match self {
            Self::Part(_, part) => Some(part),
            _ => None,
        }
    }

    /// Returns a text that identifies the content of a file that is read piece by piece; `None` if there is none.
    pub(crate) fn version(&self) -> Option<String> {
        match self {
            Self::Fetched(fetched) => match &fetched.content {
                Content::Whole(_) => None,
                Content::Pieces(pieces) => pieces.version(),
            },
            Self::Local(_) | Self::Piped(_) => None,
            Self::Part(file, _) => file.version(),
        }
    }

    /// The file for the importer.
    pub(crate) fn input(&self) -> Result<Input> {
        let fetched = match self {
            Self::Local(path) => return Ok(Input::Path(path.clone())),
            Self::Part(file, part) => return Ok(Input::Part(Box::new(file.input()?), part.clone())),
            Self::Piped(piped) => return Ok(Input::File(self.shown(), piped.copy.clone())),
            Self::Fetched(fetched) => fetched,
        };
        let name = fetched.file.name().to_owned();
        let input = match &fetched.content {
            Content::Whole(file) => Input::File(name, file.clone()),
            Content::Pieces(pieces) => Input::Pieces(name, Arc::new(ImportedPieces(Arc::clone(pieces)))),
        };
        Ok(Input::Shown(Box::new(input), self.shown()))
    }
}

/// A temporary file with the content of a pipe.
fn copied(path: &Path, space: &Arc<TemporarySpace>) -> Result<PositionedFile> {
    let shown = path.display().to_string();
    let pipe = path.to_owned();
    let pieces = Prefetch::<io::Result<Vec<u8>>>::run(move |put| {
        let mut read = || -> io::Result<()> {
            // Opening waits for the other end.
            let mut pipe = File::open(&pipe)?;
            loop {
                let mut piece = Vec::with_capacity(PIECE_BYTES);
                let count = (&mut pipe).take(PIECE_BYTES as u64).read_to_end(&mut piece)?;
                if count == 0 || !put(Ok(piece)) {
                    return Ok(());
                }
            }
        };
        if let Err(error) = read() {
            put(Err(error));
        }
    })?;
    let copy = TemporaryFile::new(space)?;
    let (progress, mut byte_count) = (Progress::new(), 0);
    while let Some(piece) = pieces.next()? {
        let kept = piece.and_then(|piece| copy.append(&piece).map(|()| piece).map_err(io::Error::other));
        let piece = kept.map_err(|error| cannot_copy(&shown, error))?;
        byte_count += piece.len() as u64;
        progress.update_bytes(byte_count, None);
    }
    Ok(PositionedFile::from(Arc::new(copy)))
}

/// The pieces of a file for the importer.
#[derive(Debug)]
struct ImportedPieces(Arc<PiecewiseFile>);

impl Pieces for ImportedPieces {
    fn byte_count(&self) -> u64 {
        self.0.byte_count()
    }

    fn fetched_bytes(&self) -> u64 {
        self.0.fetched_bytes()
    }

    fn plan(&self, ranges: &[Range<u64>]) {
        self.0.plan(ranges);
    }

    fn read(&self, start: u64, length: usize) -> io::Result<Vec<u8>> {
        self.0.read(start, length)
    }

    fn failure(&self) -> Option<Error> {
        self.0.failure()
    }
}
