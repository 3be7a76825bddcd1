//! Columns that are constants in each part of a `UNION ALL`, but different ones: `SELECT 'a' AS kind, x FROM t
//! UNION ALL SELECT 'b', x FROM u ORDER BY kind, x LIMIT 10`. DataFusion sorts each part without them. But the parts
//! share the bound of the first ten rows, and drop rows beyond it: without `kind`, they drop rows that come first.
//!
//! While sorts are planned, such a union is hidden below a step that says nothing of these constants.
//!
//! Fixed upstream by [#23528](https://github.com/apache/datafusion/pull/23528), which is not in 55.2.

use super::hidden_steps::{Hiding, WithHiddenSteps};
use datafusion::physical_expr::AcrossPartitions;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{ExecutionPlan, PlanProperties};
use std::sync::Arc;

/// Wraps DataFusion's rule that plans sorts.
pub(crate) fn sort_by_all_keys(optimizer: &mut PhysicalOptimizer) {
    let hiding = Hiding { hides: has_different_constants, properties: without_different_constants };
    for rule in &mut optimizer.rules {
        if rule.name() == "EnsureRequirements" {
            *rule = Arc::new(WithHiddenSteps { rule: Arc::clone(rule), hiding });
        }
    }
}

fn has_different_constants(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let differs = |across: AcrossPartitions| across == AcrossPartitions::Heterogeneous;
    plan.is::<UnionExec>()
        && plan.properties().eq_properties.constants().into_iter().any(|constant| differs(constant.across_partitions))
}

fn without_different_constants(plan: &Arc<dyn ExecutionPlan>) -> Arc<PlanProperties> {
    let of_plan = plan.properties();
    let mut equivalences = of_plan.eq_properties.clone();
    equivalences.clear_per_partition_constants();
    let partitioning = of_plan.partitioning.clone();
    Arc::new(PlanProperties::new(equivalences, partitioning, of_plan.emission_type, of_plan.boundedness))
}
