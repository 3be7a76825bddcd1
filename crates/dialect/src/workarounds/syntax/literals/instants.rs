//! The columns of queries and of `RETURNING` that are instants, such as `now()` and `TIMESTAMPTZ '...'`, though their
//! types have no zone: they get that of columns of tables. What selects from a subquery knows them by it, and so do
//! clients, which would take a time without a zone as a local one.
//!
//! Part of [`times`](super::times), which knows instants by their text.

use super::times::is_instant;
use crate::workarounds::syntax::names::output_names::{distinct, text_of};
use crate::workarounds::syntax::{expression, set_arguments};
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::{
    Distinct, Expr, OrderBy, OrderByKind, Query, SelectItem, SetExpr, Statement, Values,
};

/// Marks the instants among the columns of a query.
pub(crate) fn mark_instants(query: &mut Query) -> Result<()> {
    if let SetExpr::Select(select) = query.body.as_ref()
        && matches!(select.distinct, Some(Distinct::Distinct))
        && let Some(OrderBy { kind: OrderByKind::Expressions(orders), .. }) = &mut query.order_by
    {
        // Distinct rows are sorted by expressions of the SELECT list only, which are compared as they are written.
        for order in orders.iter_mut().filter(|order| is_instant(&order.expr)) {
            order.expr = marked(&order.expr)?;
        }
    }
    in_body(&mut query.body)
}

/// Marks the instants that a statement returns about the rows that it has changed.
pub(crate) fn mark_returned_instants(statement: &mut Statement) -> Result<()> {
    let returned = match statement {
        Statement::Insert(insert) => &mut insert.returning,
        Statement::Update(update) => &mut update.returning,
        Statement::Delete(delete) => &mut delete.returning,
        _ => return Ok(()),
    };
    returned.as_deref_mut().map_or(Ok(()), in_items)
}

fn in_body(body: &mut SetExpr) -> Result<()> {
    match body {
        SetExpr::Select(select) => in_items(&mut select.projection),
        SetExpr::SetOperation { left, right, .. } => {
            in_body(left)?;
            in_body(right)
        }
        SetExpr::Values(values) => in_rows(values),
        _ => Ok(()),
    }
}

/// Marks the instants among the items of a SELECT list or of RETURNING.
fn in_items(items: &mut [SelectItem]) -> Result<()> {
    for (position, item) in items.iter_mut().enumerate() {
        match item {
            SelectItem::UnnamedExpr(expr) if is_instant(expr) => {
                let alias = distinct(&text_of(expr), position);
                *item = SelectItem::ExprWithAlias { expr: marked(expr)?, alias };
            }
            SelectItem::ExprWithAlias { expr, .. } if is_instant(expr) => *expr = marked(expr)?,
            _ => {}
        }
    }
    Ok(())
}

/// Marks the columns whose values are all instants.
fn in_rows(values: &mut Values) -> Result<()> {
    let width = values.rows.first().map_or(0, |row| row.content.len());
    for position in 0..width {
        if !values.rows.iter().all(|row| row.content.get(position).is_some_and(is_instant)) {
            continue;
        }
        for value in values.rows.iter_mut().filter_map(|row| row.content.get_mut(position)) {
            *value = marked(value)?;
        }
    }
    Ok(())
}

/// A time with the zone of columns of tables.
pub(crate) fn marked(instant: &Expr) -> Result<Expr> {
    let mut call = expression("as_instant(NULL)")?;
    set_arguments(&mut call, vec![instant.clone()]);
    Ok(call)
}
