//! Rows that are read once and kept, for cursors that return them again or after their transaction.

use super::catalogue::value::Value;
use super::error::{Failure, PgError};
use super::rows::{BatchRow, RowOrigin, RowSource, RowView, ValueRow};
use super::types::cells::Cells;
use super::wire::outgoing::ResultColumn;
use arrow::array::RecordBatch;
use atsdb::sql::{AnswerRows, KeptMemory};
use atsdb::{Error, ErrorKind};

/// Rows of any source, numbered from 0, as far as they were read.
pub(in crate::pg) struct KeptRows {
    columns: Vec<ResultColumn>,
    kept: RowStorage,
}

enum RowStorage {
    Store {
        /// The rows that were not read yet; `None` if all were.
        rest: Option<AnswerRows>,
        batches: Vec<RecordBatch>,
        /// The number of rows up to the end of each batch.
        ends: Vec<usize>,
        memory: KeptMemory,
    },
    /// The catalogue computes all its rows at once.
    Values(Vec<Vec<Value>>),
}

impl KeptRows {
    /// Keeps the rows of a source that were not read yet.
    pub(in crate::pg) fn new(source: RowSource, memory: KeptMemory) -> Result<Self, Failure> {
        let (columns, source) = source.into_parts();
        let kept = match source {
            RowOrigin::Values(rows) => RowStorage::Values(rows.collect()),
            RowOrigin::Store { rows, batch, row } => {
                let mut kept = RowStorage::Store { rest: Some(rows), batches: Vec::new(), ends: Vec::new(), memory };
                if let Some(batch) = batch {
                    kept.push(batch.slice(row, batch.num_rows() - row))?;
                }
                kept
            }
        };
        Ok(Self { columns, kept })
    }

    /// Returns whether a query of the store still computes some.
    pub(in crate::pg) fn is_of_store(&self) -> bool {
        matches!(self.kept, RowStorage::Store { rest: Some(_), .. })
    }

    pub(in crate::pg) fn columns(&self) -> &[ResultColumn] {
        &self.columns
    }

    /// Reads until there are `row_count` rows, or no more. Returns the number of rows that are there.
    pub(in crate::pg) fn read(&mut self, row_count: usize) -> Result<usize, Failure> {
        loop {
            let read = match &mut self.kept {
                RowStorage::Values(rows) => return Ok(rows.len()),
                RowStorage::Store { rest, ends, .. } => {
                    let kept = ends.last().copied().unwrap_or(0);
                    let Some(rows) = rest.as_mut().filter(|_| kept < row_count) else { return Ok(kept) };
                    let next = rows.next().transpose()?;
                    if next.is_none() {
                        *rest = None;
                    }
                    next
                }
            };
            if let Some(batch) = read {
                self.kept.push(batch)?;
            }
        }
    }

    /// Visits rows that were read, by their numbers.
    pub(in crate::pg) fn visit(
        &self,
        numbers: impl Iterator<Item = usize>,
        mut visit: impl FnMut(&dyn RowView) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match &self.kept {
            RowStorage::Values(rows) => {
                for number in numbers {
                    visit(&ValueRow { values: &rows[number], columns: &self.columns })?;
                }
            }
            RowStorage::Store { batches, ends, .. } => {
                let mut current: Option<(usize, Vec<Cells<'_>>)> = None;
                for number in numbers {
                    let at = ends.partition_point(|end| *end <= number);
                    let (_, cells) = match current.take() {
                        Some(same) if same.0 == at => current.insert(same),
                        _ => current.insert((at, batches[at].columns().iter().map(Cells::new).collect())),
                    };
                    let start = at.checked_sub(1).map_or(0, |before| ends[before]);
                    visit(&BatchRow { cells: cells.as_slice(), row: number - start })?;
                }
            }
        }
        Ok(())
    }
}

impl RowStorage {
    fn push(&mut self, batch: RecordBatch) -> Result<(), Failure> {
        let Self::Store { batches, ends, memory, .. } = self else { return Ok(()) };
        memory.grow(batch.get_array_memory_size()).map_err(refused)?;
        ends.push(ends.last().copied().unwrap_or(0) + batch.num_rows());
        batches.push(batch);
        Ok(())
    }
}

/// The error of a cursor whose rows do not fit into memory.
fn refused(error: Error) -> Failure {
    if error.kind() != ErrorKind::Resources {
        return error.into();
    }
    let hint = "a cursor without SCROLL and WITH HOLD keeps no rows; or give the server more memory (--memory)";
    PgError::error("53200", error.message().to_owned()).with_hint(hint).into()
}
