//! Joins whose keys match where both are NULL, which a subquery with columns of an outer query becomes. DataFusion 55.2
//! adds equalities of the query to the keys of such a join, and gives the joins below it the same keys: there NULL must
//! not match NULL. These joins keep their keys, and the equalities stay conditions. No upstream issue is known.

use crate::text::plan_walk::DynWalk;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{NullEquality, Result};
use datafusion::logical_expr::{JoinType, LogicalPlan};
use datafusion::optimizer::{ApplyOrder, Optimizer, OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// Replaces DataFusion's rules that change the keys of joins.
pub(crate) fn keep_keys(optimizer: &mut Optimizer) {
    for rule in &mut optimizer.rules {
        let (adds_keys, orders_joins) =
            (rule.name() == "extract_equijoin_predicate", rule.name() == "eliminate_cross_join");
        if adds_keys {
            *rule = Arc::new(OfPlainKeys(Arc::clone(rule)));
        } else if orders_joins {
            *rule = Arc::new(OfPlainJoins(Arc::clone(rule)));
        }
    }
}

fn matches_nulls(plan: &LogicalPlan) -> bool {
    let LogicalPlan::Join(join) = plan else { return false };
    join.null_equality == NullEquality::NullEqualsNull && !join.on.is_empty()
}

fn is_inner(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Join(join) if join.join_type == JoinType::Inner)
}

/// Returns whether an inner join that matches NULLs is beside one that does not, or below a condition.
fn would_mix(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Filter(filter) => is_inner(&filter.input) && matches_nulls(&filter.input),
        _ if is_inner(plan) => {
            let differs = |input: &&LogicalPlan| is_inner(input) && matches_nulls(input) != matches_nulls(plan);
            plan.inputs().iter().any(differs)
        }
        _ => false,
    }
}

/// Adds no keys to a join that matches NULLs.
#[derive(Debug)]
struct OfPlainKeys(Arc<dyn OptimizerRule + Send + Sync>);

impl OptimizerRule for OfPlainKeys {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        if matches_nulls(&plan) { Ok(Transformed::no(plan)) } else { self.0.rewrite(plan, config) }
    }
}

/// Leaves a plan as it is if the rule would give keys that match NULLs to other equalities.
#[derive(Debug)]
struct OfPlainJoins(Arc<dyn OptimizerRule + Send + Sync>);

impl OptimizerRule for OfPlainJoins {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        if plan.dyn_exists(|node| Ok(would_mix(node)))? {
            return Ok(Transformed::no(plan));
        }
        self.0.rewrite(plan, config)
    }
}
