//! JSON: one array of objects, or one object a line.
//!
//! Integers are exact numbers; `NaN`, `inf` and `-inf` are text, because JSON has no such numbers. The second column of
//! the same name gets a number (`time`, `time_2`), so that no reader loses a value. A document of JSON is the
//! value that it is, but a string or `null` stays the text of the document, so that it is neither another text nor
//! NULL.

use crate::value::{Cells, write_json_text};
use crate::writer::{Output, ResultWriter};
use arrow::datatypes::{FieldRef, SchemaRef};
use arrow::record_batch::RecordBatch;
use atsdb_codec::declared_type;
use atsdb_core::{ColumnType, Result};
use std::collections::HashSet;
use std::io::Write;

const BUFFER_BYTES: usize = 64 << 10;

/// The text that surrounds the objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonShape {
    /// One array of objects.
    Array,
    /// An object a line.
    Lines,
}

/// Writes rows as JSON objects.
#[derive(Debug)]
pub struct JsonWriter<W> {
    out: Output<W>,
    shape: JsonShape,
    names: Vec<Vec<u8>>,
    /// For each column, whether its texts are JSON.
    are_documents: Vec<bool>,
    is_first: bool,
    buffer: Vec<u8>,
}

impl<W: Write> JsonWriter<W> {
    /// Begins a result.
    pub fn new(schema: &SchemaRef, shape: JsonShape, out: Output<W>) -> Self {
        let names = unique_names(schema.fields().iter().map(|field| field.name().as_str()));
        let names = names.into_iter().enumerate().map(|(position, name)| key(position, &name)).collect();
        let is_document = |field: &FieldRef| declared_type(field) == Some(ColumnType::Json);
        let are_documents = schema.fields().iter().map(is_document).collect();
        Self { out, shape, names, are_documents, is_first: true, buffer: Vec::new() }
    }
}

impl<W: Write> ResultWriter for JsonWriter<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let columns = batch.columns().iter().map(|column| Cells::new(column)).collect::<Result<Vec<_>>>()?;
        for row in 0..batch.num_rows() {
            let lead: &[u8] = match (self.shape, self.is_first) {
                (JsonShape::Array, true) => b"[\n{",
                (JsonShape::Array, false) => b",\n{",
                (JsonShape::Lines, _) => b"{",
            };
            self.is_first = false;
            self.buffer.extend_from_slice(lead);
            for ((name, cells), is_document) in self.names.iter().zip(&columns).zip(&self.are_documents) {
                self.buffer.extend_from_slice(name);
                if *is_document && !cells.is_null(row) {
                    write_document(cells, row, &mut self.buffer);
                } else {
                    cells.write_json(row, &mut self.buffer);
                }
            }
            self.buffer.extend_from_slice(if self.shape == JsonShape::Lines { b"}\n" } else { b"}" });
            if self.buffer.len() >= BUFFER_BYTES {
                self.out.put(&self.buffer)?;
                self.buffer.clear();
            }
        }
        self.out.put(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        match (self.shape, self.is_first) {
            (JsonShape::Array, true) => self.out.put(b"[]\n"),
            (JsonShape::Array, false) => self.out.put(b"\n]\n"),
            (JsonShape::Lines, _) => Ok(()),
        }
    }
}

/// Appends a document of JSON, in one line: an object, an array, a number or a boolean as such, anything else as text.
fn write_document(cells: &Cells<'_>, row: usize, out: &mut Vec<u8>) {
    let start = out.len();
    cells.write(row, out);
    let document = &mut out[start..];
    let is_value = document.trim_ascii_start().first().is_some_and(|first| !matches!(first, b'"' | b'n'));
    if is_value {
        // Strings in a document have no line ends of their own.
        document.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
    } else {
        let text = String::from_utf8_lossy(&out.split_off(start)).into_owned();
        write_json_text(&text, out);
    }
}

fn key(position: usize, name: &str) -> Vec<u8> {
    let mut key = if position > 0 { vec![b','] } else { Vec::new() };
    write_json_text(name, &mut key);
    key.push(b':');
    key
}

/// The names, each once.
fn unique_names<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let names: Vec<&str> = names.collect();
    let mut taken: HashSet<String> = HashSet::new();
    names
        .iter()
        .map(|name| {
            let mut unique = (*name).to_owned();
            let mut count = 1;
            while taken.contains(&unique) || (count > 1 && names.contains(&unique.as_str())) {
                count += 1;
                unique = format!("{name}_{count}");
            }
            taken.insert(unique.clone());
            unique
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_used_twice_loses_no_value() {
        assert_eq!(unique_names(["a", "b", "a", "a_2"].into_iter()), ["a", "b", "a_3", "a_2"]);
    }
}
