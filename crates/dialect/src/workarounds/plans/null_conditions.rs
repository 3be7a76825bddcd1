//! `WHERE c AND NULL`: no row satisfies the condition, so that PostgreSQL does not compute `c`, which may fail for some
//! rows. DataFusion 55.2 knows only that `c AND FALSE` is false, as `c AND NULL` may be NULL. For the same reason,
//! `WHERE c OR NULL` is `WHERE c`.
//!
//! No upstream issue known.

use datafusion::common::tree_node::Transformed;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::logical_plan::Filter;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator, lit};
use datafusion::optimizer::{ApplyOrder, Optimizer, OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// Adds the rule before the one that drops filters that are false. Constants have been computed by then, and no filter
/// has been moved to a table or split.
pub(crate) fn settle_null_conditions(optimizer: &mut Optimizer) {
    let dropping = optimizer.rules.iter().position(|rule| rule.name() == "eliminate_filter");
    optimizer.rules.insert(dropping.unwrap_or(0), Arc::new(NullConditions));
}

/// Removes from the condition of a filter what no row satisfies.
#[derive(Debug)]
struct NullConditions;

impl OptimizerRule for NullConditions {
    fn name(&self) -> &str {
        "null_conditions"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Filter(Filter { predicate, input, .. }) = plan else { return Ok(Transformed::no(plan)) };
        if is_never_true(&predicate) && !matches!(predicate, Expr::Literal(..)) {
            return Ok(Transformed::yes(LogicalPlan::Filter(Filter::try_new(lit(false), input)?)));
        }
        let settled = settled(predicate);
        let filter = LogicalPlan::Filter(Filter::try_new(settled.data, input)?);
        Ok(Transformed::new_transformed(filter, settled.transformed))
    }
}

/// The same condition without the operands of `OR` that are never true.
fn settled(condition: Expr) -> Transformed<Expr> {
    match condition {
        Expr::BinaryExpr(chain) if chain.op == Operator::And => {
            let (left, right) = (settled(*chain.left), settled(*chain.right));
            let is_changed = left.transformed || right.transformed;
            let chain = BinaryExpr::new(Box::new(left.data), Operator::And, Box::new(right.data));
            Transformed::new_transformed(Expr::BinaryExpr(chain), is_changed)
        }
        Expr::BinaryExpr(chain) if chain.op == Operator::Or && is_never_true(&chain.right) => {
            Transformed::yes(settled(*chain.left).data)
        }
        Expr::BinaryExpr(chain) if chain.op == Operator::Or && is_never_true(&chain.left) => {
            Transformed::yes(settled(*chain.right).data)
        }
        other => Transformed::no(other),
    }
}

/// Returns whether the constants in a condition show that it is false or NULL for each row.
fn is_never_true(condition: &Expr) -> bool {
    match condition {
        Expr::Literal(ScalarValue::Null | ScalarValue::Boolean(None | Some(false)), _) => true,
        Expr::BinaryExpr(chain) if chain.op == Operator::And => {
            is_never_true(&chain.left) || is_never_true(&chain.right)
        }
        Expr::BinaryExpr(chain) if chain.op == Operator::Or => {
            is_never_true(&chain.left) && is_never_true(&chain.right)
        }
        _ => false,
    }
}
