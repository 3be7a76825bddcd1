//! Columns that are constants in each part of a `UNION ALL`, but different ones: `SELECT 'a' AS kind, x FROM t
//! UNION ALL SELECT 'b', x FROM u ORDER BY kind, x LIMIT 10`. DataFusion sorts each part without them. But the parts
//! share the bound of the first ten rows, and drop rows beyond it: without `kind`, they drop rows that come first.
//!
//! While sorts are planned, such a union is a step that says nothing of these constants.
//!
//! No upstream issue known.

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{AcrossPartitions, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::execution_plan::ReplaceChildrenOptions;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties};
use std::fmt;
use std::sync::Arc;

/// Wraps DataFusion's rule that plans sorts.
pub(super) fn sort_by_all_keys(optimizer: &mut PhysicalOptimizer) {
    for rule in &mut optimizer.rules {
        if rule.name() == "EnsureRequirements" {
            *rule = Arc::new(SortByAllKeys(Arc::clone(rule)));
        }
    }
}

#[derive(Debug)]
struct SortByAllKeys(Arc<dyn PhysicalOptimizerRule + Send + Sync>);

impl PhysicalOptimizerRule for SortByAllKeys {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, options: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let hidden = plan.transform_up(|plan| match has_different_constants(&plan) {
            true => Ok(Transformed::yes(Arc::new(Varied::of(plan)) as Arc<dyn ExecutionPlan>)),
            false => Ok(Transformed::no(plan)),
        })?;
        let any_is_hidden = hidden.transformed;
        let optimized = self.0.optimize(hidden.data, options)?;
        if !any_is_hidden {
            return Ok(optimized);
        }
        let shown = optimized.transform_up(|plan| match plan.downcast_ref::<Varied>() {
            Some(varied) => Ok(Transformed::yes(Arc::clone(&varied.union))),
            None => Ok(Transformed::no(plan)),
        });
        shown.data()
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

fn has_different_constants(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let constants = || plan.equivalence_properties().constants();
    plan.is::<UnionExec>()
        && constants().iter().any(|constant| constant.across_partitions == AcrossPartitions::Heterogeneous)
}

/// A union whose constants are unknown where they differ.
#[derive(Debug)]
struct Varied {
    union: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl Varied {
    fn of(union: Arc<dyn ExecutionPlan>) -> Self {
        let mut equivalences = union.equivalence_properties().clone();
        equivalences.clear_per_partition_constants();
        let partitioning = union.output_partitioning().clone();
        let properties =
            PlanProperties::new(equivalences, partitioning, union.pipeline_behavior(), union.boundedness());
        Self { union, properties: Arc::new(properties) }
    }

    fn around(mut inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        match inputs.pop() {
            Some(union) => Ok(Arc::new(Self::of(union))),
            None => internal_err!("a union of different constants has one input"),
        }
    }
}

impl DisplayAs for Varied {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Varied")
    }
}

impl ExecutionPlan for Varied {
    fn name(&self) -> &str {
        "Varied"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.union]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Self::around(children)
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Self::around(children)
    }

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        internal_err!("a step of the planner was executed")
    }
}
