//! Keeps filters above a step that has several columns of one name, such as a join of a table with itself. DataFusion
//! finds a filter's columns by name there, and takes the first.
//!
//! Such a step is hidden while DataFusion moves filters. Filters below it are still moved.
//!
//! [#25296](https://github.com/apache/datafusion/issues/25296) and
//! [#25244](https://github.com/apache/datafusion/issues/25244)
//! are fixed upstream by [#25259](https://github.com/apache/datafusion/pull/25259), which is not in 55.2.

use datafusion::arrow::datatypes::Schema;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::execution_plan::ReplaceChildrenOptions;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// Wraps DataFusion's rules that move filters.
pub(crate) fn keep_filters_unambiguous(optimizer: &mut PhysicalOptimizer) {
    for rule in &mut optimizer.rules {
        if rule.name().starts_with("FilterPushdown") {
            *rule = Arc::new(UnambiguousFilters { inner: Arc::clone(rule) });
        }
    }
}

#[derive(Debug)]
struct UnambiguousFilters {
    inner: Arc<dyn PhysicalOptimizerRule + Send + Sync>,
}

impl PhysicalOptimizerRule for UnambiguousFilters {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, options: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let hidden = plan.transform_up(|plan| match has_equal_names(&plan.schema()) {
            true => Ok(Transformed::yes(Arc::new(Hidden { step: plan }) as Arc<dyn ExecutionPlan>)),
            false => Ok(Transformed::no(plan)),
        })?;
        let any_is_hidden = hidden.transformed;
        let optimized = self.inner.optimize(hidden.data, options)?;
        if !any_is_hidden {
            return Ok(optimized);
        }
        optimized
            .transform_down(|plan| match plan.downcast_ref::<Hidden>() {
                Some(hidden) => Ok(Transformed::yes(Arc::clone(&hidden.step))),
                None => Ok(Transformed::no(plan)),
            })
            .data()
    }

    fn name(&self) -> &str {
        self.inner.name()
    }

    fn schema_check(&self) -> bool {
        self.inner.schema_check()
    }
}

fn has_equal_names(schema: &Schema) -> bool {
    let mut names = HashSet::new();
    !schema.fields().iter().all(|field| names.insert(field.name()))
}

/// A step that no filter is moved through.
#[derive(Debug)]
struct Hidden {
    step: Arc<dyn ExecutionPlan>,
}

impl DisplayAs for Hidden {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hidden")
    }
}

impl ExecutionPlan for Hidden {
    fn name(&self) -> &str {
        "Hidden"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.step.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.step]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match children.pop() {
            Some(step) => Ok(Arc::new(Self { step })),
            None => internal_err!("a hidden step has one input"),
        }
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        match children.pop() {
            Some(step) => Ok(Arc::new(Self { step })),
            None => internal_err!("a hidden step has one input"),
        }
    }

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        internal_err!("a hidden step was executed")
    }
}
