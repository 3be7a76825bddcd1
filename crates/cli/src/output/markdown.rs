//! A Markdown table.

use super::destination::Destination;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use atsdb::Result;
use atsdb_export::ResultWriter;
use atsdb_export::value::{Cells, TextKind, kind_of};

pub(super) struct MarkdownWriter<'a> {
    out: &'a mut Destination,
}

impl<'a> MarkdownWriter<'a> {
    pub(super) fn new(schema: &SchemaRef, out: &'a mut Destination) -> Result<Self> {
        let (mut head, mut rule) = (b"|".to_vec(), b"|".to_vec());
        for field in schema.fields() {
            head.push(b' ');
            escape(field.name().as_bytes(), &mut head);
            head.extend_from_slice(b" |");
            let is_right = matches!(kind_of(field.data_type()), TextKind::Number | TextKind::Float);
            rule.extend_from_slice(if is_right { b" ---: |" } else { b" --- |" });
        }
        head.push(b'\n');
        rule.push(b'\n');
        out.put(&head)?;
        out.put(&rule)?;
        Ok(Self { out })
    }
}

impl ResultWriter for MarkdownWriter<'_> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let columns = batch.columns().iter().map(|column| Cells::new(column)).collect::<Result<Vec<_>>>()?;
        let (mut line, mut cell) = (Vec::new(), Vec::new());
        for row in 0..batch.num_rows() {
            line.clear();
            line.push(b'|');
            for cells in &columns {
                line.push(b' ');
                if cells.is_null(row) {
                    line.extend_from_slice(b"NULL");
                } else {
                    cell.clear();
                    cells.write(row, &mut cell);
                    escape(&cell, &mut line);
                }
                line.extend_from_slice(b" |");
            }
            line.push(b'\n');
            self.out.put(&line)?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

fn escape(text: &[u8], out: &mut Vec<u8>) {
    for byte in text {
        match byte {
            b'|' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
            b'\n' => out.extend_from_slice(b"<br>"),
            b'\r' => {}
            byte => out.push(*byte),
        }
    }
}
