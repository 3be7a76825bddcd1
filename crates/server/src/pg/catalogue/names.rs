//! Names in queries.

use datafusion::sql::sqlparser::ast::{Expr, Function, Ident, ObjectName};

/// A name as PostgreSQL folds it: in lower case unless it is quoted.
pub(in crate::pg) fn ident(ident: &Ident) -> String {
    if ident.quote_style.is_some() { ident.value.clone() } else { ident.value.to_lowercase() }
}

/// The parts of a name.
pub(in crate::pg) fn parts(name: &ObjectName) -> Vec<String> {
    name.0.iter().filter_map(|part| part.as_ident()).map(ident).collect()
}

/// The schema, if the name is qualified, and the name.
pub(in crate::pg) fn schema_and_name(name: &ObjectName) -> (Option<String>, String) {
    let mut parts = parts(name);
    let last = parts.pop().unwrap_or_default();
    (parts.pop(), last)
}

/// The name of a function without its schema.
pub(in crate::pg) fn function_name(function: &Function) -> String {
    schema_and_name(&function.name).1
}

/// The name of an output column without an alias.
pub(in crate::pg) fn name_of_expression(expr: &Expr) -> String {
    match expr {
        Expr::Identifier(name) => ident(name),
        Expr::CompoundIdentifier(names) => names.last().map(ident).unwrap_or_default(),
        Expr::Function(function) => function_name(function),
        Expr::Cast { expr, data_type, .. } => match name_of_expression(expr).as_str() {
            "?column?" => super::type_names::type_name(data_type),
            name => name.to_owned(),
        },
        Expr::Case { else_result, .. } => match else_result.as_deref().map(name_of_expression).as_deref() {
            None | Some("?column?") => "case".to_owned(),
            Some(name) => name.to_owned(),
        },
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => name_of_expression(inner),
        Expr::CompoundFieldAccess { root, access_chain } => match access_chain.last() {
            Some(datafusion::sql::sqlparser::ast::AccessExpr::Dot(field)) => name_of_expression(field),
            _ => name_of_expression(root),
        },
        Expr::Exists { .. } => "exists".to_owned(),
        Expr::Array(_) => "array".to_owned(),
        Expr::Position { .. } => "position".to_owned(),
        Expr::Substring { .. } => "substring".to_owned(),
        Expr::Subquery(query) => match query.body.as_ref() {
            datafusion::sql::sqlparser::ast::SetExpr::Select(select) => match select.projection.first() {
                Some(datafusion::sql::sqlparser::ast::SelectItem::UnnamedExpr(expr)) => name_of_expression(expr),
                Some(datafusion::sql::sqlparser::ast::SelectItem::ExprWithAlias { alias, .. }) => ident(alias),
                _ => "?column?".to_owned(),
            },
            _ => "?column?".to_owned(),
        },
        _ => "?column?".to_owned(),
    }
}
