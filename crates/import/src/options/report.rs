//! Reports to the caller of an import: its progress, its result, and the records that were skipped.

use atsdb_core::{Error, Result, TableDefinition};

/// The progress of an import. While an input is copied to a temporary file, there is no total, and either bytes or
/// rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes read in this pass, as stored on disk.
    pub bytes_read: u64,
    /// Bytes of all files; 0 if that is not known.
    pub bytes_total: u64,
    /// Rows delivered in this pass.
    pub row_count: u64,
}

/// A skipped record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// The file's name.
    pub file: String,
    /// The line it starts in, from 1; the row in a Parquet file.
    pub line: u64,
    /// The column, if one is at fault.
    pub column: Option<String>,
    /// The value, shortened.
    pub value: String,
    /// The problem.
    pub reason: String,
}

impl Skipped {
    /// The error with which an import that skips nothing refuses the record.
    pub fn refusal(&self) -> Error {
        let Self { file, line, column, value, reason } = self;
        let column = column.as_ref().map_or(String::new(), |column| format!(", column {column}"));
        let value = if value.is_empty() { String::new() } else { format!("{value} ") };
        Error::invalid(format!("{file}, line {line}{column}: {value}{reason}"))
            .with_hint("correct the line, or pass --skip-bad to leave such lines out")
    }
}

/// The maximum number of skipped records that a [`Report`] describes.
pub const SKIPPED_SHOWN_MAX: usize = 100;

/// The result of an import.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The table of the rows.
    pub definition: TableDefinition,
    /// Rows delivered.
    pub row_count: u64,
    /// Bytes of the files, as stored on disk.
    pub bytes_read: u64,
    /// The first [`SKIPPED_SHOWN_MAX`] skipped records.
    pub skipped: Vec<Skipped>,
    /// The number of skipped records.
    pub skipped_count: u64,
    /// Whether a new table has columns of text only because the files name them without any value.
    pub are_types_unknown: bool,
    /// Notes for the user about choices that were not obvious.
    pub notes: Vec<String>,
}

impl Report {
    /// Refuses a new table whose types no value has shown: its columns would stay text for all later files.
    ///
    /// # Errors
    ///
    /// [`InvalidValue`](atsdb_core::ErrorKind::InvalidValue) for such a table.
    pub fn check_types(&self) -> Result<()> {
        if !self.are_types_unknown {
            return Ok(());
        }
        let name = &self.definition.name;
        Err(Error::invalid(format!("there are no rows, which would show the types of the new table {name}"))
            .with_hint("import a file with rows first, or declare the table: CREATE TABLE ... WITH (time = '...')"))
    }
}

/// Skipped records: the first [`SKIPPED_SHOWN_MAX`], and the number of all.
#[derive(Debug, Default)]
pub(crate) struct SkippedRecords {
    pub(crate) first: Vec<Skipped>,
    pub(crate) count: u64,
}

impl SkippedRecords {
    pub(crate) fn add(&mut self, skipped: Skipped) {
        self.add_some([skipped], 1);
    }

    /// Adds a number of records. The first ones are given.
    pub(crate) fn add_some(&mut self, first: impl IntoIterator<Item = Skipped>, count: u64) {
        let room = SKIPPED_SHOWN_MAX.saturating_sub(self.first.len());
        self.first.extend(first.into_iter().take(room));
        self.count += count;
    }
}
