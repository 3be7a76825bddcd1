//! Reading single rows by their locations, after another read has found them.
//!
//! The location of a row is the position of its chunk in the scan and the number of the row in the chunk, as
//! [`read_numbered`](Scan::read_numbered) returns it. A read of few columns finds the rows; a read of the
//! [other columns](Scan::with_columns) over the same chunks then completes only these rows.

use crate::read::scan::Scan;
use arrow::array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow::compute::{TakeOptions, interleave, take};
use atsdb_core::Result;

/// The requested columns of some rows of one chunk, in stored form.
#[derive(Debug)]
pub struct LocatedRows {
    columns: Vec<ArrayRef>,
    row_count: usize,
}

impl LocatedRows {
    /// The memory that the rows use, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.columns.iter().map(|column| column.get_array_memory_size()).sum()
    }
}

impl Scan {
    /// Reads rows of one chunk by their numbers in the chunk. The time range and the predicates are not applied again.
    pub fn read_located(&self, position: usize, numbers: &UInt32Array) -> Result<LocatedRows> {
        let stored = self.load(self.chunk(position)?, &self.requested_columns())?;
        let rows_of = |array: &ArrayRef| -> Result<ArrayRef> {
            let options = TakeOptions { check_bounds: true };
            Ok(take(array.as_ref(), numbers, Some(options))?)
        };
        let columns = stored.iter().map(rows_of).collect::<Result<Vec<_>>>()?;
        Ok(LocatedRows { columns, row_count: numbers.len() })
    }

    /// The rows of one chunk, in the order in which they were requested.
    pub fn rows_of_chunk(&self, rows: &LocatedRows) -> Result<RecordBatch> {
        self.to_returned(&rows.columns, rows.row_count)
    }

    /// Combines rows of several chunks in any order: for each row of the result, the position of its part, and its
    /// position in the part. There must be a part.
    pub fn combine_located(&self, parts: &[LocatedRows], rows: &[(usize, usize)]) -> Result<RecordBatch> {
        let combined = |at: usize| -> Result<ArrayRef> {
            let arrays: Vec<&dyn Array> = parts.iter().map(|part| part.columns[at].as_ref()).collect();
            Ok(interleave(&arrays, rows)?)
        };
        let stored = (0..self.schema().fields().len()).map(combined).collect::<Result<Vec<_>>>()?;
        self.to_returned(&stored, rows.len())
    }
}
