//! `count(DISTINCT a), sum(b)`: DataFusion 55 turns such an aggregate into one over groups by `a`, and sums the sums of
//! the groups. The sum of a BIGINT has another type than that of an INTEGER, so the plan fails with an internal error.
//! Where the types would change, the aggregate stays as it is. No upstream issue covers this: DataFusion's own `sum`
//! has the same type for both.

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::{ApplyOrder, Optimizer, OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// Replaces DataFusion's rule.
pub(crate) fn keep_types(optimizer: &mut Optimizer) {
    let mut rules = optimizer.rules.iter_mut();
    if let Some(rule) = rules.find(|rule| rule.name() == "single_distinct_aggregation_to_group_by") {
        *rule = Arc::new(OfSameTypes(Arc::clone(rule)));
    }
}

#[derive(Debug)]
struct OfSameTypes(Arc<dyn OptimizerRule + Send + Sync>);

impl OptimizerRule for OfSameTypes {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Aggregate(_) = &plan else { return Ok(Transformed::no(plan)) };
        let rewritten = self.0.rewrite(plan.clone(), config)?;
        let types = |plan: &LogicalPlan| plan.schema().fields().iter().map(|field| field.data_type().clone()).collect();
        let (before, after): (Vec<_>, Vec<_>) = (types(&plan), types(&rewritten.data));
        Ok(if before == after { rewritten } else { Transformed::no(plan) })
    }
}
