//! Counts rows, and finds where partitions and peers start.

use datafusion::arrow::array::{ArrayRef, RecordBatch, UInt64Array};
use datafusion::arrow::compute::kernels::cmp::distinct;
use datafusion::arrow::compute::partition;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::physical_expr::PhysicalExpr;
use std::sync::Arc;

/// A function whose value for a row depends on the rows before it and its peers only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankFunction {
    /// `row_number()`.
    RowNumber,
    /// `rank()`.
    Rank,
    /// `dense_rank()`.
    DenseRank,
}

/// The ranks of the rows of one stream, batch by batch.
pub(super) struct Counter {
    ranks: Vec<RankFunction>,
    schema: SchemaRef,
    partitions: Starts,
    /// Rows with equal order keys.
    peers: Starts,
    row_number: u64,
    rank: u64,
    dense_rank: u64,
}

impl Counter {
    /// Creates a counter before the first row. `schema` has the input's columns and one for each rank.
    pub(super) fn new(
        ranks: Vec<RankFunction>,
        schema: SchemaRef,
        partition: Vec<Arc<dyn PhysicalExpr>>,
        order: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Self {
        let (partitions, peers) = (Starts::new(partition), Starts::new(order));
        Self { ranks, schema, partitions, peers, row_number: 0, rank: 0, dense_rank: 0 }
    }

    /// The next batch, with the ranks of its rows.
    pub(super) fn with_ranks(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let partitions = self.partitions.of(batch)?;
        let needs_peers = self.ranks.iter().any(|rank| *rank != RankFunction::RowNumber);
        let peers = if needs_peers { self.peers.of(batch)? } else { Vec::new() };
        let mut counted: Vec<Vec<u64>> = self.ranks.iter().map(|_| Vec::with_capacity(batch.num_rows())).collect();
        for (row, is_new) in partitions.into_iter().enumerate() {
            if is_new {
                (self.row_number, self.dense_rank) = (0, 0);
            }
            self.row_number += 1;
            if needs_peers && (is_new || peers[row]) {
                self.rank = self.row_number;
                self.dense_rank += 1;
            }
            for (rank, counted) in self.ranks.iter().zip(&mut counted) {
                counted.push(match rank {
                    RankFunction::RowNumber => self.row_number,
                    RankFunction::Rank => self.rank,
                    RankFunction::DenseRank => self.dense_rank,
                });
            }
        }
        let counted = counted.into_iter().map(|ranks| Arc::new(UInt64Array::from(ranks)) as ArrayRef);
        let columns = batch.columns().iter().cloned().chain(counted).collect();
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }
}

/// Finds the rows whose values differ from those of the row before.
struct Starts {
    values: Vec<Arc<dyn PhysicalExpr>>,
    /// The values of the last row. `None` before the first.
    last: Option<Vec<ArrayRef>>,
}

impl Starts {
    fn new(values: Vec<Arc<dyn PhysicalExpr>>) -> Self {
        Self { values, last: None }
    }

    /// Returns for each row of a batch whether its values differ from those of the row before.
    fn of(&mut self, batch: &RecordBatch) -> Result<Vec<bool>> {
        let row_count = batch.num_rows();
        let mut starts = vec![false; row_count];
        if row_count == 0 {
            return Ok(starts);
        }
        let value = |expr: &Arc<dyn PhysicalExpr>| expr.evaluate(batch)?.into_array(row_count);
        let columns = self.values.iter().map(value).collect::<Result<Vec<_>>>()?;
        if !columns.is_empty() {
            partition(&columns)?.ranges().iter().for_each(|rows| starts[rows.start] = true);
        }
        starts[0] = match &self.last {
            None => true,
            Some(last) => {
                let mut differ = false;
                for (last, column) in last.iter().zip(&columns) {
                    differ |= distinct(last, &column.slice(0, 1))?.value(0);
                }
                differ
            }
        };
        self.last = Some(columns.iter().map(|column| column.slice(row_count - 1, 1)).collect());
        Ok(starts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{Float64Array, Int64Array, StringArray};
    use datafusion::arrow::compute::concat_batches;
    use datafusion::arrow::datatypes::{DataType, Field, Schema};
    use datafusion::physical_expr::expressions::Column;

    #[test]
    fn ranks_do_not_depend_on_where_batches_end() {
        let partition = StringArray::from(vec![Some("a"), Some("a"), Some("a"), Some("b"), Some("b"), None, None]);
        let order = Float64Array::from(vec![Some(0.0), Some(0.0), Some(1.0), Some(1.0), None, None, None]);
        let columns: [(&str, ArrayRef); 2] = [("partition", Arc::new(partition)), ("order", Arc::new(order))];
        let all = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap();
        let mut fields: Vec<Field> = all.schema().fields().iter().map(|field| field.as_ref().clone()).collect();
        fields.extend(["n", "r", "d"].map(|name| Field::new(name, DataType::UInt64, false)));
        let schema = Arc::new(Schema::new(fields));
        let column = |name: &str, index: usize| vec![Arc::new(Column::new(name, index)) as Arc<dyn PhysicalExpr>];
        for length in 1..=all.num_rows() {
            let ranks = vec![RankFunction::RowNumber, RankFunction::Rank, RankFunction::DenseRank];
            let (partition, order) = (column("partition", 0), column("order", 1));
            let mut counter = Counter::new(ranks, Arc::clone(&schema), partition, order);
            let starts = (0..all.num_rows()).step_by(length);
            let parts = starts.map(|start| all.slice(start, length.min(all.num_rows() - start)));
            let mut ranked = vec![counter.with_ranks(&all.slice(0, 0)).unwrap()];
            ranked.extend(parts.map(|part| counter.with_ranks(&part).unwrap()));
            let ranked = concat_batches(&schema, &ranked).unwrap();
            for (column, expected) in
                [(2, [1, 2, 3, 1, 2, 1, 2]), (3, [1, 1, 3, 1, 2, 1, 1]), (4, [1, 1, 2, 1, 2, 1, 1])]
            {
                assert_eq!(**ranked.column(column), UInt64Array::from(expected.to_vec()), "{length} rows a batch");
            }
        }
    }

    #[test]
    fn without_a_partition_all_rows_are_one_and_without_an_order_all_are_peers() {
        let rows = |count: i64| {
            let column: ArrayRef = Arc::new(Int64Array::from_iter_values(0..count));
            RecordBatch::try_from_iter([("v", column)]).unwrap()
        };
        let fields = [("v", DataType::Int64), ("n", DataType::UInt64), ("r", DataType::UInt64)];
        let schema = Arc::new(Schema::new(fields.map(|(name, of)| Field::new(name, of, false)).to_vec()));
        let mut counter =
            Counter::new(vec![RankFunction::RowNumber, RankFunction::Rank], schema, Vec::new(), Vec::new());
        for (batch, numbers) in [(rows(2), [1, 2]), (rows(2), [3, 4])] {
            let ranked = counter.with_ranks(&batch).unwrap();
            assert_eq!(**ranked.column(1), UInt64Array::from(numbers.to_vec()));
            assert_eq!(**ranked.column(2), UInt64Array::from(vec![1, 1]));
        }
    }
}
