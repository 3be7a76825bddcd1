//! The operator that joins by time. Both sides are sorted by the columns that must be equal, then by time.

use super::matcher::{Matcher, SideReader};
use super::node::MatchCondition;
use crate::operators::plan_methods::plan_methods;
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::row::{RowConverter, SortField};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{
    EquivalenceProperties, LexOrdering, OrderingRequirements, PhysicalExpr, PhysicalSortExpr,
};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, ReplaceChildrenOptions};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, ExecutionPlanProperties, InputDistributionRequirements,
    Partitioning, PlanProperties, apply_expression_roots,
};
use futures::stream;
use std::fmt;
use std::sync::Arc;

/// The sort order of both sides.
pub(super) const ORDER: SortOptions = SortOptions { descending: false, nulls_first: false };

/// One side of the join.
#[derive(Debug, Clone)]
pub(crate) struct AsOfSide {
    pub input: Arc<dyn ExecutionPlan>,
    /// The expressions that must be equal, with the same types on both sides.
    pub keys: Vec<Arc<dyn PhysicalExpr>>,
    pub time: Arc<dyn PhysicalExpr>,
    /// The length of one unit of the time.
    pub tick: i64,
}

impl AsOfSide {
    fn ordering(&self) -> Option<LexOrdering> {
        let columns = self.keys.iter().chain([&self.time]);
        LexOrdering::new(columns.map(|expr| PhysicalSortExpr::new(Arc::clone(expr), ORDER)))
    }
}

/// The operator.
#[derive(Debug)]
pub(crate) struct AsofJoinExec {
    left: AsOfSide,
    right: AsOfSide,
    condition: MatchCondition,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
}

impl AsofJoinExec {
    pub(crate) fn try_new(
        left: AsOfSide,
        right: AsOfSide,
        condition: MatchCondition,
        schema: SchemaRef,
    ) -> Result<Self> {
        let partition_count = left.input.output_partitioning().partition_count();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            Partitioning::UnknownPartitioning(partition_count),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(Self { left, right, condition, schema, properties: Arc::new(properties) })
    }
}

impl DisplayAs for AsofJoinExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = self.left.keys.iter().zip(&self.right.keys).map(|(left, right)| format!("{left} = {right}"));
        let keys: Vec<String> = keys.collect();
        let (left, right) = (&self.left.time, &self.right.time);
        write!(
            f,
            "AsofJoinExec: {left} {} {right}, on=[{}], {}",
            self.condition.operator,
            keys.join(", "),
            self.condition
        )
    }
}

impl ExecutionPlan for AsofJoinExec {
    plan_methods!(properties, recomputed);

    fn name(&self) -> &str {
        "AsofJoinExec"
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        match self.left.keys.is_empty() {
            true => InputDistributionRequirements::new(vec![Distribution::SinglePartition; 2]),
            false => InputDistributionRequirements::co_partitioned(vec![
                Distribution::KeyPartitioned(self.left.keys.clone()),
                Distribution::KeyPartitioned(self.right.keys.clone()),
            ]),
        }
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        [&self.left, &self.right].map(|side| side.ordering().map(OrderingRequirements::from)).to_vec()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.left.input, &self.right.input]
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let of_sides = [&self.left, &self.right].into_iter().flat_map(|side| side.keys.iter().chain([&side.time]));
        apply_expression_roots(of_sides, visit)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let [left, right] = children.as_slice() else { return internal_err!("AsofJoinExec has two inputs") };
        let side =
            |side: &AsOfSide, input: &Arc<dyn ExecutionPlan>| AsOfSide { input: Arc::clone(input), ..side.clone() };
        let (left, right) = (side(&self.left, left), side(&self.right, right));
        Ok(Arc::new(Self::try_new(left, right, self.condition, Arc::clone(&self.schema))?))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let reader = |side: &AsOfSide| -> Result<SideReader> {
            let schema = side.input.schema();
            let field = |key: &Arc<dyn PhysicalExpr>| Ok(SortField::new_with_options(key.data_type(&schema)?, ORDER));
            let fields = side.keys.iter().map(field).collect::<Result<Vec<_>>>()?;
            let converter = if fields.is_empty() { None } else { Some(RowConverter::new(fields)?) };
            let input = side.input.execute(partition, Arc::clone(&context))?;
            Ok(SideReader::new(input, side.keys.clone(), Arc::clone(&side.time), side.tick, converter))
        };
        let matcher = Matcher::new(reader(&self.left)?, reader(&self.right)?, self.condition, Arc::clone(&self.schema));
        let batches = stream::try_unfold(matcher, |mut matcher| async move {
            Ok(matcher.next().await?.map(|batch| (batch, matcher)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), batches)))
    }
}
