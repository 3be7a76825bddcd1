//! Subqueries in the expressions of a plan.

use super::plan_walk::DynWalk;
use datafusion::logical_expr::Expr;

/// Returns whether an expression, apart from its parts, asks a subquery.
pub fn is_subquery(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_) | Expr::SetComparison(_))
}

/// Returns whether an expression or one of its parts asks a subquery.
pub fn has_subquery(expr: &Expr) -> bool {
    expr.dyn_exists(|part| Ok(is_subquery(part))).unwrap_or(true)
}
