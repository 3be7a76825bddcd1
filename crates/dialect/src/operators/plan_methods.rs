//! Methods of `ExecutionPlan` that are the same in most steps, and how rules replace steps and their inputs.

use crate::text::plan_walk::DynWalk;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{Result, internal_err};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::{ChildrenPropertiesMode, ExecutionPlan, ReplaceChildrenOptions};
use std::sync::Arc;

/// A step that has one input, over another input.
pub fn with_input(plan: &Arc<dyn ExecutionPlan>, input: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    Arc::clone(plan).replace_children(vec![input], ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
}

/// The input of a step that has one, out of those that replace its inputs.
pub fn only_input(step: &str, inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
    match <[_; 1]>::try_from(inputs) {
        Ok([input]) => Ok(input),
        Err(_) => internal_err!("{step} has one input"),
    }
}

/// A plan whose steps are replaced, from the top. `replacement` returns `None` for a step that stays.
pub(super) fn with_replaced_steps(
    plan: Arc<dyn ExecutionPlan>,
    replacement: impl Fn(&Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>>,
) -> Result<Arc<dyn ExecutionPlan>> {
    plan.dyn_transform_down(|plan| match replacement(&plan)? {
        Some(plan) => Ok(Transformed::yes(plan)),
        None => Ok(Transformed::no(plan)),
    })
    .data()
}

/// Adds a rule before DataFusion decides how inputs are distributed. At that point each aggregate consists of two
/// adjacent steps.
pub fn add_before_distribution(optimizer: &mut PhysicalOptimizer, rule: Arc<dyn PhysicalOptimizerRule + Send + Sync>) {
    if let Some(at) = optimizer.rules.iter().position(|rule| rule.name() == "EnsureRequirements") {
        optimizer.rules.insert(at, rule);
    }
}

/// The named methods of `ExecutionPlan`:
///
/// | name | methods |
/// |---|---|
/// | `properties` | the properties in the field of this name |
/// | `metrics` | the metrics in the field of this name |
/// | `no_expressions` | the step has no expressions |
/// | `input` | the step has one input, in the field of this name |
/// | `single_partition` | the only input comes in one partition |
/// | `keeps_order` | the rows stay in the order of the only input |
/// | `no_children` | the step has no input |
/// | `recomputed` | `with_new_children` as `replace_children` does it |
#[doc(hidden)]
#[macro_export]
macro_rules! __plan_methods {
    (@ properties) => {
        fn properties(&self) -> &::std::sync::Arc<::datafusion::physical_plan::PlanProperties> {
            &self.properties
        }
    };
    (@ no_expressions) => {
        fn apply_expressions(
            &self,
            _: &mut dyn FnMut(
                &::std::sync::Arc<dyn ::datafusion::physical_expr::PhysicalExpr>,
            )
                -> ::datafusion::common::Result<::datafusion::common::tree_node::TreeNodeRecursion>,
        ) -> ::datafusion::common::Result<::datafusion::common::tree_node::TreeNodeRecursion> {
            Ok(::datafusion::common::tree_node::TreeNodeRecursion::Continue)
        }
    };
    (@ metrics) => {
        fn metrics(&self) -> Option<::datafusion::physical_plan::metrics::MetricsSet> {
            Some(self.metrics.clone_inner())
        }
    };
    (@ input) => {
        fn children(&self) -> Vec<&::std::sync::Arc<dyn ::datafusion::physical_plan::ExecutionPlan>> {
            vec![&self.input]
        }
    };
    (@ single_partition) => {
        fn input_distribution_requirements(&self) -> ::datafusion::physical_plan::InputDistributionRequirements {
            ::datafusion::physical_plan::InputDistributionRequirements::new(vec![
                ::datafusion::physical_plan::Distribution::SinglePartition,
            ])
        }
    };
    (@ keeps_order) => {
        fn maintains_input_order(&self) -> Vec<bool> {
            vec![true]
        }
    };
    (@ no_children) => {
        fn children(&self) -> Vec<&::std::sync::Arc<dyn ::datafusion::physical_plan::ExecutionPlan>> {
            Vec::new()
        }

        fn replace_children(
            self: ::std::sync::Arc<Self>,
            _: Vec<::std::sync::Arc<dyn ::datafusion::physical_plan::ExecutionPlan>>,
            _: ::datafusion::physical_plan::ReplaceChildrenOptions,
        ) -> ::datafusion::common::Result<::std::sync::Arc<dyn ::datafusion::physical_plan::ExecutionPlan>> {
            Ok(self)
        }

        $crate::operators::plan_methods::plan_methods!(@ recomputed);
    };
    (@ recomputed) => {
        fn with_new_children(
            self: ::std::sync::Arc<Self>,
            children: Vec<::std::sync::Arc<dyn ::datafusion::physical_plan::ExecutionPlan>>,
        ) -> ::datafusion::common::Result<::std::sync::Arc<dyn ::datafusion::physical_plan::ExecutionPlan>> {
            let mode = ::datafusion::physical_plan::ChildrenPropertiesMode::Recompute;
            self.replace_children(children, ::datafusion::physical_plan::ReplaceChildrenOptions::new(mode))
        }
    };
    ($($method:ident),+) => {
        $($crate::operators::plan_methods::plan_methods!(@ $method);)+
    };
}

pub use __plan_methods as plan_methods;
