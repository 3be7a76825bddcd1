//! A file that a command or a statement reads: here, or elsewhere and fetched.

use crate::console::failure;
use crate::console::interrupt;
use crate::console::progress::Progress;
use atsdb::{Error, Result};
use atsdb_import::{Input, Pieces};
use atsdb_remote::{Content, PiecewiseFile, RemoteClient, RemoteFile};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file.
#[derive(Debug, Clone)]
pub(crate) enum SourceFile {
    /// A file of this machine, or what only an import understands: `-`, the URL of a table.
    Local(PathBuf),
    /// A file from elsewhere.
    Fetched(Arc<FetchedFile>),
    /// A sheet of a workbook, or a file of a zip archive, by name.
    Part(Box<Self>, String),
}

/// A file from elsewhere.
#[derive(Debug)]
pub(crate) struct FetchedFile {
    file: RemoteFile,
    content: Content,
}

impl SourceFile {
    /// Fetches the files that a URL means. Parquet may be left where it is and read piece by piece. Ctrl-C ends the
    /// wait.
    pub(crate) fn fetch(url: &str, in_pieces: bool) -> Result<Vec<Self>> {
        let client = RemoteClient::new(interrupt::check)?;
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

    /// Its name in messages, without secrets.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Local(path) => path.display().to_string(),
            Self::Fetched(fetched) => fetched.file.shown().to_owned(),
            Self::Part(file, part) => format!("{}#{part}", file.shown()),
        }
    }

    /// Its name without folders.
    pub(crate) fn name(&self) -> Option<&[u8]> {
        match self {
            Self::Local(path) => path.file_name().map(std::ffi::OsStr::as_encoded_bytes),
            Self::Fetched(fetched) => Some(fetched.file.name().as_bytes()),
            Self::Part(file, _) => file.name(),
        }
    }

    /// The path of its content, if all of it is on this machine.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Local(path) => Some(path),
            Self::Fetched(fetched) => match &fetched.content {
                Content::Whole(file) => Some(file.path()),
                Content::Pieces(_) => None,
            },
            Self::Part(file, _) => file.path(),
        }
    }

    /// The part of the file that is meant.
    pub(crate) fn part(&self) -> Option<&str> {
        match self {
            Self::Part(_, part) => Some(part),
            _ => None,
        }
    }

    /// For a file that is read piece by piece: a text that another content does not have, if there is one.
    pub(crate) fn version(&self) -> Option<String> {
        match self {
            Self::Fetched(fetched) => match &fetched.content {
                Content::Whole(_) => None,
                Content::Pieces(pieces) => pieces.version(),
            },
            Self::Local(_) => None,
            Self::Part(file, _) => file.version(),
        }
    }

    /// The file for the importer.
    pub(crate) fn input(&self) -> Result<Input> {
        let fetched = match self {
            Self::Local(path) => return Ok(Input::Path(path.clone())),
            Self::Part(file, part) => return Ok(Input::Part(Box::new(file.input()?), part.clone())),
            Self::Fetched(fetched) => fetched,
        };
        let name = fetched.file.name().to_owned();
        match &fetched.content {
            Content::Whole(file) => {
                let file = file.reopen().map_err(|error| {
                    Error::internal(format!("the temporary file of {name} is gone: {error}")).with_source(error)
                })?;
                Ok(Input::File(name, file))
            }
            Content::Pieces(pieces) => Ok(Input::Pieces(name, Arc::new(ImportedPieces(Arc::clone(pieces))))),
        }
    }
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
