//! `5 NOT IN (SELECT k ...)`. If the left side is a constant, DataFusion's join for NOT IN ignores that k may be NULL
//! (the answer is then NULL, not true). So such a condition becomes a comparison of counts.
//!
//! [#25340](https://github.com/apache/datafusion/issues/25340) is fixed upstream by
//! [#25348](https://github.com/apache/datafusion/pull/25348), which is not in 55.2. Waits for
//! [#25347](https://github.com/apache/datafusion/issues/25347) and
//! [#25473](https://github.com/apache/datafusion/issues/25473), too.

use crate::text::tree_walk::{visit_expressions, visit_expressions_mut};
use crate::workarounds::syntax::expression;
use atsdb_core::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, Query, Select, SelectFlavor, SelectItem, SetExpr, Statement, TableFactor,
};
use std::ops::ControlFlow;

/// Placeholders for the constant and for the expression that the subquery selects. No statement can write these names.
const CONSTANT: &str = "\u{1}constant";
const SELECTED: &str = "\u{1}selected";

/// Rewrites every `constant [NOT] IN (SELECT ...)` to count the rows that are equal, and those for which this is
/// unknown.
pub(crate) fn count_instead(statement: &mut Statement) -> Result<()> {
    let outcome = visit_expressions_mut(statement, |expr| {
        let Expr::InSubquery { expr: value, subquery, negated } = expr else { return ControlFlow::Continue(()) };
        if !is_constant(value) {
            return ControlFlow::Continue(());
        }
        match counted(value, subquery, *negated) {
            Ok(counted) => *expr = counted,
            Err(error) => return ControlFlow::Break(error),
        }
        ControlFlow::Continue(())
    });
    match outcome {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

fn counted(value: &Expr, subquery: &Query, negated: bool) -> Result<Expr> {
    let (found, missing) = if negated { ("false", "true") } else { ("true", "false") };
    let text = format!(
        "(SELECT CASE WHEN count(*) FILTER (WHERE \"{SELECTED}\" = \"{CONSTANT}\") > 0 THEN {found} \
         WHEN count(*) FILTER (WHERE (\"{SELECTED}\" = \"{CONSTANT}\") IS NULL) > 0 THEN NULL ELSE {missing} END \
         FROM (SELECT 1) AS in_rows(\"{SELECTED}\"))"
    );
    let mut counted = expression(&text)?;
    let Expr::Subquery(query) = &mut counted else { return Err(unexpected()) };
    // Expressions are inserted into the tree, not printed and parsed again, because the parser would read some of them
    // differently.
    let SetExpr::Select(count) = query.body.as_mut() else { return Err(unexpected()) };
    let selected = match plain_select(subquery) {
        // Counts in the subquery itself, because a condition on an outer table is only understood one level deep.
        Some((select, selected)) => {
            let projection = std::mem::take(&mut count.projection);
            **count = Select { projection, ..select.clone() };
            Some(Expr::Nested(Box::new(selected.clone())))
        }
        None => {
            let Some(TableFactor::Derived { subquery: rows, .. }) =
                count.from.first_mut().map(|from| &mut from.relation)
            else {
                return Err(unexpected());
            };
            **rows = subquery.clone();
            None
        }
    };
    let value = Expr::Nested(Box::new(value.clone()));
    let _ = visit_expressions_mut(&mut count.projection, |expr| {
        match (&*expr, &selected) {
            (Expr::Identifier(name), _) if name.value == CONSTANT => *expr = value.clone(),
            (Expr::Identifier(name), Some(selected)) if name.value == SELECTED => *expr = selected.clone(),
            _ => {}
        }
        ControlFlow::<()>::Continue(())
    });
    Ok(counted)
}

fn unexpected() -> Error {
    Error::internal("the template of a count is not a SELECT")
}

/// Returns a subquery's SELECT and its single expression, if the rows can be counted in the SELECT itself: it selects
/// one expression of each row that satisfies its conditions.
fn plain_select(query: &Query) -> Option<(&Select, &Expr)> {
    let Query { with: None, limit_clause: None, fetch: None, body, .. } = query else { return None };
    let SetExpr::Select(select) = body.as_ref() else { return None };
    let is_plain = select.distinct.is_none()
        && select.top.is_none()
        && select.having.is_none()
        && select.qualify.is_none()
        && select.flavor == SelectFlavor::Standard
        && !select.from.is_empty()
        && matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.is_empty());
    let [SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }] = select.projection.as_slice() else {
        return None;
    };
    // A function may be an aggregate.
    let is_simple = visit_expressions(expr, |inner| match inner {
        Expr::Function(_) | Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    (is_plain && is_simple.is_continue()).then_some((select, expr))
}

/// Returns whether an expression contains no column and no subquery.
fn is_constant(expr: &Expr) -> bool {
    let found = visit_expressions(expr, |inner| match inner {
        Expr::Identifier(_)
        | Expr::CompoundIdentifier(_)
        | Expr::CompoundFieldAccess { .. }
        | Expr::Subquery(_)
        | Expr::Exists { .. }
        | Expr::InSubquery { .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_continue()
}
