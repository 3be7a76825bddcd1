//! The rule of the analyzer for values of enumerated types.

use super::labels::{rank_keys, ranked};
use super::{calls, comparison};
use crate::text::plan_walk::{DynPlanWalk, DynWalk};
use crate::workarounds::declared::results::with_new_schema;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::Distinct;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::AnalyzerRule;

/// Runs after the types of results have been declared, and before types are made equal.
#[derive(Debug)]
pub(crate) struct EnumValues;

impl AnalyzerRule for EnumValues {
    fn name(&self) -> &str {
        "enum_values"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let mut is_changed = false;
        plan.dyn_transform_up_with_subqueries(|plan| {
            let schema = merge_schema(&plan.inputs());
            let (names, is_sort) = (NamePreserver::new(&plan), matches!(plan, LogicalPlan::Sort(_)));
            let plan = match plan {
                LogicalPlan::Distinct(Distinct::On(mut distinct)) => {
                    // The first keys of its order are those that rows differ in.
                    is_changed |= rank_keys(distinct.sort_expr.iter_mut().flatten(), &schema)?;
                    for key in &mut distinct.on_expr {
                        *key = ranked(std::mem::take(key), &schema)?.data;
                    }
                    LogicalPlan::Distinct(Distinct::On(distinct))
                }
                plan => plan,
            };
            let settled = plan.dyn_map_expressions(|expr| {
                let name = names.save(&expr);
                let rewritten = expr.dyn_transform_up(|expr| rewrite(expr, &schema))?;
                match is_sort {
                    // The keys of a sort are not columns, so that they need no names.
                    true => rewritten.transform_data(|expr| ranked(expr, &schema)),
                    false => Ok(rewritten.update_data(|expr| name.restore(expr))),
                }
            })?;
            is_changed |= settled.transformed;
            // The types of columns below may have changed.
            if is_changed { settled.map_data(with_new_schema) } else { Ok(settled) }
        })
        .data()
    }
}

fn rewrite(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match expr {
        Expr::ScalarFunction(_) | Expr::AggregateFunction(_) | Expr::WindowFunction(_) => calls::rewrite(expr, schema),
        expr => comparison::rewrite(expr, schema),
    }
}
