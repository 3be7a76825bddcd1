//! Expressions of `GROUPING SETS`, `ROLLUP` and `CUBE`. The step's columns are named by them, so no rule may change
//! anything in them: a cast of text to bytes or of a float to an integer would stay DataFusion's. Here they become
//! columns of a projection below the step, and the sets consist of columns.
//!
//! No upstream issue known.

use crate::text::plan_walk::{DynPlanWalk, DynWalk};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::logical_plan::{Aggregate, Projection};
use datafusion::logical_expr::{Expr, GroupingSet, LogicalPlan};
use datafusion::optimizer::AnalyzerRule;
use std::sync::Arc;

/// Runs before all rules that change expressions.
#[derive(Debug)]
pub(crate) struct ComputedSets;

impl AnalyzerRule for ComputedSets {
    fn name(&self) -> &str {
        "computed_sets"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.dyn_transform_up_with_subqueries(|plan| match plan {
            LogicalPlan::Aggregate(aggregate) => computed_below(aggregate),
            other => Ok(Transformed::no(other)),
        })
        .data()
    }
}

/// The same step over a projection that computes the expressions of its sets.
fn computed_below(aggregate: Aggregate) -> Result<Transformed<LogicalPlan>> {
    let [Expr::GroupingSet(sets)] = aggregate.group_expr.as_slice() else {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    };
    let mut computed: Vec<Expr> = Vec::new();
    for key in sets.distinct_expr() {
        let column = column_of(key);
        // A second column of the name would be ambiguous.
        let is_taken = aggregate.input.schema().has_column_with_unqualified_name(&column.name)
            || computed.iter().any(|other| column_of(other).name == column.name);
        if !matches!(key, Expr::Column(_)) && !is_taken {
            computed.push(key.clone());
        }
    }
    if computed.is_empty() {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    }
    let column = |key: &Expr| match computed.contains(key) {
        true => Expr::Column(column_of(key)),
        false => key.clone(),
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
    let shown = aggregate.input.schema().columns().into_iter().map(Expr::Column).chain(computed.iter().cloned());
    let input = Projection::try_new(shown.collect(), Arc::clone(&aggregate.input))?;
    let input = Arc::new(LogicalPlan::Projection(input));
    let grouped = Aggregate::try_new(input, vec![Expr::GroupingSet(sets)], functions)?;
    Ok(Transformed::yes(LogicalPlan::Aggregate(grouped)))
}

/// The column that an expression becomes in a projection.
fn column_of(expr: &Expr) -> Column {
    let (relation, name) = expr.qualified_name();
    Column::new(relation, name)
}
