//! The rows of a table, as its server sends them.

use crate::batch::BatchBuilder;
use crate::table::{Arrays, ForeignColumn};
use atsdb_core::Result;

/// Reads the rows of a table, one after the other.
pub trait RowReader {
    /// Appends the values of the next row; returns `false` if there are no more rows.
    fn read_row(&mut self, batch: &mut BatchBuilder) -> Result<bool>;
}

/// The rows of a table in batches. The reader is dropped with the last row, and after an error.
#[derive(Debug)]
pub struct RowBatches<R> {
    reader: Option<R>,
    builder: BatchBuilder,
}

impl<R: RowReader> RowBatches<R> {
    /// The rows that a reader returns. `table` is for messages.
    pub fn new(table: &str, columns: &[ForeignColumn], reader: R) -> Self {
        Self { reader: Some(reader), builder: BatchBuilder::new(table, columns) }
    }

    fn batch(&mut self) -> Result<Option<Arrays>> {
        let Some(mut reader) = self.reader.take() else { return Ok(None) };
        while !self.builder.is_full() {
            if !reader.read_row(&mut self.builder)? {
                let is_empty = self.builder.is_empty();
                return Ok(Some(self.builder.finish()).filter(|_| !is_empty));
            }
        }
        self.reader = Some(reader);
        Ok(Some(self.builder.finish()))
    }
}

impl<R: RowReader> Iterator for RowBatches<R> {
    type Item = Result<Arrays>;

    fn next(&mut self) -> Option<Self::Item> {
        self.batch().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;
    use arrow::array::Array;
    use atsdb_core::ColumnType;

    /// Rows with the numbers below this one, downwards.
    struct Countdown(i128);

    impl RowReader for Countdown {
        fn read_row(&mut self, batch: &mut BatchBuilder) -> Result<bool> {
            if self.0 == 0 {
                return Ok(false);
            }
            self.0 -= 1;
            batch.append(Ok(Value::Int(self.0))).map(|()| true)
        }
    }

    fn batches(column_type: ColumnType, count: i128) -> Vec<Result<usize>> {
        let column = ForeignColumn { name: "c".to_owned(), column_type, remark: None };
        let batches = RowBatches::new("t", &[column], Countdown(count));
        batches.map(|batch| batch.map(|arrays| arrays[0].len())).collect()
    }

    #[test]
    fn the_last_batch_has_the_rows_that_are_left() {
        let counts = |count| batches(ColumnType::Int64, count).into_iter().map(Result::unwrap).collect::<Vec<_>>();
        assert_eq!(counts(20_000), [16_384, 3_616]);
        assert_eq!(counts(16_384), [16_384]);
        assert!(counts(0).is_empty());
    }

    #[test]
    fn after_an_error_there_are_no_rows() {
        let found = batches(ColumnType::Int8, 129);
        assert!(matches!(found.as_slice(), [Err(_)]), "{found:?}");
    }
}
