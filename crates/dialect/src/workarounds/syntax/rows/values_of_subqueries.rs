//! `VALUES ((SELECT 1), 2)`, and `LATERAL (VALUES (t.a), (t.b))`: DataFusion evaluates the rows of VALUES when it plans
//! them, before any subquery has run, and knows no columns there. Each row becomes a SELECT. In the condition
//! `x IN (VALUES (1), (2))`, DataFusion finds no column to compare with: such VALUES become a table in FROM.
//!
//! No upstream issue known.

use crate::text::tree_walk::visit_expressions;
use crate::workarounds::syntax::{parsed_query, query_body};
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::{
    Expr, Query, SelectItem, SetExpr, SetOperator, SetQuantifier, TableFactor, Values,
};
use std::ops::ControlFlow;

/// Makes `SELECT ... UNION ALL SELECT ...` of VALUES that contain a subquery or, in a nested query, a column. The rows
/// of an INSERT stay while the word DEFAULT is in them.
pub fn select_rows(query: &mut Query, is_nested: bool) -> Result<()> {
    let SetExpr::Values(values) = query.body.as_mut() else { return Ok(()) };
    let has = |is_such: &dyn Fn(&Expr) -> bool| values.rows.iter().any(|row| row.iter().any(is_such));
    if !has(&|value| needs_select(value, is_nested)) || (!is_nested && has(&is_default)) {
        return Ok(());
    }
    let mut selects = None;
    for row in std::mem::take(&mut values.rows) {
        let select = select_row(row.content)?;
        selects = Some(match selects {
            None => select,
            Some(before) => SetExpr::SetOperation {
                op: SetOperator::Union,
                set_quantifier: SetQuantifier::All,
                left: Box::new(before),
                right: Box::new(select),
            },
        });
    }
    if let Some(selects) = selects {
        *query.body = selects;
    }
    Ok(())
}

/// Selects from the VALUES that a value is compared with: `x IN (SELECT * FROM (VALUES (1), (2)) AS listed)`.
pub(crate) fn select_listed(expr: &mut Expr) -> Result<()> {
    let Expr::InSubquery { subquery, .. } = expr else { return Ok(()) };
    let is_listed = |row: &[Expr]| matches!(row, [value] if !needs_select(value, true));
    if !values_in(&subquery.body).is_some_and(|values| values.rows.iter().all(|row| is_listed(&row.content))) {
        return Ok(());
    }
    let mut selecting = parsed_query("SELECT * FROM (SELECT NULL) AS listed")?;
    if let SetExpr::Select(select) = selecting.body.as_mut()
        && let Some(TableFactor::Derived { subquery: inner, .. }) =
            select.from.first_mut().map(|from| &mut from.relation)
    {
        std::mem::swap(inner, subquery);
    }
    *subquery = selecting;
    Ok(())
}

/// The VALUES that a body consists of, perhaps in parentheses.
fn values_in(body: &SetExpr) -> Option<&Values> {
    match body {
        SetExpr::Values(values) => Some(values),
        SetExpr::Query(query) => values_in(&query.body),
        _ => None,
    }
}

/// Returns whether a value is computed from a subquery, or from a column of another table. In the rows of an INSERT, a
/// name is the word DEFAULT.
fn needs_select(value: &Expr, is_nested: bool) -> bool {
    let is_found = visit_expressions(value, |expr| match expr {
        Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => ControlFlow::Break(()),
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) if is_nested => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    is_found.is_break()
}

/// Returns whether a value is the word `DEFAULT`.
pub fn is_default(value: &Expr) -> bool {
    matches!(value, Expr::Identifier(word)
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("default"))
}

/// A SELECT of one row, whose columns are named as those of VALUES.
fn select_row(row: Vec<Expr>) -> Result<SetExpr> {
    let columns: Vec<String> = (1..=row.len()).map(|column| format!("NULL AS column{column}")).collect();
    let mut body = query_body(&format!("SELECT {}", columns.join(", ")))?;
    if let SetExpr::Select(select) = &mut body {
        for (item, value) in select.projection.iter_mut().zip(row) {
            if let SelectItem::ExprWithAlias { expr, .. } = item {
                *expr = value;
            }
        }
    }
    Ok(body)
}
