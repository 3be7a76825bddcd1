//! Keeps filters above a step that has several columns of one name, such as a join of a table with itself. DataFusion
//! finds a filter's columns by name there, and takes the first. Also above a step that computes what changes each time,
//! such as `random()`: DataFusion would write the computation in place of the column into each condition of the filter.
//!
//! Such a step is [hidden](super::hidden_steps) while DataFusion moves filters. Filters below it are still moved.
//!
//! [#25296](https://github.com/apache/datafusion/issues/25296) and
//! [#25244](https://github.com/apache/datafusion/issues/25244)
//! are fixed upstream by [#25259](https://github.com/apache/datafusion/pull/25259), which is not in 55.2. For what
//! changes no upstream issue is known.

use super::hidden_steps::{Hiding, WithHiddenSteps};
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::ProjectionExec;
use std::collections::HashSet;
use std::sync::Arc;

/// Wraps DataFusion's rules that move filters.
pub(crate) fn keep_filters_unambiguous(optimizer: &mut PhysicalOptimizer) {
    let hiding = Hiding { hides: keeps_filters, properties: |plan| Arc::clone(plan.properties()) };
    for rule in &mut optimizer.rules {
        if rule.name().starts_with("FilterPushdown") {
            *rule = Arc::new(WithHiddenSteps { rule: Arc::clone(rule), hiding });
        }
    }
}

fn keeps_filters(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let changes = |projection: &ProjectionExec| projection.expr().iter().any(|computed| is_volatile(&computed.expr));
    has_equal_names(plan) || plan.downcast_ref::<ProjectionExec>().is_some_and(changes)
}

fn has_equal_names(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let (schema, mut names) = (plan.schema(), HashSet::new());
    !schema.fields().iter().all(|field| names.insert(field.name()))
}
