//! Files that statements read, as the session's owner reads them. Nothing is opened here: a session without a reader
//! refuses every statement that names a file to read.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use atsdb_core::{Error, ErrorKind, Result, TableDefinition};
use std::fmt;

/// What a statement asks of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct FileRequest<'a> {
    /// The file, as the statement names it.
    pub path: &'a str,
    /// The columns that its fields are of, in the order of the fields.
    pub definition: &'a TableDefinition,
    /// How its records are written.
    pub layout: FileLayout,
    /// The byte between fields.
    pub delimiter: u8,
    /// Whether the first record is skipped.
    pub has_header: bool,
    /// The texts that mean NULL; the usual ones if there are none.
    pub null: Vec<String>,
}

/// How the records of a file are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileLayout {
    /// As its content shows; columns by name where it names them.
    Detected,
    /// Separated values, of which some may be quoted.
    Separated,
    /// As PostgreSQL's `COPY` writes text: backslash escapes, `\N` for NULL, no quotes.
    Text,
}

/// What a query asks of a file that it reads as a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileTableRequest {
    /// The file, or a pattern, as the query names it.
    pub path: String,
    /// The format that the query says, as `csv`; `None` for the one that the file shows.
    pub format: Option<&'static str>,
    /// What the query says of the file: names in lower case, and values.
    pub options: Vec<(String, String)>,
    /// The most bytes that its rows may take.
    pub bytes_max: usize,
}

/// A file's rows, in memory.
#[derive(Debug, Clone)]
pub struct FileTable {
    /// The columns of every batch.
    pub schema: SchemaRef,
    /// The rows.
    pub batches: Vec<RecordBatch>,
}

/// The error for a statement that names a file where statements may read none.
pub(crate) fn no_files() -> Error {
    Error::new(ErrorKind::Sql, "SQL may not read files here").with_hint("use `atsdb import`")
}

/// Opens files for a session: whoever runs the program may name them.
pub trait FileReader: fmt::Debug + Send + Sync {
    /// Reads a file's rows, in its order, as batches with one array for each column of the request's definition;
    /// mapped columns as text or as dictionaries of text. What is wrong with a value is an error that names file, line,
    /// column and value; then nothing of the file may stay, which is the caller's to see to.
    fn read(&self, request: &FileRequest<'_>, rows: &mut dyn FnMut(RecordBatch) -> Result<()>) -> Result<()>;

    /// Reads a file as a table whose columns and types its content shows; text as plain text. A reader that does not
    /// implement it refuses.
    fn table(&self, request: &FileTableRequest) -> Result<FileTable> {
        let _ = request;
        Err(no_files())
    }
}
