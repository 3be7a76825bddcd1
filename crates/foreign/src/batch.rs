//! Rows, as they arrive, until they are enough for a batch.

use crate::column::{OutOfRange, append};
use crate::table::{Arrays, ForeignColumn};
use crate::value::{Elements, Value};
use atsdb_codec::ColumnValues;
use atsdb_core::{Error, Result};

/// The maximum number of rows of a batch.
const ROWS_MAX: usize = 16_384;
/// The size in bytes at which a batch is complete, too.
const BYTES_MAX: usize = 8 << 20;
/// The size in bytes of any value, besides that of a text or of bytes.
const VALUE_BYTES: usize = 16;

/// Collects values row by row, from the first column to the last.
#[derive(Debug)]
pub struct BatchBuilder {
    table: String,
    columns: Vec<(ForeignColumn, ColumnValues)>,
    /// The column of the next value.
    position: usize,
    row_count: usize,
    byte_count: usize,
    /// The rows of earlier batches.
    rows_before: u64,
}

impl BatchBuilder {
    /// A builder for a table's rows.
    pub(crate) fn new(table: &str, columns: &[ForeignColumn]) -> Self {
        let values = |column: &ForeignColumn| (column.clone(), ColumnValues::new(column.column_type));
        let columns = columns.iter().map(values).collect();
        Self { table: table.to_owned(), columns, position: 0, row_count: 0, byte_count: 0, rows_before: 0 }
    }

    /// Appends the next value. A value that the column's type has not, or that could not be read (`Err` says why), is
    /// an error that names the row and the column.
    pub fn append(&mut self, value: Result<Value<'_>, String>) -> Result<()> {
        let value = value.map_err(|why| self.refusal(&why))?;
        let (column, values) = &mut self.columns[self.position];
        if append(values, column.column_type, value).is_err() {
            return Err(self.refusal(&out_of_range(value)));
        }
        self.byte_count += value_bytes(value);
        self.end_value();
        Ok(())
    }

    /// Appends an array as the next value. Errors are those of [`append`](Self::append).
    pub fn append_array(&mut self, elements: &mut dyn Elements) -> Result<()> {
        let mut byte_count = VALUE_BYTES;
        let ColumnValues::Array(arrays) = &mut self.columns[self.position].1 else {
            return Err(self.refusal("the value is an array"));
        };
        let count = elements.count();
        let appended = arrays.append(count, |element_type, values| {
            for _ in 0..count {
                let value = elements.next_element()?;
                append(values, element_type, value).map_err(|OutOfRange| out_of_range(value))?;
                byte_count += value_bytes(value);
            }
            Ok(())
        });
        appended.map_err(|why: String| self.refusal(&why))?;
        self.byte_count += byte_count;
        self.end_value();
        Ok(())
    }

    fn end_value(&mut self) {
        self.position += 1;
        if self.position == self.columns.len() {
            self.position = 0;
            self.row_count += 1;
        }
    }

    /// The error for the next value.
    fn refusal(&self, why: &str) -> Error {
        let (column, row) = (&self.columns[self.position].0, self.rows_before + self.row_count as u64 + 1);
        Error::invalid(format!("{}, row {row}, column {}: {why}", self.table, column.name)).with_hint(format!(
            "import a view instead that lacks such rows, or has NULL in their place; the column is read as {}",
            column.column_type.sql_name()
        ))
    }

    /// Returns whether there are no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.row_count == 0
    }

    /// Returns whether there are enough rows for a batch.
    pub(crate) fn is_full(&self) -> bool {
        self.row_count >= ROWS_MAX || self.byte_count >= BYTES_MAX
    }

    /// Takes the rows.
    pub(crate) fn finish(&mut self) -> Arrays {
        self.rows_before += self.row_count as u64;
        (self.row_count, self.byte_count) = (0, 0);
        self.columns.iter_mut().map(|(_, values)| values.finish()).collect()
    }
}

/// The size of a value in a batch.
fn value_bytes(value: Value<'_>) -> usize {
    let bytes = match value {
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    };
    VALUE_BYTES + bytes
}

fn out_of_range(value: Value<'_>) -> String {
    format!("the value {} is out of range", shown(value))
}

fn shown(value: Value<'_>) -> String {
    match value {
        Value::Int(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Bool(value) => value.to_string(),
        Value::Text(text) => format!("{text:.40}"),
        Value::Null => "NULL".to_owned(),
        Value::Bytes(_) => "of bytes".to_owned(),
        Value::Interval(_) => "of an interval".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Array, AsArray};
    use arrow::datatypes::{DataType, Int32Type};
    use atsdb_core::ColumnType;

    fn builder(types: &[ColumnType]) -> BatchBuilder {
        let column = |(number, column_type): (usize, &ColumnType)| ForeignColumn {
            name: format!("c{number}"),
            column_type: *column_type,
            remark: None,
        };
        BatchBuilder::new("t", &types.iter().enumerate().map(column).collect::<Vec<_>>())
    }

    #[test]
    fn values_out_of_range_are_refused_with_row_and_column() {
        let decimal = ColumnType::Decimal { precision: 3, scale: 1 };
        for (column_type, good, bad) in [
            (ColumnType::UInt8, 255, 256),
            (ColumnType::Int64, i128::from(i64::MIN), i128::from(i64::MAX) + 1),
            (ColumnType::Time, 86_399_999_999, 86_400_000_000),
            (decimal, -999, 1_000),
        ] {
            let mut rows = builder(&[ColumnType::Text, column_type]);
            for value in [Value::Text("x"), Value::Int(good), Value::Null, Value::Null, Value::Null] {
                rows.append(Ok(value)).unwrap();
            }
            let error = rows.append(Ok(Value::Int(bad))).unwrap_err().to_string();
            assert!(error.contains(&format!("t, row 3, column c1: the value {bad} is out of range")), "{error}");
        }
        let error = builder(&[ColumnType::Date]).append(Err("infinity is not a date".to_owned())).unwrap_err();
        assert!(error.message().contains("t, row 1, column c0: infinity is not a date"), "{error}");
    }

    struct Numbers(Vec<i128>);

    impl Elements for Numbers {
        fn count(&self) -> usize {
            self.0.len()
        }

        fn next_element(&mut self) -> Result<Value<'_>, String> {
            Ok(Value::Int(self.0.remove(0)))
        }
    }

    #[test]
    fn arrays_have_their_elements() {
        let mut rows = builder(&[ColumnType::array(ColumnType::Int32).unwrap()]);
        rows.append_array(&mut Numbers(vec![1, -2])).unwrap();
        rows.append(Ok(Value::Null)).unwrap();
        rows.append_array(&mut Numbers(Vec::new())).unwrap();
        let error = rows.append_array(&mut Numbers(vec![3, 1 << 40])).unwrap_err().to_string();
        assert!(error.contains("t, row 4, column c0: the value 1099511627776 is out of range"), "{error}");
        let mut rows = builder(&[ColumnType::array(ColumnType::Int32).unwrap(), ColumnType::Text]);
        rows.append_array(&mut Numbers(vec![1, -2])).unwrap();
        assert!(rows.append_array(&mut Numbers(Vec::new())).unwrap_err().to_string().contains("is an array"));
        rows.append(Ok(Value::Text("x"))).unwrap();
        let arrays = rows.finish();
        assert_eq!(arrays[0].as_list::<i32>().value(0).as_primitive::<Int32Type>().values(), &[1, -2]);
    }

    #[test]
    fn a_batch_is_bounded_by_rows_and_bytes() {
        let mut rows = builder(&[ColumnType::Int8]);
        let mut count = 0;
        while !rows.is_full() {
            rows.append(Ok(Value::Null)).unwrap();
            count += 1;
        }
        assert_eq!((count, rows.finish()[0].len(), rows.is_empty()), (ROWS_MAX, ROWS_MAX, true));
        let mut rows = builder(&[ColumnType::Text]);
        rows.append(Ok(Value::Text(&"x".repeat(BYTES_MAX)))).unwrap();
        assert!(rows.is_full());
        assert_eq!(rows.finish()[0].data_type(), &DataType::Utf8);
        assert!(!rows.is_full());
    }
}
