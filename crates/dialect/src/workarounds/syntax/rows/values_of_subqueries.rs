//! `VALUES ((SELECT 1), 2)`, and `LATERAL (VALUES (t.a), (t.b))`: DataFusion evaluates the rows of VALUES when it plans
//! them, before any subquery has run, and knows no columns there. Each row becomes a SELECT.
//!
//! No upstream issue known.

use crate::text::tree_walk::visit_expressions;
use crate::workarounds::syntax::query_body;
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::{Expr, Query, SelectItem, SetExpr, SetOperator, SetQuantifier};
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

/// Whether a value is computed from a subquery, or from a column of another table. In the rows of an INSERT, a name is
/// the word DEFAULT.
fn needs_select(value: &Expr, is_nested: bool) -> bool {
    let is_found = visit_expressions(value, |expr| match expr {
        Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => ControlFlow::Break(()),
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) if is_nested => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    is_found.is_break()
}

/// Whether a value is the word `DEFAULT`.
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
