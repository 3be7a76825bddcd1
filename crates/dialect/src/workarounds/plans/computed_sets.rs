//! Expressions of `GROUPING SETS`, `ROLLUP` and `CUBE`. The step's columns are named by them, so no parameter, cast or
//! operator in them could be replaced. Here they become columns of a projection below the step. In the sets, these
//! columns have the names of the expressions.
//!
//! No upstream issue known.

use crate::text::plan_walk::{DynPlanWalk, DynWalk};
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::logical_plan::{Aggregate, Projection};
use datafusion::logical_expr::{Expr, GroupingSet, LogicalPlan};
use std::sync::Arc;

/// Moves the expressions of sets below their steps. Call this before any expression of the plan is changed.
pub fn compute_sets(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.dyn_transform_up_with_subqueries(|plan| match plan {
        LogicalPlan::Aggregate(aggregate) => computed_below(aggregate),
        other => Ok(Transformed::no(other)),
    })
    .data()
}

/// The same step over a projection that computes the expressions of its sets.
fn computed_below(aggregate: Aggregate) -> Result<Transformed<LogicalPlan>> {
    let [Expr::GroupingSet(sets)] = aggregate.group_expr.as_slice() else {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    };
    let computed: Vec<Expr> = sets.distinct_expr().into_iter().filter(|key| !is_column(key)).cloned().collect();
    if computed.is_empty() {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    }
    let name = |at: usize| format!("\u{1}set key {at}");
    let column = |key: &Expr| match computed.iter().position(|other| other == key) {
        Some(at) => {
            let (relation, shown) = key.qualified_name();
            Expr::Column(Column::new_unqualified(name(at))).alias_qualified(relation, shown)
        }
        None => key.clone(),
    };
    let columns = |keys: &[Expr]| keys.iter().map(column).collect::<Vec<Expr>>();
    let sets = match sets {
        GroupingSet::Rollup(keys) => GroupingSet::Rollup(columns(keys)),
        GroupingSet::Cube(keys) => GroupingSet::Cube(columns(keys)),
        GroupingSet::GroupingSets(sets) => GroupingSet::GroupingSets(sets.iter().map(|keys| columns(keys)).collect()),
    };
    let functions = aggregate.aggr_expr.iter().map(|function| {
        let replaced = function.clone().dyn_transform_up(|expr| match expr {
            Expr::AggregateFunction(mut call) if call.func.name() == "grouping" => {
                call.params.args = columns(&call.params.args);
                Ok(Transformed::yes(Expr::AggregateFunction(call)))
            }
            other => Ok(Transformed::no(other)),
        });
        replaced.data()
    });
    let functions = functions.collect::<Result<Vec<Expr>>>()?;
    let keys = computed.iter().enumerate().map(|(at, key)| key.clone().alias(name(at)));
    let shown = aggregate.input.schema().columns().into_iter().map(Expr::Column).chain(keys);
    let input = Projection::try_new(shown.collect(), Arc::clone(&aggregate.input))?;
    let input = Arc::new(LogicalPlan::Projection(input));
    let grouped = Aggregate::try_new(input, vec![Expr::GroupingSet(sets)], functions)?;
    Ok(Transformed::yes(LogicalPlan::Aggregate(grouped)))
}

/// Returns whether a key is a column, also one that was computed below and has the name of its expression.
fn is_column(key: &Expr) -> bool {
    match key {
        Expr::Alias(alias) => matches!(alias.expr.as_ref(), Expr::Column(_)),
        other => matches!(other, Expr::Column(_)),
    }
}
