//! An aggregate whose `ORDER BY` names one key twice, as `DISTINCT ON (k) ... ORDER BY k, k / 1` does once it is
//! simplified. DataFusion's `first_value` counts the keys before and after it drops the second one, and panics.
//!
//! Waits for [#25398](https://github.com/apache/datafusion/issues/25398).

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan, SortExpr};
use datafusion::optimizer::{ApplyOrder, Optimizer, OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// Adds the rule after all others.
pub(crate) fn name_each_key_once(optimizer: &mut Optimizer) {
    optimizer.rules.push(Arc::new(EachKeyOnce));
}

/// Drops keys of an aggregate's order that it has already.
#[derive(Debug)]
struct EachKeyOnce;

impl OptimizerRule for EachKeyOnce {
    fn name(&self) -> &str {
        "each_key_once"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Aggregate(aggregate) = plan else { return Ok(Transformed::no(plan)) };
        if !aggregate.aggr_expr.iter().any(|expr| keys_of(expr).is_some_and(|keys| once(keys).len() < keys.len())) {
            return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
        }
        let Aggregate { input, group_expr, aggr_expr, schema, .. } = aggregate;
        let aggr_expr = aggr_expr.into_iter().map(with_each_key_once).collect();
        let aggregate = Aggregate::try_new_with_schema(input, group_expr, aggr_expr, schema)?;
        Ok(Transformed::yes(LogicalPlan::Aggregate(aggregate)))
    }
}

/// The keys of an aggregate's order.
fn keys_of(expr: &Expr) -> Option<&[SortExpr]> {
    match expr {
        Expr::Alias(alias) => keys_of(&alias.expr),
        Expr::AggregateFunction(call) => Some(&call.params.order_by),
        _ => None,
    }
}

/// The keys without those that follow an equal one: it has decided already.
fn once(keys: &[SortExpr]) -> Vec<SortExpr> {
    let is_new = |at: &usize| !keys[..*at].iter().any(|earlier| plain(&earlier.expr) == plain(&keys[*at].expr));
    (0..keys.len()).filter(is_new).map(|at| keys[at].clone()).collect()
}

/// A key without the names that simplifying gave it.
fn plain(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => plain(&alias.expr),
        other => other,
    }
}

/// An aggregate without repeated keys, with the name that it had.
fn with_each_key_once(expr: Expr) -> Expr {
    let (relation, name) = expr.qualified_name();
    let mut call = expr.unalias_nested().data;
    if let Expr::AggregateFunction(function) = &mut call {
        function.params.order_by = once(&function.params.order_by);
    }
    call.alias_qualified(relation, name)
}
