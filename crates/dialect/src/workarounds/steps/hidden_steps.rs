//! Hides steps of a plan from a rule of DataFusion: while the rule runs, such a step is below another one that the rule
//! does not know, and that says of the step only what the rule may use. Steps below it are changed as usual.
//!
//! Part of [`union_constants`](super::union_constants) and [`unambiguous_filters`](super::unambiguous_filters).

use crate::operators::plan_methods::{only_input, plan_methods};
use crate::text::plan_walk::DynWalk;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::ReplaceChildrenOptions;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use std::fmt;
use std::sync::Arc;

/// The steps to hide from a rule, and the properties that it sees instead.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hiding {
    pub(super) hides: fn(&Arc<dyn ExecutionPlan>) -> bool,
    pub(super) properties: fn(&Arc<dyn ExecutionPlan>) -> Arc<PlanProperties>,
}

/// A rule from which steps are hidden.
#[derive(Debug)]
pub(super) struct WithHiddenSteps {
    pub(super) rule: Arc<dyn PhysicalOptimizerRule + Send + Sync>,
    pub(super) hiding: Hiding,
}

impl PhysicalOptimizerRule for WithHiddenSteps {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, options: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let hidden = plan.dyn_transform_up(|plan| match (self.hiding.hides)(&plan) {
            true => Ok(Transformed::yes(Arc::new(HiddenStep::new(plan, self.hiding)) as Arc<dyn ExecutionPlan>)),
            false => Ok(Transformed::no(plan)),
        })?;
        let any_is_hidden = hidden.transformed;
        let optimized = self.rule.optimize(hidden.data, options)?;
        if !any_is_hidden {
            return Ok(optimized);
        }
        let shown = optimized.dyn_transform_up(|plan| match plan.downcast_ref::<HiddenStep>() {
            Some(hidden) => Ok(Transformed::yes(Arc::clone(&hidden.step))),
            None => Ok(Transformed::no(plan)),
        });
        shown.data()
    }

    fn name(&self) -> &str {
        self.rule.name()
    }

    fn schema_check(&self) -> bool {
        self.rule.schema_check()
    }
}

/// A step that hides the one below it.
#[derive(Debug)]
struct HiddenStep {
    step: Arc<dyn ExecutionPlan>,
    hiding: Hiding,
    properties: Arc<PlanProperties>,
}

impl HiddenStep {
    fn new(step: Arc<dyn ExecutionPlan>, hiding: Hiding) -> Self {
        let properties = (hiding.properties)(&step);
        Self { step, hiding, properties }
    }
}

impl DisplayAs for HiddenStep {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HiddenStep")
    }
}

impl ExecutionPlan for HiddenStep {
    plan_methods!(properties, no_expressions, recomputed, keeps_order);

    fn name(&self) -> &str {
        "HiddenStep"
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.step]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Self::new(only_input(self.name(), children)?, self.hiding)))
    }

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        internal_err!("a hidden step was executed")
    }
}
