//! `ARRAY(SELECT x FROM t ORDER BY y)`, which the parser knows as a call with a query, and DataFusion not at all: the
//! query collects its rows by `array_agg`, in their order. Without rows, the array is empty.
//!
//! No upstream issue known.

use crate::text::errors::{not_supported, sql_error};
use crate::text::tree_walk::visit_expressions;
use crate::workarounds::syntax::{expression, set_first_argument};
use atsdb_core::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    Distinct, Expr, Function, FunctionArgumentClause, FunctionArguments, GroupByExpr, OrderByExpr, OrderByKind, Query,
    Select, SelectItem, SetExpr, TableFactor, Value, ValueWithSpan,
};
use std::ops::ControlFlow;

/// Rewrites such an expression. Others stay.
pub(crate) fn collect_rows(expr: &mut Expr) -> Result<()> {
    let Expr::Function(Function { name, args: FunctionArguments::Subquery(query), .. }) = &*expr else { return Ok(()) };
    if !name.to_string().eq_ignore_ascii_case("array") {
        return Ok(());
    }
    let mut query = query.as_ref().clone();
    let order = order_of(&query)?;
    if let Some(item) = plain_item(&query, !order.is_empty()) {
        let of_item = |mut by: OrderByExpr| {
            if names_item(&by.expr, &item)
                && let Some(value) = value_of(&item)
            {
                by.expr = value.clone();
            }
            by
        };
        let call = collected(value_of(&item).cloned(), order.into_iter().map(of_item).collect())?;
        if let SetExpr::Select(select) = query.body.as_mut() {
            select.projection = vec![SelectItem::UnnamedExpr(call)];
        }
        query.order_by = None;
    } else {
        query = collected_from(query, order)?;
    }
    let mut array = expression("coalesce((SELECT NULL), '{}')")?;
    set_first_argument(&mut array, Expr::Subquery(Box::new(query)));
    *expr = array;
    Ok(())
}

/// The keys that a query is ordered by.
fn order_of(query: &Query) -> Result<Vec<OrderByExpr>> {
    match query.order_by.as_ref().map(|order| &order.kind) {
        None => Ok(Vec::new()),
        Some(OrderByKind::Expressions(keys)) => Ok(keys.clone()),
        Some(OrderByKind::All(_)) => Err(not_supported("ARRAY(SELECT ... ORDER BY ALL)").with_hint("name the columns")),
    }
}

/// The column of a query whose rows are those of its tables; `None` for other queries. A function may be an aggregate
/// unless the rows have an order.
fn plain_item(query: &Query, has_order: bool) -> Option<SelectItem> {
    let select = select_of(query).filter(|_| query.limit_clause.is_none() && query.fetch.is_none())?;
    let is_grouped = !matches!(&select.group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty());
    let is_plain = select.distinct.is_none() && !is_grouped && select.having.is_none() && select.qualify.is_none();
    let [item] = select.projection.as_slice() else { return None };
    let found = visit_expressions(value_of(item)?, |expr| match expr {
        Expr::Function(call) if !has_order || returns_rows(call) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    (is_plain && found.is_continue()).then(|| item.clone())
}

fn returns_rows(call: &Function) -> bool {
    let name = call.name.to_string().to_ascii_lowercase();
    ["unnest", "generate_series", "regexp_matches", "regexp_split_to_table"].contains(&name.as_str())
        || name.starts_with("json")
}

fn select_of(query: &Query) -> Option<&Select> {
    match query.body.as_ref() {
        SetExpr::Select(select) => Some(select),
        _ => None,
    }
}

fn value_of(item: &SelectItem) -> Option<&Expr> {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    }
}

/// Returns whether a key of an order means the only column: by its position, its alias or its text.
fn names_item(key: &Expr, item: &SelectItem) -> bool {
    match (key, item) {
        (Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }), _) => digits == "1",
        (Expr::Identifier(name), SelectItem::ExprWithAlias { alias, .. }) if *name == *alias => true,
        (key, item) => value_of(item) == Some(key),
    }
}

/// `array_agg(value ORDER BY order)`.
fn collected(value: Option<Expr>, order: Vec<OrderByExpr>) -> Result<Expr> {
    let mut call = expression("array_agg(NULL)")?;
    if let Some(value) = value {
        set_first_argument(&mut call, value);
    }
    if let Expr::Function(Function { args: FunctionArguments::List(list), .. }) = &mut call
        && !order.is_empty()
    {
        list.clauses.push(FunctionArgumentClause::OrderBy(order));
    }
    Ok(call)
}

/// `SELECT array_agg(element) FROM (query) AS elements (element)`, which collects the rows in the order of the query.
/// The rows of a `DISTINCT ON` lose theirs, and are ordered by its keys, which become further columns.
fn collected_from(mut query: Query, order: Vec<OrderByExpr>) -> Result<Query> {
    let mut keys = Vec::new();
    let mut names = "element".to_owned();
    if let SetExpr::Select(select) = query.body.as_mut() {
        if select.projection.len() > 1 {
            return Err(sql_error("subquery must return only one column"));
        }
        if matches!(select.distinct, Some(Distinct::On(_))) {
            let item = select.projection.first().cloned();
            for (number, by) in order.into_iter().enumerate() {
                let is_element = item.as_ref().is_some_and(|item| names_item(&by.expr, item));
                let name = if is_element { "element".to_owned() } else { format!("key{number}") };
                let key = OrderByExpr { expr: expression(&name)?, ..by.clone() };
                if !is_element {
                    names = format!("{names}, {name}");
                    select.projection.push(SelectItem::UnnamedExpr(by.expr));
                }
                keys.push(key);
            }
        }
    }
    let call = collected(Some(expression("element")?), keys)?;
    let text = format!("(SELECT NULL FROM (SELECT NULL) AS elements ({names}))");
    let Expr::Subquery(mut outer) = expression(&text)? else {
        return Err(Error::internal("a SELECT in parentheses is not a subquery"));
    };
    if let SetExpr::Select(select) = outer.body.as_mut() {
        select.projection = vec![SelectItem::UnnamedExpr(call)];
        if let Some(TableFactor::Derived { subquery, .. }) = select.from.first_mut().map(|from| &mut from.relation) {
            **subquery = query;
        }
    }
    Ok(*outer)
}
