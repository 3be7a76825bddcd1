//! `SELECT DISTINCT ON (a) EXISTS (SELECT ...), b FROM t`: DataFusion 55 plans a subquery that is a condition among the
//! columns of a SELECT, but not with DISTINCT ON. Such columns are computed by a step below it.
//!
//! No upstream issue known.

use crate::text::plan_walk::{DynPlanWalk, DynWalk};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::{Distinct, DistinctOn, Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::optimizer::AnalyzerRule;
use std::sync::Arc;

/// Runs before subqueries are planned.
#[derive(Debug)]
pub(crate) struct DistinctRows;

impl AnalyzerRule for DistinctRows {
    fn name(&self) -> &str {
        "distinct_rows"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.dyn_transform_up_with_subqueries(|plan| match plan {
            LogicalPlan::Distinct(Distinct::On(distinct)) if distinct.select_expr.iter().any(has_condition) => {
                let distinct = over_computed_columns(distinct)?;
                Ok(Transformed::yes(LogicalPlan::Distinct(Distinct::On(distinct))))
            }
            plan => Ok(Transformed::no(plan)),
        })
        .data()
    }
}

/// Returns whether a subquery in an expression is a condition. One that is a value is planned everywhere.
fn has_condition(expr: &Expr) -> bool {
    let is_condition = |expr: &Expr| matches!(expr, Expr::Exists(_) | Expr::InSubquery(_) | Expr::SetComparison(_));
    expr.dyn_exists(|expr| Ok(is_condition(expr))).unwrap_or(false)
}

fn over_computed_columns(distinct: DistinctOn) -> Result<DistinctOn> {
    let DistinctOn { on_expr, select_expr, sort_expr, input, schema } = distinct;
    let mut below: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).collect();
    let mut selected = Vec::with_capacity(select_expr.len());
    for (at, (expr, (qualifier, field))) in select_expr.into_iter().zip(schema.iter()).enumerate() {
        if !has_condition(&expr) {
            selected.push(expr);
            continue;
        }
        let name = format!("column {at} of DISTINCT ON");
        below.push(expr.unalias().alias(&name));
        selected.push(Expr::Column(Column::from_name(name)).alias_qualified(qualifier.cloned(), field.name()));
    }
    let input = LogicalPlanBuilder::from(Arc::unwrap_or_clone(input)).project(below)?.build()?;
    DistinctOn::try_new(on_expr, selected, sort_expr, Arc::new(input))
}
