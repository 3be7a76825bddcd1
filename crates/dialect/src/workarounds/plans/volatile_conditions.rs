//! Conditions with functions such as `random()`, over groups, windows, `DISTINCT` and joins. Each row of these steps
//! passes the condition once. DataFusion 55.2 moves such a condition below the step if it mentions no column, or only
//! columns by which the rows are grouped: `HAVING random() < 0.5` would choose among the rows and not among the groups.
//! Such a condition stays where it is; the other conditions of a filter are moved as before.
//!
//! No upstream issue known.

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Expr, Filter, LogicalPlan};
use datafusion::optimizer::{ApplyOrder, Optimizer, OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// Replaces DataFusion's rule that moves filters.
pub(crate) fn keep_conditions(optimizer: &mut Optimizer) {
    for rule in &mut optimizer.rules {
        if rule.name() == "push_down_filter" {
            *rule = Arc::new(OfStableConditions(Arc::clone(rule)));
        }
    }
}

#[derive(Debug)]
struct OfStableConditions(Arc<dyn OptimizerRule + Send + Sync>);

impl OptimizerRule for OfStableConditions {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let Some((step, conditions)) = volatile_filters(&plan) else { return self.0.rewrite(plan, config) };
        let (kept, moved): (Vec<Expr>, Vec<Expr>) = conditions.into_iter().partition(Expr::is_volatile);
        let Some((kept, moved)) = conjunction(kept).zip(conjunction(moved)) else {
            return Ok(Transformed::no(plan));
        };
        let below = self.0.rewrite(filtered(moved, step)?, config)?;
        below.map_data(|below| filtered(kept, below))
    }
}

fn filtered(condition: Expr, input: LogicalPlan) -> Result<LogicalPlan> {
    Ok(LogicalPlan::Filter(Filter::try_new(condition, Arc::new(input))?))
}

/// The step below one or more filters and their conditions, if one of these changes from row to row, and must not be
/// moved below the step.
fn volatile_filters(plan: &LogicalPlan) -> Option<(LogicalPlan, Vec<Expr>)> {
    let (mut conditions, mut step) = (Vec::new(), plan);
    while let LogicalPlan::Filter(filter) = step {
        conditions.extend(split_conjunction_owned(filter.predicate.clone()));
        step = &filter.input;
    }
    let makes_rows = matches!(
        step,
        LogicalPlan::Aggregate(_) | LogicalPlan::Window(_) | LogicalPlan::Distinct(_) | LogicalPlan::Join(_)
    );
    (makes_rows && conditions.iter().any(Expr::is_volatile)).then(|| (step.clone(), conditions))
}
