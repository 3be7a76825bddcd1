//! Rows as values: PostgreSQL shows the row of `SELECT (1, 'a')` as `(1,a)`, and casts it to this text. DataFusion has
//! structs, which it shows in a form of its own and casts to no text. So a row becomes its text where it is shown by
//! the outermost SELECT or cast to a text, also below others by `UNION ALL`. Rows that are sorted by, and those that
//! other set operations compare, stay as they are: their texts have another order.
//!
//! No upstream issue known.

use crate::text::tree_walk::visit_expressions_mut;
use crate::workarounds::syntax::{expression, set_arguments};
use atsdb_core::Result;
use atsdb_core::name::same_name;
use datafusion::sql::sqlparser::ast::{
    DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, OrderBy, OrderByKind, Query, Select,
    SelectItem, SetExpr, SetOperator, SetQuantifier, Statement, Value, ValueWithSpan,
};
use std::ops::ControlFlow;

/// Writes rows of values, `(1, 'a')` and `ROW(1, 'a')`, as texts.
pub(crate) fn write_row_texts(statement: &mut Statement) -> Result<()> {
    let outcome = visit_expressions_mut(statement, |expr| match text_operand(expr).map(write_row) {
        Some(Err(error)) => ControlFlow::Break(error),
        _ => ControlFlow::Continue(()),
    });
    if let ControlFlow::Break(error) = outcome {
        return Err(error);
    }
    match statement {
        Statement::Query(query) => {
            write_united_rows(query)?;
            change_shown(query, |item| expression_in(item).map_or(Ok(()), write_row))
        }
        _ => Ok(()),
    }
}

/// Writes the rows of a column that has one in each SELECT of a `UNION ALL`.
fn write_united_rows(query: &mut Query) -> Result<()> {
    let Query { body, order_by, .. } = query;
    let Some(mut selects) = united(body) else { return Ok(()) };
    let width = selects.iter().map(|select| select.projection.len()).min().unwrap_or(0);
    for position in 0..width {
        let is_row = |expr: &mut Expr| values_of(expr).is_some();
        let are_rows =
            selects.iter_mut().all(|select| expression_in(&mut select.projection[position]).is_some_and(is_row));
        let first = selects.first().map(|select| &select.projection[position]);
        let is_sorted =
            order_by.as_ref().zip(first).is_some_and(|(order_by, first)| sorts_by(order_by, first, position + 1));
        if !are_rows || is_sorted {
            continue;
        }
        for select in &mut selects {
            expression_in(&mut select.projection[position]).map_or(Ok(()), write_row)?;
        }
    }
    Ok(())
}

/// The SELECTs of a chain of `UNION ALL`; `None` for other bodies.
fn united(mut body: &mut SetExpr) -> Option<Vec<&mut Select>> {
    let mut selects: Vec<&mut Select> = Vec::new();
    loop {
        match body {
            SetExpr::SetOperation { op: SetOperator::Union, set_quantifier: SetQuantifier::All, left, right } => {
                let SetExpr::Select(select) = right.as_mut() else { return None };
                selects.push(select.as_mut());
                body = left.as_mut();
            }
            SetExpr::Select(select) if !selects.is_empty() => {
                selects.push(select.as_mut());
                selects.reverse();
                return Some(selects);
            }
            _ => return None,
        }
    }
}

/// The expression of an item.
fn expression_in(item: &mut SelectItem) -> Option<&mut Expr> {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    }
}

/// Changes the items of a query that it does not sort by.
pub(super) fn change_shown(query: &mut Query, mut change: impl FnMut(&mut SelectItem) -> Result<()>) -> Result<()> {
    let Query { body, order_by, .. } = query;
    let SetExpr::Select(select) = body.as_mut() else { return Ok(()) };
    for (position, item) in select.projection.iter_mut().enumerate() {
        if !order_by.as_ref().is_some_and(|order_by| sorts_by(order_by, item, position + 1)) {
            change(item)?;
        }
    }
    Ok(())
}

/// The operand of a cast to a text.
pub(super) fn text_operand(expr: &mut Expr) -> Option<&mut Expr> {
    let is_text = |data_type: &DataType| {
        matches!(data_type, DataType::Text | DataType::Varchar(None) | DataType::CharacterVarying(None))
    };
    match expr {
        Expr::Cast { expr: operand, data_type, .. } if is_text(data_type) => Some(operand.as_mut()),
        _ => None,
    }
}

/// The text of a row with these values.
pub(super) fn text_of_row(values: Vec<Expr>) -> Result<Expr> {
    let mut text = expression("row_text(NULL)")?;
    set_arguments(&mut text, values);
    Ok(text)
}

/// Writes the text of a row of values. Other expressions stay as they are.
fn write_row(expr: &mut Expr) -> Result<()> {
    if let Some(values) = values_of(expr) {
        *expr = text_of_row(values)?;
    }
    Ok(())
}

fn values_of(expr: &Expr) -> Option<Vec<Expr>> {
    match expr {
        Expr::Nested(inner) => values_of(inner),
        Expr::Tuple(values) if !values.is_empty() => Some(values.clone()),
        Expr::Function(Function { name, args: FunctionArguments::List(list), over: None, .. }) => {
            let [part] = name.0.as_slice() else { return None };
            let is_row = part.as_ident().is_some_and(|name| name.value.eq_ignore_ascii_case("row"));
            let value = |argument: &FunctionArg| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Some(value.clone()),
                _ => None,
            };
            let values = list.args.iter().map(value).collect::<Option<Vec<_>>>()?;
            (is_row && !values.is_empty()).then_some(values)
        }
        _ => None,
    }
}

/// Returns whether an `ORDER BY` has the item at a position, from 1: by its number, its alias or its expression.
fn sorts_by(order_by: &OrderBy, item: &SelectItem, position: usize) -> bool {
    let OrderByKind::Expressions(orders) = &order_by.kind else { return true };
    orders.iter().any(|order| match (&order.expr, item) {
        (Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }), _) => {
            digits.parse::<usize>() == Ok(position)
        }
        (Expr::Identifier(name), SelectItem::ExprWithAlias { alias, .. }) if same_name(&name.value, &alias.value) => {
            true
        }
        (by, SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) => by == expr,
        _ => false,
    })
}
