//! Reading incoming rows in any format.

use super::binary_reader::BinaryReader;
use super::column::ColumnBuilder;
use super::text_reader::TextReader;
use crate::pg::error::PgError;
use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Field, Schema};
use atsdb::Column;
use atsdb::sql::{CopyFormat, CopyOptions};
use std::sync::Arc;

/// The maximum number of rows that are stored at a time. Two such batches fill a chunk.
const BATCH_ROWS: usize = 65_536;

/// The number of bytes that are stored at a time.
const BATCH_BYTES: usize = 16 << 20;

/// Reads the rows of a COPY piece by piece. A piece may end anywhere.
pub(in crate::pg) struct CopyReader {
    columns: Vec<ColumnBuilder>,
    format: FormatReader,
    row_count: usize,
    /// The bytes that came since the last batch, or that it did not read.
    byte_count: usize,
}

enum FormatReader {
    Text(Box<TextReader>),
    Binary(BinaryReader),
}

impl CopyReader {
    /// Reads rows with these columns. Errors name the relation that they are copied to.
    pub(in crate::pg) fn new(relation: &str, columns: &[Column], options: &CopyOptions) -> Self {
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let format = match options.format {
            CopyFormat::Text | CopyFormat::Csv => {
                FormatReader::Text(Box::new(TextReader::new(relation, &names, options)))
            }
            CopyFormat::Binary => FormatReader::Binary(BinaryReader::new(relation)),
        };
        Self { columns: columns.iter().map(ColumnBuilder::new).collect(), format, row_count: 0, byte_count: 0 }
    }

    /// Takes a piece, whose rows [`next_batch`](Self::next_batch) reads.
    pub(in crate::pg) fn push(&mut self, piece: &[u8]) {
        self.byte_count += piece.len();
        match &mut self.format {
            FormatReader::Text(reader) => reader.push(piece),
            FormatReader::Binary(reader) => reader.push(piece),
        }
    }

    /// Reads the rows that have come. Returns a batch when there are enough, and `None` when further pieces are needed.
    pub(in crate::pg) fn next_batch(&mut self) -> Result<Option<RecordBatch>, PgError> {
        let rows_max = BATCH_ROWS - self.row_count;
        self.row_count += match &mut self.format {
            FormatReader::Text(reader) => reader.read(&mut self.columns, rows_max)?,
            FormatReader::Binary(reader) => reader.read(&mut self.columns, rows_max)?,
        };
        if self.row_count < BATCH_ROWS && self.byte_count < BATCH_BYTES {
            return Ok(None);
        }
        self.batch()
    }

    /// Reads the remaining bytes, and returns the last batch.
    pub(in crate::pg) fn finish(mut self) -> Result<Option<RecordBatch>, PgError> {
        self.row_count += match &mut self.format {
            FormatReader::Text(reader) => reader.finish(&mut self.columns)?,
            FormatReader::Binary(reader) => reader.finish(&self.columns)?,
        };
        self.batch()
    }

    /// The bytes that it holds: of rows, and of those that are not read yet.
    pub(in crate::pg) fn byte_count(&self) -> usize {
        self.byte_count
    }

    /// The rows that are complete.
    pub(in crate::pg) fn batch(&mut self) -> Result<Option<RecordBatch>, PgError> {
        let row_count = std::mem::take(&mut self.row_count);
        self.byte_count = match &self.format {
            FormatReader::Text(reader) => reader.rest_bytes(),
            FormatReader::Binary(reader) => reader.rest_bytes(),
        };
        if row_count == 0 {
            return Ok(None);
        }
        let arrays: Vec<_> = self.columns.iter_mut().map(ColumnBuilder::finish).collect();
        let fields: Vec<Field> = self
            .columns
            .iter()
            .zip(&arrays)
            .map(|(column, array)| Field::new(&column.name, array.data_type().clone(), true))
            .collect();
        let options = RecordBatchOptions::new().with_row_count(Some(row_count));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
            .map(Some)
            .map_err(|error| PgError::error("XX000", error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::util::pretty::pretty_format_batches;
    use atsdb::sql::CopyStatement;
    use atsdb::{ColumnId, ColumnType, TimeUnit};

    fn columns() -> Vec<Column> {
        vec![
            Column::new(ColumnId(1), "time", ColumnType::Timestamp(TimeUnit::Millisecond)),
            Column::new(ColumnId(2), "name", ColumnType::Text),
            Column::new(ColumnId(3), "value", ColumnType::Int16),
        ]
    }

    /// Reads a text in pieces of this many bytes.
    fn read(options: &str, bytes: &[u8], piece: usize) -> Result<Vec<RecordBatch>, PgError> {
        let copy = CopyStatement::parse(&format!("COPY t FROM STDIN {options}")).unwrap();
        let mut reader = CopyReader::new("t", &columns(), &copy.options);
        let mut batches = Vec::new();
        for piece in bytes.chunks(piece) {
            reader.push(piece);
            while let Some(batch) = reader.next_batch()? {
                batches.push(batch);
            }
        }
        batches.extend(reader.finish()?);
        Ok(batches)
    }

    #[test]
    fn pieces_may_end_anywhere() {
        let text =
            "2024-01-01 00:00:00.5+00\ta\\tb\\\\\\n\\x41\\101\t-7\r\n\\N\t\\N\t\\N\r\n1970-01-01\t\t0\r\n\\.\r\n";
        let csv = "time,name,value\n2024-01-01T00:00:00.5Z,\"a\tb\\\nAA\",-7\n,,\n1970-01-01,\"\",0\n";
        let whole = pretty_format_batches(&read("", text.as_bytes(), 1 << 20).unwrap()).unwrap().to_string();
        for piece in 1..20 {
            let of_text = pretty_format_batches(&read("", text.as_bytes(), piece).unwrap()).unwrap().to_string();
            assert_eq!(of_text, whole);
            let of_csv = read("CSV HEADER", csv.as_bytes(), piece).unwrap();
            assert_eq!(pretty_format_batches(&of_csv).unwrap().to_string(), whole);
        }
    }

    #[test]
    fn a_batch_ends_at_the_same_row_whatever_the_length_of_the_pieces() {
        let row_count = 2 * BATCH_ROWS + 1;
        let text = "1970-01-01\ta\t1\n".repeat(row_count);
        let nulls = [[0_u8, 3].as_slice(), &[0xff; 12]].concat();
        let binary = [b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0".as_slice(), &nulls.repeat(row_count)].concat();
        for (options, bytes) in [("", text.as_bytes()), ("BINARY", binary.as_slice())] {
            for piece in [8_191, 1 << 20, bytes.len()] {
                let batches = read(options, bytes, piece).unwrap();
                let row_counts: Vec<usize> = batches.iter().map(RecordBatch::num_rows).collect();
                assert_eq!(row_counts, [BATCH_ROWS, BATCH_ROWS, 1], "pieces of {piece} bytes");
            }
        }
    }

    #[test]
    fn wrong_rows_say_where() {
        let detail = |options: &str, text: &str| {
            let error = read(options, text.as_bytes(), 5).unwrap_err();
            (error.code, error.context.unwrap_or_default().into_string())
        };
        let day = "2024-01-01";
        assert_eq!(
            detail("", &format!("{day}\ta\t1\n{day}\tb\tx\n")),
            ("22P02", "COPY t, line 2, column value: \"x\"".to_owned())
        );
        assert_eq!(detail("", &format!("{day}\ta\t70000\n")).0, "22003");
        assert_eq!(detail("", &format!("{day}\ta\n")).0, "22P04");
        assert_eq!(detail("", &format!("{day}\ta\t1\t2\n")).0, "22P04");
        assert_eq!(detail("CSV", &format!("{day},\"a,1\n")).0, "22P04");
        assert_eq!(read("", b"\xff\t\t\n", 9).unwrap_err().code, "22021");
        assert!(read("BINARY", b"PGCOPY\n", 3).is_err());
        assert!(read("BINARY", b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0\0\x03\x7f\xff\xff\xff", 3).is_err());
    }

    #[test]
    fn infinite_times_in_binary_are_refused() {
        let header = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0".as_slice();
        for (time, shown) in [(i64::MIN, "\"-infinity\""), (i64::MAX, "\"infinity\"")] {
            let time = [[0_u8, 3, 0, 0, 0, 8].as_slice(), &time.to_be_bytes()].concat();
            let nulls: &[u8] = &[0xff; 8];
            let error = read("BINARY", &[header, &time, nulls].concat(), 7).unwrap_err();
            assert!(error.code == "22003" && error.message.contains(shown), "{error:?}");
            assert_eq!(error.context.as_deref(), Some("COPY t, line 1, column time"));
        }
    }

    #[test]
    fn the_last_row_needs_no_line_end() {
        let batches = read("CSV", b"2024-01-01,a,1", 4).unwrap();
        assert_eq!(batches[0].num_rows(), 1);
        assert!(read("", b"", 1).unwrap().is_empty());
    }
}
