//! Aligned columns for people: as wide as the first rows need, later rows as they come.

use super::destination::Destination;
use super::grid::{self, Heading};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use atsdb::Result;
use atsdb_export::ResultWriter;
use atsdb_export::value::{Cells, TextKind, kind_of};

/// How many rows, and how many bytes of text, are held back to find the widths.
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
        let headings = schema
            .fields()
            .iter()
            .map(|field| match kind_of(field.data_type()) {
                TextKind::Number | TextKind::Float => Heading::right(field.name()),
                _ => Heading::left(field.name()),
            })
            .collect();
        Self { out, headings, widths: None, held: Vec::new(), held_bytes: 0 }
    }

    /// Writes the headings and the rows held back; the widths stay from here on.
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
        let mut bytes = Vec::new();
        for row in 0..batch.num_rows() {
            let mut cells = Vec::with_capacity(columns.len());
            for column in &columns {
                if column.is_null(row) {
                    cells.push("NULL".to_owned());
                    continue;
                }
                bytes.clear();
                column.write(row, &mut bytes);
                self.held_bytes += bytes.len();
                cells.push(grid::printable_lines(&String::from_utf8_lossy(&bytes)));
            }
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
