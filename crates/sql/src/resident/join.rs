//! The operator that joins rows with those of a table in memory by looking them up in an index, so that no hash table
//! is built.

use super::scan::{ResidentScan, piece};
use atsdb_dialect::operators::plan_methods::{only_input, plan_methods};
use atsdb_dialect::text::datafusion_errors::external;
use atsdb_resident::{RowKeys, TableMatches};
use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array, new_null_array};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{JoinType, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, ReplaceChildrenOptions};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning, PlanProperties,
    apply_expression_roots,
};
use futures::{StreamExt, stream};
use std::fmt;
use std::sync::Arc;

/// How rows of the other side are joined with the rows that the index finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResidentJoinKind {
    /// Each row is combined with every matching row.
    Inner,
    /// Each row is combined with every matching row, and a row without a match with NULLs.
    Outer,
    /// Only rows with a match are returned.
    Semi,
    /// Only rows without a match are returned.
    Anti,
}

impl ResidentJoinKind {
    /// The treatment of the left or right rows in a join of this type.
    pub(super) fn of(join_type: JoinType, outer_is_left: bool) -> Option<Self> {
        match (join_type, outer_is_left) {
            (JoinType::Inner, _) => Some(Self::Inner),
            (JoinType::Left, true) | (JoinType::Right, false) => Some(Self::Outer),
            (JoinType::LeftSemi, true) | (JoinType::RightSemi, false) => Some(Self::Semi),
            (JoinType::LeftAnti, true) | (JoinType::RightAnti, false) => Some(Self::Anti),
            _ => None,
        }
    }
}

/// The operator.
#[derive(Debug, Clone)]
pub(super) struct IndexJoin {
    pub(super) outer: Arc<dyn ExecutionPlan>,
    pub(super) outer_is_left: bool,
    pub(super) inner: Arc<ResidentScan>,
    /// The number of the index, and the expressions that are looked up in it.
    pub(super) index: usize,
    pub(super) keys: Vec<Arc<dyn PhysicalExpr>>,
    pub(super) kind: ResidentJoinKind,
    pub(super) schema: SchemaRef,
    properties: Arc<PlanProperties>,
}

impl IndexJoin {
    pub(super) fn new(
        outer: Arc<dyn ExecutionPlan>,
        outer_is_left: bool,
        inner: Arc<ResidentScan>,
        (index, keys): (usize, Vec<Arc<dyn PhysicalExpr>>),
        kind: ResidentJoinKind,
        schema: SchemaRef,
    ) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            Partitioning::UnknownPartitioning(outer.output_partitioning().partition_count()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self { outer, outer_is_left, inner, index, keys, kind, schema, properties: Arc::new(properties) }
    }

    fn join(&self, outer: &RecordBatch, batch_rows: usize) -> Result<Vec<RecordBatch>> {
        let keys = self.keys.iter().map(|key| key.evaluate(outer)?.into_array(outer.num_rows()));
        let keys: Vec<ArrayRef> = keys.collect::<Result<_>>()?;
        let found = self.inner.state().find(self.index, &RowKeys::new(&keys).map_err(external)?);
        let mut batches = Vec::new();
        match self.kind {
            ResidentJoinKind::Inner | ResidentJoinKind::Outer => {
                for start in (0..found.rows.len()).step_by(batch_rows) {
                    batches.push(self.pairs(outer, &piece(&found, start, batch_rows))?);
                }
                if self.kind == ResidentJoinKind::Outer {
                    let rows = others(&found, outer.num_rows());
                    let inner_schema = self.inner.schema();
                    let nulls = inner_schema.fields().iter().map(|field| new_null_array(field.data_type(), rows.len()));
                    batches.push(self.both(taken(outer, &rows)?, nulls.collect(), rows.len())?);
                }
            }
            ResidentJoinKind::Semi => {
                let mut probes = found.probes;
                probes.dedup();
                let rows = UInt32Array::from(probes);
                batches.push(self.batch(taken(outer, &rows)?, rows.len())?);
            }
            ResidentJoinKind::Anti => {
                let rows = others(&found, outer.num_rows());
                batches.push(self.batch(taken(outer, &rows)?, rows.len())?);
            }
        }
        Ok(batches)
    }

    fn pairs(&self, outer: &RecordBatch, found: &TableMatches) -> Result<RecordBatch> {
        let outer = taken(outer, &UInt32Array::from(found.probes.clone()))?;
        let inner = self.inner.state().gather(found, self.inner.columns()).map_err(external)?;
        self.both(outer, inner, found.rows.len())
    }

    fn both(&self, outer: Vec<ArrayRef>, inner: Vec<ArrayRef>, row_count: usize) -> Result<RecordBatch> {
        let (left, right) = if self.outer_is_left { (outer, inner) } else { (inner, outer) };
        self.batch(left.into_iter().chain(right).collect(), row_count)
    }

    fn batch(&self, columns: Vec<ArrayRef>, row_count: usize) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(row_count));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

fn taken(rows: &RecordBatch, numbers: &UInt32Array) -> Result<Vec<ArrayRef>> {
    rows.columns().iter().map(|column| Ok(take(column, numbers, None)?)).collect()
}

/// The rows for which nothing was found.
fn others(found: &TableMatches, row_count: usize) -> UInt32Array {
    let mut is_found = vec![false; row_count];
    found.probes.iter().for_each(|row| is_found[*row as usize] = true);
    UInt32Array::from_iter_values((0..row_count as u32).filter(|row| !is_found[*row as usize]))
}

impl DisplayAs for IndexJoin {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.inner.state();
        let keys: Vec<String> = self.keys.iter().map(|key| key.to_string()).collect();
        let columns: Vec<String> = self.inner.schema().fields().iter().map(|field| field.name().clone()).collect();
        write!(
            f,
            "IndexJoin: {}, table={}, index={}, keys=[{}], columns=[{}]",
            match self.kind {
                ResidentJoinKind::Inner => "inner",
                ResidentJoinKind::Outer => "outer",
                ResidentJoinKind::Semi => "semi",
                ResidentJoinKind::Anti => "anti",
            },
            state.definition().name,
            state.indexes()[self.index].name,
            keys.join(", "),
            columns.join(", ")
        )
    }
}

impl ExecutionPlan for IndexJoin {
    plan_methods!(properties, recomputed);

    fn name(&self) -> &str {
        "IndexJoin"
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.outer]
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        apply_expression_roots(&self.keys, visit)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let outer = only_input(self.name(), children)?;
        let Self { outer_is_left, inner, index, keys, kind, schema, .. } = self.as_ref().clone();
        Ok(Arc::new(Self::new(outer, outer_is_left, inner, (index, keys), kind, schema)))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let batch_rows = context.session_config().batch_size().max(1);
        let outer = self.outer.execute(partition, context)?;
        let join = self.clone();
        let joined = outer.flat_map(move |rows| {
            let batches = rows.and_then(|rows| join.join(&rows, batch_rows));
            stream::iter(match batches {
                Ok(batches) => batches.into_iter().map(Ok).collect::<Vec<_>>(),
                Err(error) => vec![Err(error)],
            })
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), joined)))
    }
}
