//! The operator.

use super::first_keys::FirstKeys;
use super::order_keys::{NumberKey, is_number, number_keys};
use super::partitions::Partitions;
use datafusion::arrow::array::{ArrayRef, RecordBatch, UInt64Array};
use datafusion::arrow::compute::take_record_batch;
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::arrow::row::{RowConverter, SortField};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions};
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties};
use futures::StreamExt;
use std::fmt;
use std::sync::Arc;

/// Rows after which the operator decides whether it is of use. Of a hundred thousand partitions, the first few hundred
/// thousand rows pass anyway.
const TRIAL_ROWS: usize = 1 << 20;

/// The rows that are wanted: the first of each partition.
#[derive(Debug, Clone)]
pub(super) struct RankBound {
    pub(super) partition: Vec<Arc<dyn PhysicalExpr>>,
    pub(super) order: Vec<PhysicalSortExpr>,
    /// How many rows of each partition.
    pub(super) limit: usize,
    /// Whether all rows with the order keys of the last one are wanted.
    pub(super) keeps_ties: bool,
}

/// Drops rows that are not among the first of their partition. Each thread drops rows of its own; a row that passes may
/// still be superfluous.
#[derive(Debug, Clone)]
pub(crate) struct PartitionTopExec {
    input: Arc<dyn ExecutionPlan>,
    wanted: Arc<RankBound>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl PartitionTopExec {
    pub(super) fn new(input: Arc<dyn ExecutionPlan>, wanted: Arc<RankBound>) -> Self {
        let properties = PlanProperties::new(
            input.equivalence_properties().clone(),
            input.output_partitioning().clone(),
            EmissionType::Incremental,
            input.boundedness(),
        );
        Self { input, wanted, properties: Arc::new(properties), metrics: ExecutionPlanMetricsSet::new() }
    }

    /// The first order key.
    pub(crate) fn first_order_key(&self) -> &PhysicalSortExpr {
        &self.wanted.order[0]
    }
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

    fn select(&mut self, wanted: &RankBound, order: &[ArrayRef], partitions: &[usize]) -> Result<Vec<usize>> {
        match self {
            Self::ByNumber(first) => {
                let keys = number_keys(&order[0], wanted.order[0].options)?;
                Ok(first.select(partitions, |row, key| keys[row].cmp(key), |row| (keys[row], 0)))
            }
            Self::ByRow(converter, first) => {
                let rows = converter.convert_columns(order)?;
                let bytes = |row: usize| rows.row(row).data();
                let own = |row: usize| (Box::from(bytes(row)), bytes(row).len());
                Ok(first.select(partitions, |row, key| bytes(row).cmp(key), own))
            }
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
struct Part {
    wanted: Arc<RankBound>,
    /// `None` once it is given up: too few rows are dropped, or the memory is used up.
    state: Option<(Partitions, First)>,
    reservation: MemoryReservation,
    partitions: Vec<usize>,
    rows_read: usize,
    rows_passed: usize,
    rows_dropped: Count,
}

impl Part {
    fn filter(&mut self, batch: RecordBatch) -> Result<RecordBatch> {
        let Some((partitions, first)) = &mut self.state else { return Ok(batch) };
        let (by, order) = self.wanted.columns(&batch)?;
        self.partitions.clear();
        partitions.number(&by, &mut self.partitions)?;
        let selected = first.select(&self.wanted, &order, &self.partitions)?;
        self.rows_read += batch.num_rows();
        self.rows_passed += selected.len();
        self.rows_dropped.add(batch.num_rows() - selected.len());
        let is_of_use = self.rows_read < TRIAL_ROWS || self.rows_passed < self.rows_read / 8 * 7;
        let bytes = partitions.memory_bytes() + first.memory_bytes();
        if !is_of_use || self.reservation.try_resize(bytes).is_err() {
            self.state = None;
            self.reservation.free();
        }
        if selected.len() == batch.num_rows() {
            return Ok(batch);
        }
        let rows: UInt64Array = selected.into_iter().map(|row| row as u64).collect();
        Ok(take_record_batch(&batch, &rows)?)
    }
}

impl DisplayAs for PartitionTopExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RankBound { partition, order, limit, keeps_ties } = self.wanted.as_ref();
        let partition: Vec<String> = partition.iter().map(ToString::to_string).collect();
        let order: Vec<String> = order.iter().map(ToString::to_string).collect();
        let ties = if *keeps_ties { " with ties" } else { "" };
        write!(f, "PartitionTopExec: first {limit}{ties} of [{}] by [{}]", partition.join(", "), order.join(", "))
    }
}

impl ExecutionPlan for PartitionTopExec {
    fn name(&self) -> &str {
        "PartitionTopExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        for expr in self.wanted.partition.iter().chain(self.wanted.order.iter().map(|key| &key.expr)) {
            if visit(expr)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(input) = children.pop() else { return internal_err!("PartitionTopExec has one input") };
        Ok(Arc::new(Self::new(input, Arc::clone(&self.wanted))))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, Arc::clone(&context))?;
        let schema = input.schema();
        let types = self.wanted.partition.iter().map(|expr| expr.data_type(&schema)).collect::<Result<Vec<_>>>()?;
        let mut part = Part {
            wanted: Arc::clone(&self.wanted),
            state: Some((Partitions::new(&types)?, First::new(&self.wanted, &schema)?)),
            reservation: MemoryConsumer::new(self.name()).with_can_spill(true).register(context.memory_pool()),
            partitions: Vec::new(),
            rows_read: 0,
            rows_passed: 0,
            rows_dropped: MetricBuilder::new(&self.metrics).counter("rows_dropped", partition),
        };
        let batches = input.map(move |batch| part.filter(batch?));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}
