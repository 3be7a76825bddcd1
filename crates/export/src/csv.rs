//! CSV and TSV: RFC 4180 quoting, `\n` line ends, a header.
//!
//! NULL is an empty field, empty text is `""`. Text that a reader could take for NULL is quoted as well.
//! The quoting is written by hand for that reason.

use crate::value::{Cells, TextKind};
use crate::writer::{Output, ResultWriter};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use atsdb_core::Result;
use std::io::Write;

const BUFFER_BYTES: usize = 64 << 10;

/// Words that readers of CSV interpret as a missing value, all those of the import among them.
const NULL_WORDS: [&[u8]; 16] = [
    b"NA", b"N/A", b"n/a", b"#N/A", b"<NA>", b"NULL", b"Null", b"null", b"NIL", b"nil", b"NaN", b"nan", b"None",
    b"\\N", b"#NULL!", b"-",
];

/// Writes rows as fields between delimiters.
#[derive(Debug)]
pub struct CsvWriter<W> {
    out: Output<W>,
    delimiter: u8,
    buffer: Vec<u8>,
}

impl<W: Write> CsvWriter<W> {
    /// Begins a result with its header.
    pub fn new(schema: &SchemaRef, delimiter: u8, mut out: Output<W>) -> Result<Self> {
        let mut buffer = Vec::with_capacity(BUFFER_BYTES + 4_096);
        for (position, field) in schema.fields().iter().enumerate() {
            if position > 0 {
                buffer.push(delimiter);
            }
            buffer.extend_from_slice(field.name().as_bytes());
            let start = buffer.len() - field.name().len();
            quote(&mut buffer, start, delimiter);
        }
        buffer.push(b'\n');
        out.put(&buffer)?;
        buffer.clear();
        Ok(Self { out, delimiter, buffer })
    }
}

impl<W: Write> ResultWriter for CsvWriter<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let columns = batch.columns().iter().map(|column| Cells::new(column)).collect::<Result<Vec<_>>>()?;
        for row in 0..batch.num_rows() {
            for (position, cells) in columns.iter().enumerate() {
                if position > 0 {
                    self.buffer.push(self.delimiter);
                }
                if cells.is_null(row) {
                    continue;
                }
                let start = self.buffer.len();
                cells.write(row, &mut self.buffer);
                if matches!(cells.kind(), TextKind::Text | TextKind::Nested) {
                    quote(&mut self.buffer, start, self.delimiter);
                }
            }
            self.buffer.push(b'\n');
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
        Ok(())
    }
}

/// Quotes the field that starts at `start`, if necessary.
fn quote(buffer: &mut Vec<u8>, start: usize, delimiter: u8) {
    let field = &buffer[start..];
    // In a file with tabs, a backslash may begin an escape.
    let is_special = |byte: &u8| match byte {
        b'"' | b'\n' | b'\r' => true,
        b'\\' => delimiter == b'\t',
        _ => *byte == delimiter,
    };
    let is_plain = match (field.first(), field.last()) {
        (Some(first), Some(last)) => {
            // Others read a first # as a comment's, and enclose fields in single quotes.
            !first.is_ascii_whitespace()
                && !matches!(first, b'#' | b'\'')
                && !last.is_ascii_whitespace()
                && !field.iter().any(is_special)
                && !NULL_WORDS.contains(&field)
        }
        _ => false,
    };
    if is_plain {
        return;
    }
    let field = buffer.split_off(start);
    buffer.push(b'"');
    for byte in field {
        if byte == b'"' {
            buffer.push(b'"');
        }
        buffer.push(byte);
    }
    buffer.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_reader_could_mistake_is_quoted() {
        let quoted = |text: &str| {
            let mut buffer = text.as_bytes().to_vec();
            quote(&mut buffer, 0, b',');
            String::from_utf8(buffer).unwrap()
        };
        for plain in ["a", "a b", "µg/m³", "1.5", "it's"] {
            assert_eq!(quoted(plain), plain);
        }
        for (text, expected) in [("", "\"\""), ("a,b", "\"a,b\""), ("a\"b", "\"a\"\"b\""), ("NA", "\"NA\"")] {
            assert_eq!(quoted(text), expected);
        }
        for text in ["\\N", "#NULL!", "# a", "'a'"] {
            assert_eq!(quoted(text), format!("\"{text}\""));
        }
        let mut path = br"C:\temp".to_vec();
        quote(&mut path, 0, b'\t');
        assert_eq!((path.as_slice(), quoted(r"C:\temp").as_str()), (&br#""C:\temp""#[..], r"C:\temp"));
        assert_eq!((quoted(" a"), quoted("a\r\n")), ("\" a\"".to_owned(), "\"a\r\n\"".to_owned()));
    }
}
