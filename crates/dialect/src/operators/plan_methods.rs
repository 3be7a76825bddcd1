//! Methods of `ExecutionPlan` that are the same in most steps, and the replacement of a step's input.

use datafusion::common::Result;
use datafusion::physical_plan::{ChildrenPropertiesMode, ExecutionPlan, ReplaceChildrenOptions};
use std::sync::Arc;

/// A step that has one input, over another input.
pub fn with_input(plan: &Arc<dyn ExecutionPlan>, input: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    Arc::clone(plan).replace_children(vec![input], ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
}

/// The named methods of `ExecutionPlan`:
///
/// | name | methods |
/// |---|---|
/// | `properties` | the properties in the field of this name |
/// | `no_expressions` | the step has no expressions |
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
