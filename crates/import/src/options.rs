//! What a caller says about an import, and what the import says back. Nothing here reads a file.

use arrow::record_batch::RecordBatch;
use atsdb_core::{MapWidth, Result, SliceWidth, TableDefinition, TimeUnit};
use std::fmt;
use std::io::Read;
use std::path::PathBuf;

/// What a file is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Separated values: comma, semicolon, tab or `|`.
    Csv,
    /// JSON objects: one a line, one after another, or in one array.
    Json,
    /// Parquet.
    Parquet,
}

/// How dates such as `03/04/2024` are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateOrder {
    /// The day first: the 3rd of April.
    DayFirst,
    /// The month first: the 4th of March.
    MonthFirst,
}

/// What the caller knows better than the files show. The default leaves everything to the files.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The format of every file; `None` is told by each file's content and ending.
    pub format: Option<Format>,
    /// The byte between fields.
    pub delimiter: Option<u8>,
    /// Whether the first record names the columns.
    pub header: Option<bool>,
    /// The names of the fields, whatever the first record says. Every record must have as many.
    pub names: Option<Vec<String>>,
    /// Look at all values before the first row is handed on, so that a [`Sink`] begins once.
    pub begin_once: bool,
    /// The time: one column; a column of dates and one of times of day; or columns of year, month, day and as far
    /// as there are hour, minute, second. The one word `none` makes a plain table. Empty: chosen from the files.
    pub time: Vec<String>,
    /// What integer times count. A table that is created counts it, too.
    pub time_unit: Option<TimeUnit>,
    /// How dates with the year last are read.
    pub date_order: Option<DateOrder>,
    /// Columns to map, with the width of their index or the one that fits.
    pub map: Vec<(String, Option<MapWidth>)>,
    /// How wide the slices of a table that is created are.
    pub slice: Option<SliceWidth>,
    /// The key columns of a table that is created, as [`declare_key`](crate::declare_key) takes them.
    pub key: Vec<String>,
    /// The texts that mean NULL, beside fields with nothing in them; the usual ones if none are given.
    pub null: Vec<String>,
    /// Leave bad records out and count them, instead of refusing the import.
    pub skip_bad: bool,
    /// A column that takes each file's name, without folder and endings.
    pub file_column: Option<String>,
}

/// Where bytes come from.
pub enum Input {
    /// A file.
    Path(PathBuf),
    /// A stream, with a name for messages. It is copied to a temporary file first.
    Reader(String, Box<dyn Read + Send>),
}

impl Input {
    /// Standard input.
    pub fn stdin() -> Self {
        Self::Reader("stdin".to_owned(), Box::new(std::io::stdin()))
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(f, "Path({})", path.display()),
            Self::Reader(name, _) => write!(f, "Reader({name})"),
        }
    }
}

/// Where rows go.
pub trait Sink {
    /// The table that the rows which follow are of. Called again when a later value showed that the table must be
    /// another one: every row given before is then to be dropped, and all come again.
    fn begin(&mut self, definition: &TableDefinition) -> Result<()>;

    /// The next rows, in the files' order, one array for each column of the definition; at most
    /// [`CHUNK_ROWS_MAX`](atsdb_core::limits::CHUNK_ROWS_MAX), but for a table in memory. Mapped columns come as dictionaries of text.
    fn rows(&mut self, batch: RecordBatch) -> Result<()>;
}

/// How far an import is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes read of the files as they lie on disk, in this pass.
    pub bytes_read: u64,
    /// Bytes of all files.
    pub bytes_total: u64,
    /// Rows handed on in this pass.
    pub row_count: u64,
}

/// A record that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The file's name.
    pub file: String,
    /// The line it starts in, from 1; the row in a Parquet file.
    pub line: u64,
    /// The column, where one is at fault.
    pub column: Option<String>,
    /// The value, shortened.
    pub value: String,
    /// What is wrong with it.
    pub reason: String,
}

/// How many skipped records a [`Report`] describes.
pub const SKIPPED_SHOWN_MAX: usize = 100;

/// What an import did.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The table that the rows are of.
    pub definition: TableDefinition,
    /// Rows handed on.
    pub row_count: u64,
    /// Bytes of the files as they lie on disk.
    pub bytes_read: u64,
    /// The first [`SKIPPED_SHOWN_MAX`] records left out.
    pub skipped: Vec<Skipped>,
    /// How many were left out.
    pub skipped_count: u64,
    /// What a person should know: choices that were not obvious.
    pub notes: Vec<String>,
}
