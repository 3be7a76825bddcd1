//! Rows that are sent to a client, from any source.

use super::catalogue::value::Value;
use super::connection::io::Io;
use super::error::{Failure, PgError};
use super::types::cells::{Cell, Cells};
use super::types::input::Format;
use super::types::{binary, known, text};
use super::wire::outgoing::ResultColumn;
use crate::shared::holds::HeldBytes;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use atsdb::sql::AnswerRows;

/// Rows that are read one after the other, and only as far as requested.
pub(in crate::pg) struct RowSource {
    columns: Vec<ResultColumn>,
    source: RowOrigin,
}

/// The source of rows.
pub(in crate::pg) enum RowOrigin {
    Store { rows: AnswerRows, batch: Option<RecordBatch>, row: usize },
    Values(std::vec::IntoIter<Vec<Value>>),
}

/// The values of one row.
pub(in crate::pg) trait RowView {
    /// The value of a column.
    fn cell(&self, column: usize) -> Cell<'_>;
}

/// A row of a batch.
pub(in crate::pg) struct BatchRow<'a> {
    pub(in crate::pg) cells: &'a [Cells<'a>],
    pub(in crate::pg) row: usize,
}

impl RowView for BatchRow<'_> {
    fn cell(&self, column: usize) -> Cell<'_> {
        self.cells[column].get(self.row)
    }
}

/// A row that the catalogue has computed.
pub(in crate::pg) struct ValueRow<'a> {
    pub(in crate::pg) values: &'a [Value],
    pub(in crate::pg) columns: &'a [ResultColumn],
}

impl RowView for ValueRow<'_> {
    fn cell(&self, column: usize) -> Cell<'_> {
        self.values[column].cell(self.columns[column].type_id)
    }
}

/// The columns of an answer of the store.
pub(in crate::pg) fn columns_of(schema: &SchemaRef) -> Vec<ResultColumn> {
    let column = |field: &arrow::datatypes::FieldRef| ResultColumn::new(field.name().as_str(), known::of_field(field));
    schema.fields().iter().map(column).collect()
}

impl RowSource {
    pub(in crate::pg) fn store(rows: AnswerRows) -> Self {
        let columns = columns_of(&rows.schema());
        Self { columns, source: RowOrigin::Store { rows, batch: None, row: 0 } }
    }

    /// The columns, to complete them.
    pub(in crate::pg) fn columns_mut(&mut self) -> &mut [ResultColumn] {
        &mut self.columns
    }

    pub(in crate::pg) fn values(columns: Vec<ResultColumn>, rows: Vec<Vec<Value>>) -> Self {
        Self { columns, source: RowOrigin::Values(rows.into_iter()) }
    }

    /// The columns, and the source of the rows that were not read yet.
    pub(in crate::pg) fn into_parts(self) -> (Vec<ResultColumn>, RowOrigin) {
        (self.columns, self.source)
    }

    /// Returns whether a query of the store computes them.
    pub(in crate::pg) fn is_of_store(&self) -> bool {
        matches!(self.source, RowOrigin::Store { .. })
    }

    pub(in crate::pg) fn columns(&self) -> &[ResultColumn] {
        &self.columns
    }

    /// Visits up to `row_max` rows, and notes in `holds` what it holds. Returns their number, and whether they were the
    /// last ones.
    pub(in crate::pg) fn visit(
        &mut self,
        row_max: usize,
        holds: &HeldBytes,
        mut visit: impl FnMut(&dyn RowView) -> Result<(), Failure>,
    ) -> Result<(usize, bool), Failure> {
        let mut count = 0;
        match &mut self.source {
            RowOrigin::Store { rows, batch, row } => loop {
                if count == row_max {
                    return Ok((count, false));
                }
                let Some(current) = batch else {
                    match rows.next() {
                        None => return Ok((count, true)),
                        Some(next) => {
                            holds.note(batch.insert(next?));
                            *row = 0;
                        }
                    }
                    continue;
                };
                let cells: Vec<Cells<'_>> = current.columns().iter().map(Cells::new).collect();
                let end = current.num_rows().min(row.saturating_add(row_max - count));
                while *row < end {
                    visit(&BatchRow { cells: &cells, row: *row })?;
                    *row += 1;
                    count += 1;
                }
                let is_read = *row == current.num_rows();
                drop(cells);
                if is_read {
                    *batch = None;
                }
            },
            RowOrigin::Values(rows) => {
                while count < row_max {
                    let Some(values) = rows.next() else { return Ok((count, true)) };
                    visit(&ValueRow { values: &values, columns: &self.columns })?;
                    count += 1;
                }
                Ok((count, false))
            }
        }
    }

    /// Sends up to `row_max` rows. Returns their number, and whether they were the last ones.
    pub(in crate::pg) fn send(
        &mut self,
        io: &mut Io,
        formats: &[Format],
        row_max: usize,
    ) -> Result<(usize, bool), Failure> {
        let types: Vec<u32> = self.columns.iter().map(|column| column.type_id).collect();
        self.visit(row_max, &io.holds.clone(), |row| {
            push_row(&mut io.out.bytes, &types, formats, row)?;
            io.flush_if_full()
        })
    }
}

/// Appends a message with the values of a row.
pub(in crate::pg) fn push_row(
    out: &mut Vec<u8>,
    types: &[u32],
    formats: &[Format],
    row: &dyn RowView,
) -> Result<(), PgError> {
    let start = out.len();
    out.push(b'D');
    out.extend([0; 4]);
    out.extend((types.len() as u16).to_be_bytes());
    for (column, (type_id, format)) in types.iter().zip(formats).enumerate() {
        let cell = row.cell(column);
        let pushed = binary::push_value(out, |out| match format {
            Format::Text => text::push(out, *type_id, &cell),
            Format::Binary => binary::push(out, *type_id, &cell),
        });
        if let Err(error) = pushed {
            out.truncate(start);
            return Err(error);
        }
    }
    let Ok(length) = i32::try_from(out.len() - start - 1) else {
        out.truncate(start);
        return Err(PgError::error("54000", "a row is longer than the protocol allows"));
    };
    out[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
    Ok(())
}
