//! Rows that may be among the first of their partitions.

use datafusion::arrow::array::{BooleanArray, RecordBatch, UInt64Array};
use datafusion::arrow::buffer::BooleanBuffer;
use datafusion::arrow::compute::BatchCoalescer;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;

/// Rows that were among the first when they came, numbered from 0. Later ones may have replaced them.
#[derive(Debug)]
pub(super) struct HeldRows {
    rows: BatchCoalescer,
    batches: Vec<RecordBatch>,
    bytes: usize,
}

impl HeldRows {
    /// No rows yet. They are kept in batches of this many.
    pub(super) fn new(schema: SchemaRef, batch_rows: usize) -> Self {
        Self { rows: BatchCoalescer::new(schema, batch_rows), batches: Vec::new(), bytes: 0 }
    }

    /// Adds some rows of a batch.
    pub(super) fn push(&mut self, batch: RecordBatch, selected: Vec<usize>) -> Result<()> {
        let selected: UInt64Array = selected.into_iter().map(|row| row as u64).collect();
        self.rows.push_batch_with_indices(batch, &selected)?;
        self.complete();
        Ok(())
    }

    fn complete(&mut self) {
        while let Some(batch) = self.rows.next_completed_batch() {
            self.bytes += batch.get_array_memory_size();
            self.batches.push(batch);
        }
    }

    /// Drops all rows but those whose numbers are set, and numbers the others anew, in their order.
    pub(super) fn retain(&mut self, is_wanted: &BooleanBuffer) -> Result<()> {
        let batches = self.take()?;
        let mut start = 0;
        for batch in batches {
            let wanted = is_wanted.slice(start, batch.num_rows());
            start += batch.num_rows();
            self.rows.push_batch_with_filter(batch, &BooleanArray::new(wanted, None))?;
            self.complete();
        }
        Ok(())
    }

    /// All rows, none of which are held any more.
    pub(super) fn take(&mut self) -> Result<Vec<RecordBatch>> {
        self.rows.finish_buffered_batch()?;
        self.complete();
        self.bytes = 0;
        Ok(std::mem::take(&mut self.batches))
    }

    /// The size in memory, in bytes. The last rows, which are fewer than a batch, do not count.
    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{ArrayRef, AsArray, Int64Array};
    use datafusion::arrow::datatypes::Int64Type;
    use std::sync::Arc;

    #[test]
    fn rows_keep_their_order_and_get_new_numbers() {
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values(0..10));
        let batch = RecordBatch::try_from_iter([("v", column)]).unwrap();
        let mut held = HeldRows::new(batch.schema(), 4);
        held.push(batch.clone(), vec![1, 3, 5, 7, 9]).unwrap();
        held.push(batch, vec![0, 2]).unwrap();
        assert!(held.memory_bytes() > 0);
        held.retain(&BooleanBuffer::from(vec![true, false, true, true, false, true, true])).unwrap();
        held.retain(&BooleanBuffer::from(vec![true, true, true, false, true])).unwrap();
        let batches = held.take().unwrap();
        let rows: Vec<i64> =
            batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec()).collect();
        assert_eq!((rows, held.memory_bytes()), (vec![1, 5, 7, 2], 0));
        assert!(held.take().unwrap().is_empty());
    }
}
