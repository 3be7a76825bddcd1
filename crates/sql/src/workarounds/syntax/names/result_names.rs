//! The names that PostgreSQL gives the expressions of a SELECT list. `ORDER BY` may mention them.
//!
//! Part of [`order_names`](crate::workarounds::syntax::queries::order_names).

use datafusion::sql::sqlparser::ast::{AccessExpr, Expr, Ident, Query, SelectItem, SetExpr, TrimWhereField};

/// The name of an expression; `None` for `?column?` and for the name of a type.
pub(crate) fn result_name(expr: &Expr) -> Option<Ident> {
    match expr {
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => result_name(inner),
        Expr::Case { else_result, .. } => {
            let of_result = else_result.as_deref().and_then(own_name);
            Some(of_result.unwrap_or_else(|| Ident::with_quote('"', "case")))
        }
        other => own_name(other),
    }
}

/// The name of a column or of a function, which stays the name of a cast and of a `CASE` over it.
fn own_name(expr: &Expr) -> Option<Ident> {
    let name = match expr {
        Expr::Identifier(name) => return Some(name.clone()),
        Expr::CompoundIdentifier(names) => return names.last().cloned(),
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } | Expr::Collate { expr: inner, .. } => {
            return own_name(inner);
        }
        Expr::Case { else_result, .. } => return else_result.as_deref().and_then(own_name),
        Expr::Function(call) => return call.name.0.last().and_then(|part| part.as_ident()).cloned(),
        Expr::CompoundFieldAccess { root, access_chain } => {
            let is_subscript = |access: &AccessExpr| matches!(access, AccessExpr::Subscript(_));
            return if access_chain.iter().all(is_subscript) { own_name(root) } else { None };
        }
        Expr::Subquery(query) => return name_of_query(query),
        Expr::Extract { .. } => "extract",
        Expr::AtTimeZone { .. } => "timezone",
        Expr::Ceil { .. } => "ceil",
        Expr::Floor { .. } => "floor",
        Expr::Position { .. } => "position",
        Expr::Substring { .. } => "substring",
        Expr::Overlay { .. } => "overlay",
        Expr::Trim { trim_where: Some(TrimWhereField::Leading), .. } => "ltrim",
        Expr::Trim { trim_where: Some(TrimWhereField::Trailing), .. } => "rtrim",
        Expr::Trim { .. } => "btrim",
        Expr::Exists { .. } => "exists",
        Expr::Array(_) => "array",
        Expr::Tuple(_) => "row",
        _ => return None,
    };
    Some(Ident::with_quote('"', name))
}

/// The name of the only column of a query.
fn name_of_query(query: &Query) -> Option<Ident> {
    let mut body = query.body.as_ref();
    let select = loop {
        body = match body {
            SetExpr::Select(select) => break select,
            SetExpr::Query(query) => query.body.as_ref(),
            SetExpr::SetOperation { left, .. } => left.as_ref(),
            _ => return None,
        };
    };
    match select.projection.as_slice() {
        [SelectItem::ExprWithAlias { alias, .. }] => Some(alias.clone()),
        [SelectItem::UnnamedExpr(expr)] => result_name(expr),
        _ => None,
    }
}
