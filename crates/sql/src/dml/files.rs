//! Files that statements read through a reader supplied by the session's owner. Nothing is opened here: a session
//! without a reader refuses every statement that names a file to read.

use super::copy::options::CopyLayout;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use atsdb_core::{Error, ErrorKind, Result, TableDefinition};
use std::fmt;
use std::sync::Arc;

/// A statement's request to read a file.
#[derive(Debug, Clone, PartialEq)]
pub struct FileRequest<'a> {
    /// The path of the file, as in the statement.
    pub path: &'a str,
    /// The columns of its fields, in the order of the fields.
    pub definition: &'a TableDefinition,
    /// The format of its records.
    pub layout: FileLayout,
}

/// The format of a file's records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileLayout {
    /// Separated values, which may be in double quotes.
    Separated {
        /// The byte between fields.
        delimiter: u8,
        /// Whether the first record is skipped.
        has_header: bool,
    },
    /// The layout of a `COPY`. Outside of PostgreSQL's formats, columns that the file names are matched by name.
    Copy(CopyLayout),
}

/// A query's request to read files as one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileTableRequest {
    /// The paths of the files, or patterns, as in the query; at least one.
    pub paths: Vec<String>,
    /// The format that the query names, such as `csv`; `None` to detect it.
    pub format: Option<&'static str>,
    /// The options in the query: names in lower case, and values.
    pub options: Vec<(String, String)>,
    /// The memory that the query may use, in bytes.
    pub bytes_max: usize,
}

/// The rows of a file.
#[derive(Debug, Clone)]
pub struct FileTable {
    /// The columns of every batch.
    pub schema: SchemaRef,
    /// The rows.
    pub rows: FileRows,
}

/// The rows of a file, by where they are kept.
#[derive(Debug, Clone)]
pub enum FileRows {
    /// The rows are in memory.
    Memory(Vec<RecordBatch>),
    /// The rows are elsewhere, because they would take too much memory.
    Stored(Arc<dyn StoredRows>),
}

/// Rows that are not in memory.
pub trait StoredRows: fmt::Debug + Send + Sync {
    /// Reads some of the columns, given by their positions, of all rows, in their order. May be called several times,
    /// by several threads.
    fn read(&self, columns: &[usize]) -> Result<Box<dyn Iterator<Item = Result<RecordBatch>> + Send>>;
}

/// The error for a statement that names a file in a session that may not read files.
pub(crate) fn no_files() -> Error {
    Error::new(ErrorKind::Sql, "SQL may not read files here")
        .with_hint("store its rows first: `atsdb import`, or in the program CREATE TABLE t AS SELECT * FROM 'FILE'")
}

/// Opens files for a session, with the rights of the program's user.
pub trait FileReader: fmt::Debug + Send + Sync {
    /// Reads a file's rows, in its order, as batches with one array for each column of the request's definition; mapped
    /// columns as text or as dictionaries of text. An invalid value is an error that names file, line, column and
    /// value; the caller must then store nothing of the file.
    fn read(&self, request: &FileRequest<'_>, rows: &mut dyn FnMut(RecordBatch) -> Result<()>) -> Result<()>;

    /// Reads files as a table, with columns and types detected from its content, and text as plain text. The default
    /// implementation refuses.
    fn table(&self, request: &FileTableRequest) -> Result<FileTable> {
        let _ = request;
        Err(no_files())
    }
}
