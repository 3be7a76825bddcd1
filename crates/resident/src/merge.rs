//! Merges the versions of rows that have the same key: each column gets the newest value that is not NULL.

use arrow::array::{Array, ArrayRef};
use arrow::compute::interleave;
use atsdb_core::{Error, Result};

/// The versions of some rows, each a batch and a row in it; the versions of a row are adjacent, the newest first.
#[derive(Debug, Clone, Default)]
pub struct RowVersions {
    versions: Vec<(usize, usize)>,
    /// The end of each row's versions.
    ends: Vec<usize>,
}

impl RowVersions {
    /// Adds a row with its versions, the newest first. There is at least one.
    pub fn push(&mut self, versions: impl IntoIterator<Item = (usize, usize)>) {
        self.versions.extend(versions);
        self.ends.push(self.versions.len());
    }

    /// The number of rows.
    pub fn row_count(&self) -> usize {
        self.ends.len()
    }

    /// Returns the merged rows. `batches` have the columns of the result, in its order.
    pub fn merge(&self, batches: &[Vec<ArrayRef>]) -> Result<Vec<ArrayRef>> {
        let column_count = batches.first().map_or(0, Vec::len);
        (0..column_count).map(|column| self.merge_column(batches, column)).collect()
    }

    fn merge_column(&self, batches: &[Vec<ArrayRef>], column: usize) -> Result<ArrayRef> {
        let arrays: Vec<&dyn Array> = batches.iter().map(|columns| columns[column].as_ref()).collect();
        let mut start = 0;
        let newest = |end: &usize| {
            let versions = &self.versions[start..*end];
            start = *end;
            let mut values = versions.iter().filter(|(batch, row)| !arrays[*batch].is_null(*row));
            *values.next().unwrap_or(&versions[0])
        };
        let sources: Vec<(usize, usize)> = self.ends.iter().map(newest).collect();
        interleave(&arrays, &sources).map_err(Error::from)
    }
}

#[cfg(test)]
mod tests {
    use super::RowVersions;
    use arrow::array::{ArrayRef, Int64Array, StringArray};
    use std::sync::Arc;

    #[test]
    fn each_column_gets_its_newest_value() {
        let batch = |a: [Option<i64>; 2], b: [Option<&str>; 2]| -> Vec<ArrayRef> {
            vec![Arc::new(Int64Array::from(a.to_vec())), Arc::new(StringArray::from(b.to_vec()))]
        };
        let old = batch([Some(1), None], [Some("old"), None]);
        let new = batch([None, Some(2)], [Some("new"), None]);
        let mut versions = RowVersions::default();
        versions.push([(1, 0), (0, 0)]);
        versions.push([(1, 1), (0, 1)]);
        assert_eq!(versions.merge(&[old, new]).unwrap(), batch([Some(1), Some(2)], [Some("new"), None]));
    }
}
