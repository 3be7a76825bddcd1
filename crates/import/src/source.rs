//! Sources: files that can be read repeatedly from the start, and are decompressed. The first bytes of a file decide
//! its format; its extension is used only if they do not.

use crate::arrow_reader::is_arrow;
use crate::content::Compression;
use crate::foreign::{foreign_text, is_arrays, is_line_protocol};
use crate::json_outline::outline;
use crate::json_records::{JsonRange, JsonRecords};
use crate::lines::LineTable;
use crate::options::{Format, Input, Options};
use crate::table_file::table_file;
use atsdb_core::{Error, ErrorKind, Result};
use atsdb_foreign::ForeignColumn;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of bytes at the start of a file that determine its format.
const HEAD_BYTES: u64 = 4_096;

/// The location of a source's bytes.
#[derive(Debug)]
enum InputSource {
    Path(PathBuf),
    Spooled(File),
}

/// One file of an import.
#[derive(Debug)]
pub(crate) struct Source {
    /// Its name in messages, without folders.
    pub(crate) name: String,
    /// The size on disk in bytes.
    pub(crate) byte_count: u64,
    /// Its format.
    pub(crate) format: Format,
    /// The records of a JSON document.
    pub(crate) json: JsonRecords,
    /// The columns of line protocol.
    pub(crate) lines: Option<Arc<LineTable>>,
    /// For a table of another database: columns, and what to say about their types.
    pub(crate) remarks: Vec<(String, String)>,
    place: InputSource,
    compression: Compression,
}

impl Source {
    /// Opens an input and inspects its beginning. A stream is copied to a temporary file.
    pub(crate) fn new(input: Input, options: &Options) -> Result<Self> {
        let (mut remarks, mut format) = (Vec::new(), options.format);
        let (name, place) = match input {
            Input::Path(path) => {
                if path.is_dir() {
                    return Err(Error::usage(format!("{} is a folder", path.display()))
                        .with_hint("name its files, for example FOLDER/*.csv"));
                }
                let name = path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into());
                (name, InputSource::Path(path))
            }
            Input::Reader(name, mut reader) => {
                let spool = |reader: &mut dyn Read| -> io::Result<File> {
                    let mut file = tempfile::tempfile()?;
                    io::copy(reader, &mut file)?;
                    Ok(file)
                };
                let file =
                    spool(&mut *reader).map_err(|error| io_error("cannot copy to a temporary file", &name, error))?;
                (name, InputSource::Spooled(file))
            }
            Input::Table(table) => {
                let remark = |column: &ForeignColumn| Some((column.name.clone(), column.remark.clone()?));
                format = Some(Format::Arrow);
                remarks.extend(table.columns.iter().filter_map(remark));
                (table.name.clone(), InputSource::Spooled(table_file(table)?))
            }
        };
        let (compression, json) = (Compression::None, JsonRecords::default());
        let mut source =
            Self { name, byte_count: 0, format: Format::Csv, json, lines: None, remarks, place, compression };
        source.look(format)?;
        if source.format == Format::Json {
            let head =
                read_head(source.open(&Arc::default())?, HEAD_BYTES).map_err(|error| source.read_error(error))?;
            let outline = outline(source.open(&Arc::default())?).map_err(|error| source.read_error(error))?;
            source.json = JsonRecords::find(&source.name, &head, &outline, options)?;
        }
        if source.format == Format::Lines {
            let table = LineTable::find(&source.name, source.open(&Arc::default())?, options)?;
            source.lines = Some(Arc::new(table));
        }
        Ok(source)
    }

    /// The path of its uncompressed bytes.
    pub(crate) fn plain_path(&self) -> Option<&Path> {
        match &self.place {
            InputSource::Path(path) if self.compression == Compression::None => Some(path),
            _ => None,
        }
    }

    fn look(&mut self, format: Option<Format>) -> Result<()> {
        let file = self.file()?;
        self.byte_count = file.metadata().map_err(|error| io_error("cannot read", &self.name, error))?.len();
        let head =
            read_head(file, Compression::HEAD_BYTES).map_err(|error| io_error("cannot read", &self.name, error))?;
        self.compression = Compression::of_head(&head);
        let head = read_head(self.open(&Arc::default())?, HEAD_BYTES).map_err(|error| self.read_error(error))?;
        self.refuse_foreign(&head, format.is_none())?;
        self.format = match format {
            Some(format) => format,
            None if head.starts_with(b"PAR1") => Format::Parquet,
            None if is_arrow(&head) => Format::Arrow,
            None if is_line_protocol(&head) => Format::Lines,
            None if self.has_ending(&["csv", "tsv", "txt", "tab", "psv"]) => Format::Csv,
            None if looks_like_json(&head) => Format::Json,
            None => Format::Csv,
        };
        if self.format == Format::Parquet && self.compression != Compression::None {
            let spool = |mut reader: Box<dyn Read + Send>| -> io::Result<File> {
                let mut file = tempfile::tempfile()?;
                io::copy(&mut reader, &mut file)?;
                Ok(file)
            };
            let file = spool(self.open(&Arc::default())?).map_err(|error| self.read_error(error))?;
            (self.place, self.compression) = (InputSource::Spooled(file), Compression::None);
        }
        Ok(())
    }

    /// Refuses well-known formats that would only make meaningless columns.
    fn refuse_foreign(&self, head: &[u8], is_format_open: bool) -> Result<()> {
        let (what, hint) = match head {
            [b'P', b'K', 3, 4, ..] if self.has_ending(&["xlsx", "ods"]) => {
                ("is a spreadsheet".to_owned(), "save it as CSV".to_owned())
            }
            [b'P', b'K', 3, 4, ..] => (
                "is a zip archive".to_owned(),
                format!("unpack it on the way: unzip -p {} | atsdb import URL TABLE -", self.name),
            ),
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => (
                "is UTF-16".to_owned(),
                "convert it on the way: iconv -f UTF-16 -t UTF-8 FILE | atsdb import URL TABLE -".to_owned(),
            ),
            [b'B', b'Z', b'h', ..] => (
                "is compressed with bzip2".to_owned(),
                "unpack it on the way: bzcat FILE | atsdb import URL TABLE -".to_owned(),
            ),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => (
                "is compressed with xz".to_owned(),
                "unpack it on the way: xzcat FILE | atsdb import URL TABLE -".to_owned(),
            ),
            head if head.get(257..262) == Some(b"ustar".as_slice()) => (
                "is a tar archive".to_owned(),
                format!("unpack it on the way: tar -xOf {} | atsdb import URL TABLE -", self.name),
            ),
            head if head.starts_with(b"SQLite format 3\0") => (
                "is a SQLite database".to_owned(),
                format!("name a table of it: atsdb import URL TABLE 'sqlite:{}#TABLE'", self.name),
            ),
            head => {
                let is_open = is_format_open && !head.starts_with(b"PAR1") && !is_arrow(head);
                match foreign_text(head, self.has_ending(&["json", "jsonl", "ndjson"])).filter(|_| is_open) {
                    Some((what, hint)) => (what.to_owned(), hint.to_owned()),
                    None => return Ok(()),
                }
            }
        };
        Err(Error::usage(format!("{} {what}", self.name)).with_hint(hint))
    }

    fn has_ending(&self, endings: &[&str]) -> bool {
        let name = self.name.to_lowercase();
        let name = [".gz", ".zst", ".zstd"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
        name.rsplit_once('.').is_some_and(|(_, ending)| endings.contains(&ending))
    }

    /// The name without the extensions for format and compression.
    pub(crate) fn stem(&self) -> &str {
        let mut stem = self.name.as_str();
        for endings in [
            &["gz", "zst", "zstd"][..],
            &["csv", "tsv", "txt", "tab", "psv", "json", "jsonl", "ndjson", "parquet", "arrow", "feather", "ipc", "lp"],
        ] {
            if let Some((start, ending)) = stem.rsplit_once('.')
                && !start.is_empty()
                && endings.iter().any(|known| known.eq_ignore_ascii_case(ending))
            {
                stem = start;
            }
        }
        stem
    }

    /// The file itself, from its start.
    pub(crate) fn file(&self) -> Result<File> {
        let opened = match &self.place {
            InputSource::Path(path) => File::open(path),
            InputSource::Spooled(file) => file.try_clone().and_then(|mut file| file.rewind().map(|()| file)),
        };
        opened.map_err(|error| match (&self.place, error.kind()) {
            (InputSource::Path(path), io::ErrorKind::NotFound) => {
                Error::not_found(format!("no file {}", path.display()))
            }
            _ => io_error("cannot open", &self.name, error),
        })
    }

    /// Opens the decompressed bytes from the start. `read` counts the bytes on disk. Only one reader at a time may read
    /// a spooled source.
    pub(crate) fn open(&self, read: &Arc<AtomicU64>) -> Result<Box<dyn Read + Send>> {
        let file = Counted { file: self.file()?, read: Arc::clone(read) };
        self.compression.decode(file).map_err(|error| self.read_error(error))
    }

    /// Opens the bytes of the records, like [`open`](Self::open). Also returns the line in which they start.
    pub(crate) fn open_records(&self, read: &Arc<AtomicU64>) -> Result<(Box<dyn Read + Send>, u64)> {
        let mut reader = self.open(read)?;
        let Some(JsonRange { start, end, line }) = self.json.range else { return Ok((reader, 1)) };
        io::copy(&mut (&mut reader).take(start), &mut io::sink()).map_err(|error| self.read_error(error))?;
        Ok((Box::new(reader.take(end - start)), line))
    }

    /// Whether its bytes on disk are its text.
    pub(crate) fn is_compressed(&self) -> bool {
        self.compression != Compression::None
    }

    /// The error for a read that failed.
    pub(crate) fn read_error(&self, error: io::Error) -> Error {
        if self.compression == Compression::None {
            return io_error("cannot read", &self.name, error);
        }
        Error::new(
            ErrorKind::InvalidValue,
            format!("{}: the compressed data is damaged or cut off: {error}", self.name),
        )
        .with_hint("fetch the file again, or unpack what is left of it by hand")
    }
}

fn io_error(what: &str, name: &str, error: io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, format!("{what} {name}: {error}")).with_source(error)
}

fn read_head(reader: impl Read, byte_count: u64) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    reader.take(byte_count).read_to_end(&mut head)?;
    Ok(head)
}

/// An object, or an array of objects or arrays.
fn looks_like_json(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    match head {
        [b'{', ..] => true,
        [b'[', rest @ ..] => matches!(rest.trim_ascii_start(), [b'{', ..] | [b']', ..] | [b'[', ..]) || is_arrays(head),
        _ => false,
    }
}

struct Counted {
    file: File,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
