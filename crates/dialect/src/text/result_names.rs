//! The names that PostgreSQL gives the expressions of a SELECT list.

use datafusion::sql::sqlparser::ast::{
    AccessExpr, DataType, Expr, Ident, Query, SelectItem, SetExpr, TrimWhereField, Value,
};

/// The name of an expression without an alias.
#[derive(Debug, Clone, PartialEq)]
pub enum ResultName<'a> {
    /// The name of a column, a function or a form.
    Own(Ident),
    /// `case`, which is not the name of a cast of it.
    Case,
    /// The name of a type: of a cast, or of a literal with a type.
    Type(&'a DataType),
    /// `bool`, the type of `true` and `false`.
    Bool,
    /// `interval`, the type of a literal.
    Interval,
    /// `?column?`.
    None,
}

impl<'a> ResultName<'a> {
    /// Returns the name of an expression.
    pub fn of(expr: &'a Expr) -> Self {
        let name = match expr {
            Expr::Identifier(name) => return Self::Own(name.clone()),
            Expr::CompoundIdentifier(names) => return names.last().cloned().map_or(Self::None, Self::Own),
            Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => return Self::of(inner),
            Expr::Cast { expr: inner, data_type, .. } => {
                return match Self::of(inner) {
                    Self::Own(name) => Self::Own(name),
                    _ => Self::Type(data_type),
                };
            }
            Expr::Case { else_result, .. } => {
                return match else_result.as_deref().map(Self::of) {
                    Some(Self::Own(name)) => Self::Own(name),
                    _ => Self::Case,
                };
            }
            Expr::Function(call) => {
                return call.name.0.last().and_then(|part| part.as_ident()).cloned().map_or(Self::None, Self::Own);
            }
            Expr::CompoundFieldAccess { root, access_chain } => {
                let field = access_chain.iter().rev().find_map(|access| match access {
                    AccessExpr::Dot(field) => Some(field),
                    AccessExpr::Subscript(_) => None,
                });
                return Self::of(field.unwrap_or(root));
            }
            Expr::Subquery(query) => return Self::of_query(query),
            Expr::TypedString(literal) => return Self::Type(&literal.data_type),
            Expr::Interval(_) => return Self::Interval,
            Expr::Value(literal) if matches!(literal.value, Value::Boolean(_)) => return Self::Bool,
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
            Expr::Exists { negated: false, .. } => "exists",
            Expr::Array(_) => "array",
            Expr::Tuple(_) => "row",
            _ => return Self::None,
        };
        Self::Own(Ident::with_quote('"', name))
    }

    /// The name of the only column of a query.
    fn of_query(query: &'a Query) -> Self {
        match items_of(query) {
            Some([SelectItem::ExprWithAlias { alias, .. }]) => Self::Own(alias.clone()),
            Some([SelectItem::UnnamedExpr(expr)]) => Self::of(expr),
            _ => Self::None,
        }
    }
}

/// The name of an expression; `None` for `?column?` and for the name of a type.
pub fn result_name(expr: &Expr) -> Option<Ident> {
    match ResultName::of(expr) {
        ResultName::Own(name) => Some(name),
        ResultName::Case => Some(Ident::with_quote('"', "case")),
        _ => None,
    }
}

/// The items of the first SELECT of a query, which name the columns of its answer.
pub fn items_of(query: &Query) -> Option<&[SelectItem]> {
    let mut body = query.body.as_ref();
    loop {
        body = match body {
            SetExpr::Select(select) => return Some(&select.projection),
            SetExpr::Query(query) => query.body.as_ref(),
            SetExpr::SetOperation { left, .. } => left.as_ref(),
            _ => return None,
        };
    }
}
