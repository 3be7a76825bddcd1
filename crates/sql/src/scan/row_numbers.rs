//! Row locations: two columns that a table has only as the target of a change, and a scan only if other columns of its
//! rows are read later.

use atsdb_core::{Result, Table};
use atsdb_engine::Scan;
use datafusion::arrow::array::{ArrayRef, RecordBatch, UInt32Array};
use datafusion::arrow::datatypes::{DataType, Field};
use std::sync::Arc;

/// The schema in which tables have the columns for locations. No statement can contain these names.
pub(crate) const TARGET_SCHEMA: &str = "\u{1}target";

/// The name of a table in this schema.
pub(crate) fn number_of(table: &Table) -> String {
    table.id.0.to_string()
}

/// The position of a row's chunk in the scan.
pub(crate) const CHUNK: &str = "\u{1}chunk";
/// The number of a row in its chunk.
pub(crate) const ROW: &str = "\u{1}row";

/// The positions of the two columns in a scan's schema.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RowNumbers {
    chunk: Option<usize>,
    row: Option<usize>,
}

impl RowNumbers {
    /// The columns, as they follow those of a table.
    pub(crate) fn fields() -> [Field; 2] {
        [Field::new(CHUNK, DataType::UInt32, false), Field::new(ROW, DataType::UInt32, false)]
    }

    /// The two columns after `column_count` others.
    pub(crate) fn after(column_count: usize) -> Self {
        Self { chunk: Some(column_count), row: Some(column_count + 1) }
    }

    /// Removes the two columns from a projection of a table with `column_count` columns.
    pub(crate) fn take(projection: &mut Vec<usize>, column_count: usize) -> Self {
        let at = |wanted: usize| projection.iter().position(|position| *position == wanted);
        let numbers = Self { chunk: at(column_count), row: at(column_count + 1) };
        projection.retain(|position| *position < column_count);
        numbers
    }

    /// The positions in the schema of the table's columns, which leave out the two columns.
    pub(crate) fn spread(self, columns: &[usize]) -> Vec<usize> {
        let mut spread = columns.to_vec();
        self.places().for_each(|place| spread.insert(place.min(spread.len()), usize::MAX));
        spread
    }

    /// The rows of a chunk that may match, with the two columns if they are requested.
    pub(crate) fn read(self, scan: &Scan, position: usize) -> Result<Option<(Vec<ArrayRef>, usize)>> {
        let Some((rows, numbers)) = scan.read_numbered(position)? else { return Ok(None) };
        let row_count = rows.num_rows();
        let chunk: ArrayRef = Arc::new(UInt32Array::from_value(position as u32, row_count));
        let numbers: ArrayRef = Arc::new(numbers);
        let mut arrays = RecordBatch::columns(&rows).to_vec();
        for place in self.places() {
            let array = if Some(place) == self.chunk { &chunk } else { &numbers };
            arrays.insert(place.min(arrays.len()), Arc::clone(array));
        }
        Ok(Some((arrays, row_count)))
    }

    /// The positions of the two columns in ascending order.
    fn places(self) -> impl Iterator<Item = usize> {
        let (chunk, row) = (self.chunk, self.row);
        let swapped = chunk > row;
        let places = if swapped { [row, chunk] } else { [chunk, row] };
        places.into_iter().flatten()
    }
}
