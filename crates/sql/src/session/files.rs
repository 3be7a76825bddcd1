//! Files that statements name, as the session's owner reads them. Nothing is opened here: a session without a reader
//! refuses every statement that names one to read, one without a writer those that name one to write.

use crate::run::answer::Rows;
use arrow::array::RecordBatch;
use atsdb_core::{Result, TableDefinition};
use std::fmt;

/// What a statement asks of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct FileRequest<'a> {
    /// The file, as the statement names it.
    pub path: &'a str,
    /// The columns that its fields are of, in the order of the fields.
    pub definition: &'a TableDefinition,
    /// The byte between fields.
    pub delimiter: u8,
    /// Whether the first record is skipped.
    pub has_header: bool,
    /// The texts that mean NULL; the usual ones if there are none.
    pub null: Vec<String>,
}

/// Opens files for a session: whoever runs the program may name them.
pub trait FileReader: fmt::Debug + Send + Sync {
    /// Reads a file's rows, in its order, as batches with one array for each column of the request's definition;
    /// mapped columns as text or as dictionaries of text. What is wrong with a value is an error that names file, line,
    /// column and value; then nothing of the file may stay, which is the caller's to see to.
    fn read(&self, request: &FileRequest<'_>, rows: &mut dyn FnMut(RecordBatch) -> Result<()>) -> Result<()>;
}

/// Writes files for a session: whoever runs the program may name them.
pub trait FileWriter: fmt::Debug + Send + Sync {
    /// Writes all rows into a file, in the format that its ending says, and says how many they were. The file is there
    /// when all of it is; after an error whatever had its name still has. A file that is there is replaced only with
    /// `may_replace`.
    fn write(&self, path: &str, may_replace: bool, rows: Rows) -> Result<u64>;
}
