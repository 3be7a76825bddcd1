//! The types that the caller of an import passes and receives. Nothing here reads a file.
//!
//! Owned here: the options and the [`Sink`], the report ([`report`]), the choice and the names of columns
//! ([`selection`]), the encoding of texts ([`encoding`]), separators ([`delimiter`]), and the key of a new table
//! ([`key`]).

pub(crate) mod delimiter;
pub(crate) mod encoding;
pub(crate) mod key;
pub(crate) mod report;
pub(crate) mod selection;

use crate::options::encoding::Encoding;
use crate::values::zones::Zone;
use arrow::record_batch::RecordBatch;
use atsdb_core::name::same_name;
use atsdb_core::time_text::{DateOrder, DateReading};
use atsdb_core::{Error, MapWidth, Result, SliceWidth, TableDefinition, TimeUnit};
use atsdb_foreign::ForeignTable;
use atsdb_temporary::{PositionedFile, TemporarySpace};
use std::fmt;
use std::io::{self, Read};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Separated values: comma, semicolon, tab or `|`.
    Csv,
    /// The text format of PostgreSQL's `COPY` and ClickHouse: tabs, `\N` for NULL, backslash escapes, no quotes.
    Text,
    /// JSON objects or arrays: one a line, one after another, or in one array.
    Json,
    /// A sheet of a workbook, of Excel or OpenDocument. No other file is read as one.
    Sheet,
    /// Parquet.
    Parquet,
    /// Arrow IPC, the file format or the stream format.
    Arrow,
    /// InfluxDB line protocol.
    Lines,
}

impl Format {
    /// The format with a name: `csv`, `text`, `json` (also `jsonl` and `ndjson`), `parquet`, `arrow` or `line`.
    ///
    /// # Errors
    ///
    /// [`Usage`](atsdb_core::ErrorKind::Usage) for any other name.
    pub fn parse(name: &str) -> Result<Self> {
        match name {
            "csv" => Ok(Self::Csv),
            "text" => Ok(Self::Text),
            "json" | "jsonl" | "ndjson" => Ok(Self::Json),
            "parquet" => Ok(Self::Parquet),
            "arrow" => Ok(Self::Arrow),
            "line" => Ok(Self::Lines),
            _ => {
                Err(Error::usage(format!("unknown format {name}"))
                    .with_hint("use csv, text, json, parquet, arrow or line"))
            }
        }
    }
}

/// A column of the files that is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnChoice {
    /// The column's name in the table.
    pub name: String,
    /// The column's name in the files.
    pub source: String,
}

impl ColumnChoice {
    /// Reads `COL`, or `NEW=OLD`.
    pub fn parse(text: &str) -> Self {
        let (name, source) = text.split_once('=').unwrap_or((text, text));
        Self { name: name.trim().to_owned(), source: source.trim().to_owned() }
    }
}

/// Columns of the files that become rows: one for each of these columns, with its name and its value.
#[derive(Debug, Clone)]
pub struct UnpivotChoice {
    /// Their names; `*` stands for any text.
    pub columns: Vec<String>,
    /// The column of the table that holds the names.
    pub name: String,
    /// The column of the table that holds the values.
    pub value: String,
}

impl UnpivotChoice {
    /// Makes these columns rows, with their names in the column `name` and their values in the column `value`.
    pub fn new(columns: Vec<String>) -> Self {
        Self { columns, name: "name".to_owned(), value: "value".to_owned() }
    }

    /// The same with other names of the new columns: `NAME,VALUE`.
    ///
    /// # Errors
    ///
    /// [`Usage`](atsdb_core::ErrorKind::Usage) unless these are two names.
    pub fn into_columns(self, names: &str) -> Result<Self> {
        match names.split_once(',').map(|(name, value)| (name.trim(), value.trim())) {
            Some((name, value)) if !name.is_empty() && !value.is_empty() && !value.contains(',') => {
                Ok(Self { name: name.to_owned(), value: value.to_owned(), ..self })
            }
            _ => Err(Error::usage(format!("{names}: two names are needed, such as sensor,value"))),
        }
    }
}

/// The options of an import. By default everything is inferred from the files.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The format of all files. `None` infers it from each file's content and extension.
    pub format: Option<Format>,
    /// The encoding of texts. `None` is UTF-8, or UTF-16 if a byte order mark says so.
    pub encoding: Option<Encoding>,
    /// The byte between fields.
    pub delimiter: Option<u8>,
    /// Whether the first record names the columns.
    pub header: Option<bool>,
    /// The number of lines before the first record. `None` detects comments and titles.
    pub skip: Option<u64>,
    /// Whether quotes are text.
    pub no_quotes: bool,
    /// Whether numbers such as `1,234` have a decimal comma. If this is false, only other numbers of the column can
    /// show that they have.
    pub decimal_comma: bool,
    /// The zone of times without one; UTC by default.
    pub zone: Option<Zone>,
    /// The columns to read, and their names in the table. An empty list means all. Without a header these are the names
    /// of the fields.
    pub columns: Vec<ColumnChoice>,
    /// Columns to leave out.
    pub omit: Vec<String>,
    /// Columns of separated values that become rows. A field that is empty or NULL makes no row.
    pub unpivot: Option<UnpivotChoice>,
    /// The list in a JSON document that holds the records: names with dots between them; with a star as the last one,
    /// the object whose members are the records. In line protocol, the one measurement to read.
    pub path: Option<String>,
    /// The sheet of a workbook, or the file of a zip archive. By default a workbook's first sheet with rows, and an
    /// archive's only file.
    pub sheet: Option<String>,
    /// The names of the fields, which override the first record. Every record must have as many fields.
    pub names: Option<Vec<String>>,
    /// Whether the rows are only for a statement: texts are then not mapped, slices do not matter, and notes only
    /// report words that became NULL and numbers that were rounded.
    pub for_query: bool,
    /// Whether to read all values before the first row is delivered, so that a [`Sink`] never starts over.
    pub begin_once: bool,
    /// The time: one column; a column of dates and one of times of day; or columns of year, month, day and as far
    /// as there are hour, minute, second. The one word `none` makes a plain table. Empty: chosen from the files.
    pub time: Vec<String>,
    /// The unit of integer times, and of the time column of a new table.
    pub time_unit: Option<TimeUnit>,
    /// How dates with the year last are read.
    pub date_order: Option<DateOrder>,
    /// Times without a year, as logs have them (`Nov 23 04:10:50`), are the last ones before this one, in seconds since
    /// the epoch. `None` leaves them text.
    pub times_until: Option<i64>,
    /// Columns to map, with the width of their index or the one that fits.
    pub map: Vec<(String, Option<MapWidth>)>,
    /// The slice width of a new table.
    pub slice: Option<SliceWidth>,
    /// The key columns of a new table, as for [`declare_key`](crate::declare_key).
    pub key: Vec<String>,
    /// The texts that mean NULL besides empty fields. If this is empty, the default ones are used.
    pub null: Vec<String>,
    /// Whether to skip and count bad records instead of refusing the import.
    pub skip_bad: bool,
    /// A column for the name of each file, without folder and extensions.
    pub file_column: Option<String>,
    /// The space of temporary files: copies of streams, sheets, files of archives, and compressed Parquet.
    pub temporary_space: Arc<TemporarySpace>,
}

impl Options {
    /// Returns whether a column of the table gets the names of the files.
    pub(crate) fn is_file_column(&self, name: &str) -> bool {
        self.file_column.as_ref().is_some_and(|file_column| same_name(file_column, name))
    }

    /// How dates are read, as far as the caller says it.
    pub(crate) fn date_reading(&self) -> DateReading {
        DateReading { order: self.date_order, until: self.times_until }
    }
}

/// An input of an import.
pub enum Input {
    /// A file. Messages name it by this path.
    Path(PathBuf),
    /// A stream, with a name for messages. It is copied to a temporary file first.
    Reader(String, Box<dyn Read + Send>),
    /// An open file, with its name.
    File(String, PositionedFile),
    /// A sheet of a workbook or a file of a zip archive, by name, instead of that of [`Options::sheet`].
    Part(Box<Input>, String),
    /// An input that messages name so instead, such as by its URL.
    Shown(Box<Input>, String),
    /// A Parquet file elsewhere, with its name. Only what is needed of it is read.
    Pieces(String, Arc<dyn Pieces>),
    /// A table of another database. Its rows are copied to a temporary file first, so that they are read once.
    Table(ForeignTable),
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(f, "Path({})", path.display()),
            Self::Reader(name, _) => write!(f, "Reader({name})"),
            Self::File(name, _) => write!(f, "File({name})"),
            Self::Part(input, part) => write!(f, "Part({input:?}, {part})"),
            Self::Shown(input, name) => write!(f, "Shown({input:?}, {name})"),
            Self::Pieces(name, _) => write!(f, "Pieces({name})"),
            Self::Table(table) => write!(f, "Table({})", table.name),
        }
    }
}

/// A file elsewhere that is read piece by piece.
pub trait Pieces: fmt::Debug + Send + Sync {
    /// Returns the size in bytes.
    fn byte_count(&self) -> u64;

    /// The bytes that were fetched.
    fn fetched_bytes(&self) -> u64;

    /// Announces ranges that will be read.
    fn plan(&self, ranges: &[Range<u64>]);

    /// The bytes of a range, which may be read several times.
    fn read(&self, start: u64, length: usize) -> io::Result<Vec<u8>>;

    /// Takes the error of the last read that failed because the bytes did not arrive.
    fn failure(&self) -> Option<Error>;
}

/// The receiver of the rows.
pub trait Sink {
    /// Starts receiving the rows of a table. This is called again if a later value shows that the table must be defined
    /// differently: all earlier rows must then be dropped, and all rows are delivered again.
    fn begin(&mut self, definition: &TableDefinition) -> Result<()>;

    /// The next rows, in the files' order, one array for each column of the definition; at most
    /// [`CHUNK_ROWS_MAX`](atsdb_core::limits::CHUNK_ROWS_MAX), except for a table in memory. Mapped columns come as
    /// dictionaries of text.
    fn rows(&mut self, batch: RecordBatch) -> Result<()>;
}
