//! Aligned columns for people. The widths come from the first rows; later rows may be wider. It is written by hand,
//! because libraries for tables hold all rows.

use super::destination::Destination;
use super::grid::{self, Heading};
use arrow::datatypes::{Field, SchemaRef};
use arrow::record_batch::RecordBatch;
use atsdb::Result;
use atsdb_export::ResultWriter;
use atsdb_export::value::{Cells, TextKind, kind_of};
use std::sync::Arc;

/// The number of rows, and of bytes of text, that are buffered to determine the widths.
const ROWS_HELD: usize = 10_000;
const BYTES_HELD: usize = 16 << 20;

pub(super) struct TableWriter<'a> {
    out: &'a mut Destination,
    headings: Vec<Heading>,
    widths: Option<Vec<usize>>,
    held: Vec<Vec<String>>,
    held_bytes: usize,
}

impl<'a> TableWriter<'a> {
    pub(super) fn new(schema: &SchemaRef, out: &'a mut Destination) -> Self {
        let headings = headings(schema);
        Self { out, headings, widths: None, held: Vec::new(), held_bytes: 0 }
    }

    /// Writes the headings and the buffered rows. The widths are fixed from then on.
    fn release(&mut self) -> Result<()> {
        let mut text = String::new();
        if self.widths.is_none() {
            let widths = grid::widths(&self.headings, &self.held);
            grid::write_head(&self.headings, &widths, &mut text);
            self.widths = Some(widths);
        }
        let widths = self.widths.as_deref().unwrap_or_default();
        for row in self.held.drain(..) {
            grid::write_row(&row, &self.headings, widths, &mut text);
            if text.len() >= 64 << 10 {
                self.out.put(text.as_bytes())?;
                text.clear();
            }
        }
        self.held_bytes = 0;
        self.out.put(text.as_bytes())
    }
}

impl ResultWriter for TableWriter<'_> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let columns = batch.columns().iter().map(|column| Cells::new(column)).collect::<Result<Vec<_>>>()?;
        for row in 0..batch.num_rows() {
            let cells = row_cells(&columns, row);
            self.held_bytes += cells.iter().map(String::len).sum::<usize>();
            self.held.push(cells);
            if self.held.len() >= ROWS_HELD || self.held_bytes >= BYTES_HELD {
                self.release()?;
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        self.release()
    }
}

/// The headings of a result.
pub(super) fn headings(schema: &SchemaRef) -> Vec<Heading> {
    let heading = |field: &Arc<Field>| match kind_of(field.data_type()) {
        TextKind::Number | TextKind::Float => Heading::right(field.name()),
        _ => Heading::left(field.name()),
    };
    schema.fields().iter().map(heading).collect()
}

/// Appends the rows of a batch as texts.
pub(super) fn cells(batch: &RecordBatch, rows: &mut Vec<Vec<String>>) -> Result<()> {
    let columns = batch.columns().iter().map(|column| Cells::new(column)).collect::<Result<Vec<_>>>()?;
    rows.extend((0..batch.num_rows()).map(|row| row_cells(&columns, row)));
    Ok(())
}

fn row_cells(columns: &[Cells<'_>], row: usize) -> Vec<String> {
    let cell = |column: &Cells<'_>| {
        if column.is_null(row) {
            return "NULL".to_owned();
        }
        let mut bytes = Vec::new();
        column.write(row, &mut bytes);
        grid::printable_lines(&String::from_utf8_lossy(&bytes))
    };
    columns.iter().map(cell).collect()
}
