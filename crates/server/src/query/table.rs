//! The format `table`: a line with the columns and their types, a line with an array for each row, and a last line with
//! the outcome. So a client knows the types even without rows, gets rows as they are computed, and can distinguish the
//! end from a broken connection.
//!
//! ```text
//! {"columns":[{"name":"time","type":"TIMESTAMP"},{"name":"value","type":"DOUBLE"}]}
//! ["2024-03-01T08:00:00Z",20.5]
//! {"rows":1}
//! ```
//! Integers and decimals of more than 15 digits are sent as text, because a program that reads JSON numbers as floats
//! would change them.

use super::error::described;
use atsdb::arrow::array::RecordBatch;
use atsdb::arrow::datatypes::{DataType, SchemaRef};
use atsdb::{Error, Result};
use atsdb_export::value::Cells;
use atsdb_export::{ResultWriter, write_error};
use serde_json::json;
use std::io::Write;

const BUFFER_BYTES: usize = 64 << 10;

/// All integers with up to this many digits are exact as floats.
const SAFE_DIGITS: usize = 15;

/// Writes rows as arrays, after the columns.
#[derive(Debug)]
pub(crate) struct TableWriter<W> {
    out: W,
    buffer: Vec<u8>,
    row_count: u64,
}

impl<W: Write> TableWriter<W> {
    /// Begins a result with its columns.
    pub(crate) fn new(schema: &SchemaRef, out: W) -> Result<Self> {
        let columns = schema.fields().iter();
        let columns: Vec<_> =
            columns.map(|field| json!({ "name": field.name(), "type": type_name(field.data_type()) })).collect();
        let mut writer = Self { out, buffer: Vec::new(), row_count: 0 };
        writer.put(format!("{}\n", json!({ "columns": columns })).as_bytes())?;
        Ok(writer)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes).map_err(|error| write_error("the answer", error))
    }

    fn put_rows(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.buffer);
        self.put(&rows)?;
        // The buffer is reused.
        self.buffer = rows;
        self.buffer.clear();
        Ok(())
    }
}

/// The last line of a result that ends with an error.
pub(crate) fn error_line(error: &Error) -> Vec<u8> {
    format!("{}\n", json!({ "error": described(error) })).into_bytes()
}

impl<W: Write> ResultWriter for TableWriter<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let columns = batch.columns().iter();
        let columns = columns
            .map(|column| Ok((Cells::new(column)?, may_be_wide(column.data_type()))))
            .collect::<Result<Vec<_>>>()?;
        for row in 0..batch.num_rows() {
            self.buffer.push(b'[');
            for (position, (cells, may_be_wide)) in columns.iter().enumerate() {
                if position > 0 {
                    self.buffer.push(b',');
                }
                let start = self.buffer.len();
                cells.write_json(row, &mut self.buffer);
                if *may_be_wide && !cells.is_null(row) && self.buffer.len() - start > SAFE_DIGITS {
                    self.buffer.insert(start, b'"');
                    self.buffer.push(b'"');
                }
            }
            self.buffer.extend_from_slice(b"]\n");
            if self.buffer.len() >= BUFFER_BYTES {
                self.put_rows()?;
            }
        }
        self.put_rows()?;
        self.row_count += batch.num_rows() as u64;
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        self.put(format!("{}\n", json!({ "rows": self.row_count })).as_bytes())
    }
}

/// Returns whether values may have more digits than a float.
fn may_be_wide(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Int64 | DataType::UInt64) || data_type.is_decimal()
}

/// The name of a type in SQL, without its parameters.
fn type_name(data_type: &DataType) -> &'static str {
    use DataType as T;
    match data_type {
        T::Null => "NULL",
        T::Boolean => "BOOLEAN",
        T::Int8 => "TINYINT",
        T::Int16 => "SMALLINT",
        T::Int32 => "INT",
        T::Int64 => "BIGINT",
        T::UInt8 => "TINYINT UNSIGNED",
        T::UInt16 => "SMALLINT UNSIGNED",
        T::UInt32 => "INT UNSIGNED",
        T::UInt64 => "BIGINT UNSIGNED",
        T::Float16 | T::Float32 => "REAL",
        T::Float64 => "DOUBLE",
        T::Timestamp(..) => "TIMESTAMP",
        T::Date32 | T::Date64 => "DATE",
        T::Time32(_) | T::Time64(_) => "TIME",
        T::Interval(_) | T::Duration(_) => "INTERVAL",
        T::Utf8 | T::LargeUtf8 | T::Utf8View => "TEXT",
        T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_) => "BLOB",
        T::Dictionary(_, values) => type_name(values),
        T::List(_) | T::LargeList(_) | T::FixedSizeList(..) | T::ListView(_) | T::LargeListView(_) => "LIST",
        decimal if decimal.is_decimal() => "DECIMAL",
        _ => "STRUCT",
    }
}
