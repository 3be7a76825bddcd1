//! The answers of statements.

use super::worker::QueryRows;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use atsdb_core::Result;
use std::fmt;

/// The answer of one statement.
#[derive(Debug)]
pub enum Answer {
    /// Rows, which may still be computed while they are read.
    Rows(AnswerRows),
    /// A statement without rows was executed.
    Done {
        /// The verb of the statement, such as `CREATE TABLE`, `DROP TABLE` or `INSERT`.
        verb: &'static str,
        /// The number of affected rows; `None` for statements that affect none.
        row_count: Option<u64>,
    },
}

/// Checks the columns of an answer before the changes of its statement are committed.
pub(crate) type ColumnsCheck<'a> = &'a dyn Fn(&SchemaRef) -> Result<()>;

impl Answer {
    /// Checks the columns, if the answer has rows.
    pub(crate) fn check_columns(&self, check: ColumnsCheck<'_>) -> Result<()> {
        match self {
            Self::Rows(rows) => check(&rows.schema),
            Self::Done { .. } => Ok(()),
        }
    }
}

/// The rows of an answer, batch by batch. Reading blocks. If this is dropped early, the query stops. A query that
/// changes sequences or locks has been executed to its end.
pub struct AnswerRows {
    schema: SchemaRef,
    source: AnswerBatches,
}

enum AnswerBatches {
    Read(std::vec::IntoIter<RecordBatch>),
    Query(QueryRows),
}

impl AnswerRows {
    pub(crate) fn fixed(batch: RecordBatch) -> Self {
        Self::read(batch.schema(), vec![batch])
    }

    pub(crate) fn read(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Self { schema, source: AnswerBatches::Read(batches.into_iter()) }
    }

    pub(crate) fn query(rows: QueryRows) -> Self {
        Self { schema: rows.schema(), source: AnswerBatches::Query(rows) }
    }

    /// The batches that were not read yet, if all of them are computed already.
    pub fn ready(&self) -> Option<&[RecordBatch]> {
        match &self.source {
            AnswerBatches::Read(batches) => Some(batches.as_slice()),
            AnswerBatches::Query(_) => None,
        }
    }

    /// The columns, with names as written in the statement and types as computed. A mapped column is a dictionary of
    /// text.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

impl Iterator for AnswerRows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.source {
            AnswerBatches::Read(batches) => batches.next().map(Ok),
            AnswerBatches::Query(rows) => rows.next(),
        }
    }
}

impl fmt::Debug for AnswerRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerRows").field("schema", &self.schema).finish_non_exhaustive()
    }
}
