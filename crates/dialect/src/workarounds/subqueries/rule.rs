//! Finds subqueries.

use super::domain::Names;
use super::first_conditions::before_lateral;
use super::grouping_sets::refuse_grouping_sets;
use super::join_conditions::of_condition;
use super::lateral::lateral;
use super::outer_aggregates::refuse_outer_aggregates;
use super::outer_columns::has_distant_columns;
use super::steps::{of_step, step_has_subquery};
use super::volatile_values::name_volatile_values;
use crate::text::plan_subqueries::has_subquery;
use crate::text::plan_walk::{DynPlanWalk, DynWalk};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::AnalyzerRule;

/// Runs before all rules that rewrite conditions.
#[derive(Debug)]
pub(crate) struct AnySubquery;

impl AnalyzerRule for AnySubquery {
    fn name(&self) -> &str {
        "any_subquery"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        if !has_subqueries(&plan)? {
            return Ok(plan);
        }
        refuse_outer_aggregates(&plan)?;
        refuse_grouping_sets(&plan)?;
        let names = Names::default();
        let mut plan = name_volatile_values(before_lateral(plan)?.data, &names)?;
        loop {
            // A subquery that mentions columns further out waits until the one around it has been replaced.
            let is_last = !has_distant_columns(&plan)?;
            let replaced = plan.dyn_transform_up_with_subqueries(|plan| match plan {
                LogicalPlan::Join(join) if join.filter.as_ref().is_some_and(has_subquery) => of_condition(join, &names),
                LogicalPlan::Join(join) => lateral(join, &names),
                plan => of_step(plan, &names),
            })?;
            plan = replaced.data;
            if is_last || !replaced.transformed {
                return Ok(plan);
            }
        }
    }
}

/// Returns whether a plan has a subquery anywhere. Most plans have none.
fn has_subqueries(plan: &LogicalPlan) -> Result<bool> {
    plan.dyn_exists(|plan| Ok(matches!(plan, LogicalPlan::Subquery(_)) || step_has_subquery(plan)?))
}
