//! The conditions of a join: their parts, and the relations that they compare.

use super::names::ident;
use super::relation::{ColumnName, find};
use atsdb::sql::tree_walk::visit_expressions;
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, FunctionArguments, Ident};
use std::ops::ControlFlow;

/// Collects the conjuncts of a condition.
pub(super) fn conjuncts<'a>(condition: &'a Expr, parts: &mut Vec<&'a Expr>) {
    match condition {
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => {
            conjuncts(left, parts);
            conjuncts(right, parts);
        }
        Expr::Nested(inner) => conjuncts(inner, parts),
        other => parts.push(other),
    }
}

/// Returns whether every name in an expression is one of these columns, and it has no subquery.
pub(super) fn is_about(expr: &Expr, columns: &[ColumnName]) -> bool {
    let mut names = 0;
    let outcome = visit_expressions(expr, |inner| {
        let is_known = match inner {
            Expr::Identifier(name) => find(columns, None, &ident(name)).is_some(),
            Expr::CompoundIdentifier(parts) => compound(parts, columns).is_some(),
            Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => false,
            Expr::Function(function) => !matches!(function.args, FunctionArguments::Subquery(_)),
            _ => return ControlFlow::Continue(()),
        };
        names += 1;
        if is_known { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    names > 0 && outcome.is_continue()
}

fn compound(parts: &[Ident], columns: &[ColumnName]) -> Option<usize> {
    let [.., table, name] = parts else { return None };
    find(columns, Some(&ident(table)), &ident(name))
}

/// The positions of both columns of `a.x = b.y`, if one belongs to the left relation and the other to the right.
pub(super) fn equality(part: &Expr, left: &[ColumnName], right: &[ColumnName]) -> Option<(usize, usize)> {
    let Expr::BinaryOp { left: one, op: BinaryOperator::Eq, right: two } = part else { return None };
    let position = |expr: &Expr, columns: &[ColumnName]| match expr {
        Expr::Identifier(name) => find(columns, None, &ident(name)),
        Expr::CompoundIdentifier(parts) => compound(parts, columns),
        _ => None,
    };
    let in_both = |expr: &Expr| position(expr, left).is_some() && position(expr, right).is_some();
    if in_both(one) || in_both(two) {
        return None;
    }
    match (position(one, left), position(two, right), position(two, left), position(one, right)) {
        (Some(left), Some(right), ..) | (_, _, Some(left), Some(right)) => Some((left, right)),
        _ => None,
    }
}
