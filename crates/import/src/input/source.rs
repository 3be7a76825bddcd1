//! Sources: files that can be read repeatedly from the start, and are decompressed.

use crate::batches::lines::LineTable;
use crate::csv::dialect::LOOK_BYTES;
use crate::input::catch_panic::catch_panic;
use crate::input::content::Compression;
use crate::input::format::{HEAD_BYTES, format_of, has_types, name_note, stem};
use crate::input::line_ends::{LineFeeds, ends_lines_with_cr};
use crate::input::missing_file::cannot_open;
use crate::input::table_file::table_file;
use crate::input::transcoded::Transcoded;
use crate::input::unreadable::refuse_unreadable;
use crate::json::columns::{NestedItem, write_rows};
use crate::json::document::{JsonRange, JsonRecords};
use crate::json::members::{MembersFault, write_members};
use crate::json::outline::outline;
use crate::options::encoding::Encoding;
use crate::options::report::Progress;
use crate::options::{Format, Input, Options, Pieces};
use crate::sheets::unpack::{self, Unpacked, has_parts, unpack};
use atsdb_core::{Error, ErrorKind, Result};
use atsdb_foreign::ForeignColumn;
use atsdb_temporary::{PositionedFile, TemporaryFile, TemporarySpace, cannot_copy};
use std::fs::File;
use std::io::{self, BufWriter, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The bytes of a stream that are copied between two reports of progress.
const SPOOLED_AT_ONCE: u64 = 1 << 20;

/// The location of a source's bytes.
#[derive(Debug)]
enum InputSource {
    Path(PathBuf),
    Spooled(PositionedFile),
    /// A Parquet file.
    Pieces(Arc<dyn Pieces>),
}

/// One file of an import.
#[derive(Debug)]
pub(crate) struct ImportFile {
    /// The name of the file in messages: the path or the URL as it was given. A part of a file follows `#`.
    pub(crate) name: String,
    /// The name of the file without folders. That of a file of an archive is without the archive.
    bare_name: String,
    /// The size in bytes of what is read.
    pub(crate) byte_count: u64,
    /// The size in bytes of the file that contains a sheet, a file of a zip archive, or the columns of a JSON document;
    /// `None` for other files.
    outer_bytes: Option<u64>,
    /// Its format.
    pub(crate) format: Format,
    /// The records of a JSON document.
    pub(crate) json: JsonRecords,
    /// The columns of line protocol.
    pub(crate) lines: Option<Arc<LineTable>>,
    /// Notes for the user.
    pub(crate) notes: Vec<String>,
    /// The columns of a table of another database with remarks about their types.
    pub(crate) remarks: Vec<(String, String)>,
    /// The names of columns of a table of another database that were not read.
    pub(crate) left_out: Vec<String>,
    location: InputSource,
    compression: Compression,
    /// The encoding of its text, if that is not UTF-8.
    encoding: Option<Encoding>,
    /// Whether the lines of its text end with a CR alone.
    ends_with_cr: bool,
    /// The part of the file that the caller names.
    part: Option<String>,
    /// The space of temporary files.
    space: Arc<TemporarySpace>,
}

impl ImportFile {
    /// Opens an input and inspects its beginning. A stream is copied to a temporary file.
    pub(crate) fn new(input: Input, options: &Options, progress: &dyn Fn(Progress)) -> Result<Self> {
        let (mut remarks, mut left_out, mut format) = (Vec::new(), Vec::new(), options.format);
        let space = Arc::clone(&options.temporary_space);
        let (input, part) = match input {
            Input::Part(input, part) => (*input, Some(part)),
            input => (input, options.sheet.clone()),
        };
        let (input, mut shown) = match input {
            Input::Shown(input, name) => (*input, Some(name)),
            input => (input, None),
        };
        let (bare_name, location) = match input {
            Input::Path(path) => {
                let name = path.display().to_string();
                if path.is_dir() {
                    return Err(Error::usage(format!("{name} is a folder"))
                        .with_hint(format!("name its files: '{name}/*.csv'")));
                }
                let bare_name = path.file_name().map_or_else(|| name.clone(), |bare| bare.to_string_lossy().into());
                shown.get_or_insert(name);
                (bare_name, InputSource::Path(path))
            }
            Input::Reader(name, reader) => {
                let file = spooled(reader, &space, progress).map_err(|error| cannot_copy(&name, error))?;
                (name, InputSource::Spooled(file))
            }
            Input::File(name, file) => (name, InputSource::Spooled(file)),
            Input::Part(input, _) | Input::Shown(input, _) => {
                return Err(Error::usage(format!("{input:?} is a part of a part, or has two names")));
            }
            Input::Pieces(name, pieces) => {
                format = Some(Format::Parquet);
                (name, InputSource::Pieces(pieces))
            }
            Input::Table(table) => {
                let remark = |column: &ForeignColumn| Some((column.name.clone(), column.remark.clone()?));
                format = Some(Format::Arrow);
                left_out.clone_from(&table.left_out);
                remarks.extend(table.columns.iter().filter_map(remark));
                (table.name.clone(), InputSource::Spooled(table_file(table, &space, progress)?))
            }
        };
        let (compression, json) = (Compression::None, JsonRecords::default());
        let mut source = Self {
            name: shown.unwrap_or_else(|| bare_name.clone()),
            bare_name,
            byte_count: 0,
            outer_bytes: None,
            format: Format::Csv,
            json,
            lines: None,
            notes: Vec::new(),
            remarks,
            left_out,
            location,
            compression,
            encoding: None,
            ends_with_cr: false,
            part,
            space,
        };
        if let InputSource::Pieces(pieces) = &source.location {
            (source.byte_count, source.format) = (pieces.byte_count(), Format::Parquet);
        } else {
            source.detect_format(format, options.encoding, progress)?;
        }
        if let Some(part) = &source.part {
            return Err(unpack::no_parts(&source.name, part));
        }
        source.find_records(options, progress)?;
        Ok(source)
    }

    /// Finds the records of JSON, and the table in aligned lines.
    fn find_records(&mut self, options: &Options, progress: &dyn Fn(Progress)) -> Result<()> {
        if self.format == Format::Json {
            let head = read_head(self.open(&Arc::default())?, HEAD_BYTES).map_err(|error| self.read_error(error))?;
            let outline = outline(self.open(&Arc::default())?).map_err(|error| self.read_error(error))?;
            self.json = JsonRecords::find(&self.name, &head, &outline, options)?;
            if !self.json.columns.is_empty() {
                self.take_columns(progress)?;
            }
            if let Some(object) = self.json.members.clone() {
                self.take_members(&object)?;
            }
        }
        if self.format == Format::Lines {
            let table = LineTable::find(&self.name, self.open(&Arc::default())?, options)?;
            self.lines = Some(Arc::new(table));
        }
        Ok(())
    }

    /// The path of its uncompressed bytes.
    pub(crate) fn plain_path(&self) -> Option<&Path> {
        match &self.location {
            InputSource::Path(path) if !self.is_converted() => Some(path),
            _ => None,
        }
    }

    fn detect_format(
        &mut self,
        format: Option<Format>,
        encoding: Option<Encoding>,
        progress: &dyn Fn(Progress),
    ) -> Result<()> {
        let mut head = self.head()?;
        if has_parts(&head) {
            self.take_part(&head, progress)?;
            if self.format == Format::Sheet {
                return Ok(());
            }
            head = self.head()?;
            if has_parts(&head) {
                // A workbook in a zip archive.
                self.take_part(&head, progress)?;
                if self.format != Format::Sheet {
                    return Err(unpack::nested(&self.name));
                }
                return Ok(());
            }
        }
        if format == Some(Format::Sheet) {
            return Err(Error::usage(format!("{} is not a workbook of Excel or OpenDocument", self.name))
                .with_hint("in SQL, FROM 'FILE' detects the format"));
        }
        if !has_types(&head) {
            self.encoding = encoding.or_else(|| Encoding::of_head(&head));
            head = self.decoded_head()?;
            if ends_lines_with_cr(&head) {
                self.ends_with_cr = true;
                head = self.decoded_head()?;
            }
        }
        let look_on = || {
            let text = self.open(&Arc::default())?;
            read_head(text, LOOK_BYTES).map_err(|error| self.read_error(error))
        };
        refuse_unreadable(&self.name, &head, format.is_none(), look_on)?;
        self.format = format.unwrap_or_else(|| format_of(&self.bare_name, &head));
        if format.is_none() {
            self.notes.extend(name_note(&self.bare_name, self.format, &head));
        }
        if self.format == Format::Parquet {
            self.unpack_whole()?;
        }
        Ok(())
    }

    /// Finds the size and the compression. Returns the beginning, decompressed.
    fn head(&mut self) -> Result<Vec<u8>> {
        let file = self.file()?;
        self.byte_count = file.byte_count().map_err(|error| io_error("cannot read", &self.name, error))?;
        let head =
            read_head(file, Compression::HEAD_BYTES).map_err(|error| io_error("cannot read", &self.name, error))?;
        self.compression = Compression::of_head(&head);
        self.decoded_head()
    }

    fn decoded_head(&self) -> Result<Vec<u8>> {
        read_head(self.open(&Arc::default())?, HEAD_BYTES).map_err(|error| self.read_error(error))
    }

    /// Decompresses into a temporary file, for a format that is not read from its start to its end.
    fn unpack_whole(&mut self) -> Result<()> {
        if self.compression != Compression::None {
            let file = self.spooled(&|_| ())?;
            (self.location, self.compression) = (InputSource::Spooled(file), Compression::None);
        }
        Ok(())
    }

    /// Replaces a workbook by one of its sheets, and a zip archive by one of its files.
    fn take_part(&mut self, head: &[u8], progress: &dyn Fn(Progress)) -> Result<()> {
        self.outer_bytes.get_or_insert(self.byte_count);
        self.unpack_whole()?;
        let file = self.file()?;
        let (name, space, part) = (self.name.clone(), &self.space, &mut self.part);
        let unpacked = catch_panic(|| unpack(&name, file, head, part, space, progress));
        let file = match unpacked.map_err(|panic| unpack::gave_up(&name, &panic))?? {
            Unpacked::File(entry, file) => {
                self.name = format!("{name}#{entry}");
                self.bare_name = entry;
                file
            }
            Unpacked::Sheet(sheet) => {
                if let Some(sheet) = sheet.name {
                    self.name = format!("{name}#{sheet}");
                    self.bare_name = format!("{}#{sheet}", self.bare_name);
                }
                (self.format, self.notes) = (Format::Sheet, sheet.notes);
                sheet.file
            }
        };
        self.byte_count = file.byte_count().map_err(|error| io_error("cannot read", &self.name, error))?;
        self.location = InputSource::Spooled(file);
        Ok(())
    }

    /// Replaces a JSON document of columns by its rows.
    fn take_columns(&mut self, progress: &dyn Fn(Progress)) -> Result<()> {
        let file = if self.is_converted() { self.spooled(progress)? } else { self.file()? };
        let failed = |error: io::Error| cannot_copy(&format!("the columns of {}", self.name), error);
        let mut out = BufWriter::new(TemporaryFile::new(&self.space)?);
        if let Some(NestedItem { list, number }) = write_rows(&file, &self.json.columns, &mut out).map_err(failed)? {
            let (name, path) = (&self.name, &self.json.columns[list].path);
            return Err(Error::invalid(format!("{name}: item {number} of the list {path} is not a single value"))
                .with_hint("correct the file; --path '' reads the object as one record"));
        }
        let rows = out.into_inner().map_err(|error| failed(error.into_error()))?;
        self.take_rows(rows);
        Ok(())
    }

    /// Replaces a JSON document of an object by the members of this object, which are its rows.
    fn take_members(&mut self, object: &str) -> Result<()> {
        let failed = |error: io::Error| cannot_copy(&format!("the records of {}", self.name), error);
        let mut out = BufWriter::new(TemporaryFile::new(&self.space)?);
        if let Some(fault) = write_members(self.open(&Arc::default())?, object, &mut out).map_err(failed)? {
            let name = &self.name;
            return Err(match fault {
                MembersFault::NoObject => {
                    let message = match object {
                        "" => format!("{name} is not an object"),
                        object => format!("{name}: there is no object {object}"),
                    };
                    Error::usage(message).with_hint(
                        "--path * reads the members of the object that is the document, and --path NAME.* those of an \
                         object in it, with dots between the names that lead to it",
                    )
                }
                MembersFault::NoName(number) => {
                    let object = if object.is_empty() { "the object" } else { object };
                    Error::invalid(format!(
                        "{name} is not JSON: member {number} of {object} has no name in double quotes"
                    ))
                    .with_hint("correct the file")
                }
                MembersFault::NotObject(member) => Error::usage(format!(
                    "{name}: the member {member} is not an object"
                ))
                .with_hint("--path with * reads the members of an object as records; name one of nothing but objects"),
                MembersFault::OwnKey(member) => {
                    Error::usage(format!("{name}: {member} has a member key, and key is the column of the names"))
                        .with_hint("--path '' reads the object as one record")
                }
            });
        }
        let rows = out.into_inner().map_err(|error| failed(error.into_error()))?;
        self.take_rows(rows);
        Ok(())
    }

    /// Replaces the bytes by rows in a temporary file.
    fn take_rows(&mut self, rows: TemporaryFile) {
        let byte_count = rows.byte_count();
        self.outer_bytes.get_or_insert(self.byte_count);
        (self.byte_count, self.location) = (byte_count, InputSource::Spooled(PositionedFile::from(Arc::new(rows))));
        (self.compression, self.encoding, self.ends_with_cr) = (Compression::None, None, false);
    }

    /// The name without the extensions for format and compression.
    pub(crate) fn stem(&self) -> &str {
        stem(&self.bare_name)
    }

    /// The pieces of a file elsewhere.
    pub(crate) fn pieces(&self) -> Option<&Arc<dyn Pieces>> {
        match &self.location {
            InputSource::Pieces(pieces) => Some(pieces),
            _ => None,
        }
    }

    /// The bytes that were read, as stored.
    pub(crate) fn bytes_read(&self) -> u64 {
        let stored = self.outer_bytes.unwrap_or(self.byte_count);
        self.pieces().map_or(stored, |pieces| pieces.fetched_bytes())
    }

    /// The file itself, from its start.
    pub(crate) fn file(&self) -> Result<PositionedFile> {
        let opened = match &self.location {
            InputSource::Path(path) => File::open(path).map(PositionedFile::from),
            InputSource::Spooled(file) => Ok(file.at(0)),
            InputSource::Pieces(_) => Err(io::Error::from(io::ErrorKind::Unsupported)),
        };
        opened.map_err(|error| match &self.location {
            InputSource::Path(path) => cannot_open(path, error),
            _ => io_error("cannot open", &self.name, error),
        })
    }

    /// Opens the decompressed bytes from the start, text as UTF-8 with line ends that have an LF. `read` counts the
    /// bytes on disk.
    pub(crate) fn open(&self, read: &Arc<AtomicU64>) -> Result<Box<dyn Read + Send>> {
        let file = Counted { file: self.file()?, read: Arc::clone(read) };
        let content = self.compression.decode(file).map_err(|error| self.read_error(error))?;
        let text = match self.encoding {
            Some(encoding) => Box::new(Transcoded::new(content, encoding)),
            None => content,
        };
        Ok(if self.ends_with_cr { Box::new(LineFeeds::new(text)) } else { text })
    }

    /// Opens the bytes of the records, like [`open`](Self::open). Also returns the line in which they start.
    pub(crate) fn open_records(&self, read: &Arc<AtomicU64>) -> Result<(Box<dyn Read + Send>, u64)> {
        let mut reader = self.open(read)?;
        let Some(JsonRange { start, end, line }) = self.json.range else { return Ok((reader, 1)) };
        io::copy(&mut (&mut reader).take(start), &mut io::sink()).map_err(|error| self.read_error(error))?;
        Ok((Box::new(reader.take(end - start)), line))
    }

    /// Returns whether its bytes must be decompressed, or converted to UTF-8 or other line ends.
    pub(crate) fn is_converted(&self) -> bool {
        self.compression != Compression::None || self.encoding.is_some() || self.ends_with_cr
    }

    /// A temporary file with the decompressed bytes, text as UTF-8.
    fn spooled(&self, progress: &dyn Fn(Progress)) -> Result<PositionedFile> {
        let copied = spooled(self.open(&Arc::default())?, &self.space, progress);
        copied.map_err(|error| match error.get_ref() {
            Some(inner) if inner.is::<Error>() => cannot_copy(&self.name, error),
            _ => self.read_error(error),
        })
    }

    /// The error for a read that failed.
    pub(crate) fn read_error(&self, error: io::Error) -> Error {
        if error.kind() == io::ErrorKind::InvalidData && self.encoding.is_some() {
            return Error::invalid(format!("{}: {error}", self.name))
                .with_hint("leave out --encoding if it is UTF-8, or name the encoding that it has");
        }
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

/// A temporary file with the bytes of a stream.
fn spooled(
    mut stream: impl Read,
    space: &Arc<TemporarySpace>,
    progress: &dyn Fn(Progress),
) -> io::Result<PositionedFile> {
    let mut file = TemporaryFile::new(space).map_err(io::Error::other)?;
    let mut bytes_read = 0;
    loop {
        let count = io::copy(&mut (&mut stream).take(SPOOLED_AT_ONCE), &mut file)?;
        bytes_read += count;
        progress(Progress { bytes_read, bytes_total: 0, row_count: 0 });
        if count < SPOOLED_AT_ONCE {
            return Ok(PositionedFile::from(Arc::new(file)));
        }
    }
}

fn read_head(reader: impl Read, byte_count: u64) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    reader.take(byte_count).read_to_end(&mut head)?;
    Ok(head)
}

struct Counted {
    file: PositionedFile,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
