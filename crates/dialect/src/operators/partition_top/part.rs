//! The work of one thread: it holds the first rows of each partition.

use super::first_keys::FirstKeys;
use super::held_rows::HeldRows;
use super::order_keys::{NumberKey, is_number, number_keys};
use super::partitions::Partitions;
use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::buffer::BooleanBuffer;
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::arrow::row::{RowConverter, SortField};
use datafusion::common::Result;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::metrics::Count;
use futures::{Stream, StreamExt, stream};
use std::sync::Arc;

/// Rows after which a part decides whether it is of use. Of a hundred thousand partitions, the first few hundred
/// thousand rows pass anyway.
const TRIAL_ROWS: usize = 1 << 20;

/// Rows that may be superfluous before they are looked through for those that are.
const SUPERFLUOUS_ROWS: usize = 1 << 17;

/// The rows that are wanted: the first of each partition.
#[derive(Debug, Clone)]
pub(super) struct RankBound {
    pub(super) partition: Vec<Arc<dyn PhysicalExpr>>,
    pub(super) order: Vec<PhysicalSortExpr>,
    /// The number of rows of each partition.
    pub(super) limit: usize,
    /// Whether all rows with the order keys of the last one are wanted.
    pub(super) keeps_ties: bool,
}

impl RankBound {
    fn columns(&self, batch: &RecordBatch) -> Result<(Vec<ArrayRef>, Vec<ArrayRef>)> {
        let column = |expr: &Arc<dyn PhysicalExpr>| expr.evaluate(batch)?.into_array(batch.num_rows());
        let partition = self.partition.iter().map(column).collect::<Result<_>>()?;
        let order = self.order.iter().map(|key| column(&key.expr)).collect::<Result<_>>()?;
        Ok((partition, order))
    }
}

/// The first rows of each partition, by order keys of one of two kinds.
enum First {
    ByNumber(FirstKeys<NumberKey>),
    ByRow(RowConverter, FirstKeys<Box<[u8]>>),
}

impl First {
    fn new(wanted: &RankBound, schema: &SchemaRef) -> Result<Self> {
        let types = wanted.order.iter().map(|key| key.expr.data_type(schema)).collect::<Result<Vec<DataType>>>()?;
        let (limit, keeps_ties) = (wanted.limit, wanted.keeps_ties);
        if let [data_type] = types.as_slice()
            && is_number(data_type)
        {
            return Ok(Self::ByNumber(FirstKeys::new(limit, keeps_ties)));
        }
        let field =
            |(key, data_type): (&PhysicalSortExpr, DataType)| SortField::new_with_options(data_type, key.options);
        let converter = RowConverter::new(wanted.order.iter().zip(types).map(field).collect())?;
        Ok(Self::ByRow(converter, FirstKeys::new(limit, keeps_ties)))
    }

    fn admit(&mut self, wanted: &RankBound, order: &[ArrayRef], partitions: &[usize]) -> Result<Vec<usize>> {
        match self {
            Self::ByNumber(first) => {
                let keys = number_keys(&order[0], wanted.order[0].options)?;
                Ok(first.admit(partitions, |row, key| keys[row].cmp(key), |row| (keys[row], 0)))
            }
            Self::ByRow(converter, first) => {
                let rows = converter.convert_columns(order)?;
                let bytes = |row: usize| rows.row(row).data();
                let own = |row: usize| (Box::from(bytes(row)), bytes(row).len());
                Ok(first.admit(partitions, |row, key| bytes(row).cmp(key), own))
            }
        }
    }

    fn key_count(&self) -> usize {
        match self {
            Self::ByNumber(first) => first.key_count(),
            Self::ByRow(_, first) => first.key_count(),
        }
    }

    fn renumber(&mut self) -> BooleanBuffer {
        match self {
            Self::ByNumber(first) => first.renumber(),
            Self::ByRow(_, first) => first.renumber(),
        }
    }

    fn memory_bytes(&self) -> usize {
        match self {
            Self::ByNumber(first) => first.memory_bytes(),
            Self::ByRow(converter, first) => converter.size() + first.memory_bytes(),
        }
    }
}

/// The work of one thread.
pub(super) struct ThreadFilter {
    wanted: Arc<RankBound>,
    numbers: Partitions,
    first: First,
    held: HeldRows,
    held_count: usize,
    reservation: MemoryReservation,
    /// The partitions of the rows of a batch.
    partitions: Vec<usize>,
    rows_read: usize,
    rows_admitted: usize,
    rows_dropped: Count,
}

impl ThreadFilter {
    pub(super) fn new(
        wanted: &Arc<RankBound>,
        schema: &SchemaRef,
        batch_rows: usize,
        reservation: MemoryReservation,
        rows_dropped: Count,
    ) -> Result<Self> {
        let types = wanted.partition.iter().map(|expr| expr.data_type(schema)).collect::<Result<Vec<_>>>()?;
        Ok(Self {
            wanted: Arc::clone(wanted),
            numbers: Partitions::new(&types)?,
            first: First::new(wanted, schema)?,
            held: HeldRows::new(Arc::clone(schema), batch_rows),
            held_count: 0,
            reservation,
            partitions: Vec::new(),
            rows_read: 0,
            rows_admitted: 0,
            rows_dropped,
        })
    }

    /// Takes the rows of a batch that are among the first so far. Returns whether that is of use: false if too few rows
    /// are dropped, or if the memory does not suffice.
    fn hold(&mut self, batch: RecordBatch) -> Result<bool> {
        let (by, order) = self.wanted.columns(&batch)?;
        self.partitions.clear();
        self.numbers.number(&by, &mut self.partitions)?;
        let admitted = self.first.admit(&self.wanted, &order, &self.partitions)?;
        self.rows_read += batch.num_rows();
        self.rows_admitted += admitted.len();
        self.held_count += admitted.len();
        self.held.push(batch, admitted)?;
        if self.held_count > 2 * self.first.key_count() + SUPERFLUOUS_ROWS {
            self.drop_superfluous()?;
        }
        let is_of_use = self.rows_read < TRIAL_ROWS || self.rows_admitted < self.rows_read / 8 * 7;
        Ok(is_of_use && self.reserve())
    }

    fn reserve(&self) -> bool {
        let bytes = self.numbers.memory_bytes() + self.first.memory_bytes() + self.held.memory_bytes();
        self.reservation.try_resize(bytes).is_ok()
    }

    /// Drops the rows that others have replaced.
    fn drop_superfluous(&mut self) -> Result<()> {
        self.held.retain(&self.first.renumber())?;
        self.held_count = self.first.key_count();
        Ok(())
    }

    /// The first rows, in the order in which they came. The reservation is for them alone.
    fn finish(mut self) -> Result<(Vec<RecordBatch>, MemoryReservation)> {
        self.drop_superfluous()?;
        self.rows_dropped.add(self.rows_read - self.held_count);
        let bytes = self.held.memory_bytes();
        self.reservation.shrink(self.reservation.size().saturating_sub(bytes));
        Ok((self.held.take()?, self.reservation))
    }
}

/// The first rows of the input, and all rows after those with which the part has given up.
pub(super) async fn first_rows(
    mut part: ThreadFilter,
    mut input: SendableRecordBatchStream,
) -> Result<impl Stream<Item = Result<RecordBatch>>> {
    while let Some(batch) = input.next().await {
        if !part.hold(batch?)? {
            break;
        }
    }
    let (batches, reservation) = part.finish()?;
    let held = batches.into_iter().map(move |batch| {
        let _reserved = &reservation;
        Ok(batch)
    });
    Ok(stream::iter(held).chain(input))
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::Int64Array;
    use datafusion::arrow::compute::SortOptions;
    use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryConsumer, MemoryPool, UnboundedMemoryPool};
    use datafusion::physical_expr::expressions::Column;
    use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
    use futures::TryStreamExt;
    use futures::executor::block_on;

    /// The number of batches of the trial.
    const TRIAL_BATCHES: usize = 8;
    const BATCH_ROWS: usize = TRIAL_ROWS / TRIAL_BATCHES;

    /// Rows of one partition. Of each eight, this many have the key 1, and the others the key 0.
    fn batch(later: usize) -> RecordBatch {
        let partition: ArrayRef = Arc::new(Int64Array::from(vec![0; BATCH_ROWS]));
        let key = |row: usize| i64::from(row % 8 < later);
        let keys: ArrayRef = Arc::new(Int64Array::from_iter_values((0..BATCH_ROWS).map(key)));
        RecordBatch::try_from_iter([("partition", partition), ("key", keys)]).unwrap()
    }

    /// The work of a thread that wants the rows with the first key of each partition.
    fn part(pool: Arc<dyn MemoryPool>) -> ThreadFilter {
        let column = |name: &str, index: usize| Arc::new(Column::new(name, index)) as Arc<dyn PhysicalExpr>;
        let order = PhysicalSortExpr { expr: column("key", 1), options: SortOptions::default() };
        let wanted =
            RankBound { partition: vec![column("partition", 0)], order: vec![order], limit: 1, keeps_ties: true };
        let reservation = MemoryConsumer::new("test").register(&pool);
        ThreadFilter::new(&Arc::new(wanted), &batch(0).schema(), 8_192, reservation, Count::new()).unwrap()
    }

    fn row_count(batches: &[RecordBatch]) -> usize {
        batches.iter().map(RecordBatch::num_rows).sum()
    }

    #[test]
    fn an_operator_that_drops_few_rows_gives_up_after_the_trial() {
        for (later, is_kept) in [(0, false), (1, false), (2, true), (7, true)] {
            let (mut part, batch) = (part(Arc::new(UnboundedMemoryPool::default())), batch(later));
            for number in 1..=TRIAL_BATCHES {
                let goes_on = part.hold(batch.clone()).unwrap();
                assert_eq!(goes_on, is_kept || number < TRIAL_BATCHES, "{later} of 8 rows, batch {number}");
            }
            let rows_dropped = part.rows_dropped.clone();
            let (batches, reservation) = part.finish().unwrap();
            let first_rows = BATCH_ROWS / 8 * (8 - later) * TRIAL_BATCHES;
            assert_eq!((row_count(&batches), rows_dropped.value()), (first_rows, TRIAL_ROWS - first_rows));
            assert!(reservation.size() > 0 && reservation.size() < 32 * first_rows, "{}", reservation.size());
        }
    }

    #[test]
    fn after_the_operator_has_given_up_all_rows_pass() {
        let (part, batch) = (part(Arc::new(GreedyMemoryPool::new(1))), batch(4));
        let input = stream::iter([0; 3].map(|_| Ok(batch.clone())));
        let input = Box::pin(RecordBatchStreamAdapter::new(batch.schema(), input));
        let rows = async { first_rows(part, input).await?.try_collect::<Vec<RecordBatch>>().await };
        let batches = block_on(rows).unwrap();
        assert_eq!(row_count(&batches), BATCH_ROWS / 2 + 2 * BATCH_ROWS);
    }
}
