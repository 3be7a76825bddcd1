//! `EXCEPT ALL` and `INTERSECT ALL` depend on how often a row occurs; DataFusion only checks whether it occurs. After
//! equal rows are numbered, they are `EXCEPT` and `INTERSECT`.
//!
//! Waits for [#12956](https://github.com/apache/datafusion/issues/12956) and
//! [#12955](https://github.com/apache/datafusion/issues/12955).

use crate::text::errors::not_supported;
use crate::text::relations::columns_of_values;
use crate::text::result_names::result_name;
use crate::text::tree_walk::visit_mut;
use atsdb_core::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, Query, Select, SelectItem, SetExpr, SetOperator, SetQuantifier, Statement, TableFactor, VisitorMut,
    WildcardAdditionalOptions,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use std::ops::ControlFlow;

/// Rewrites the set operations of a query. Subqueries are rewritten as queries of their own.
pub(crate) fn count_rows(query: &mut Query) -> Result<()> {
    of_body(&mut query.body)
}

fn of_body(body: &mut SetExpr) -> Result<()> {
    let SetExpr::SetOperation { op, set_quantifier, left, right } = body else { return Ok(()) };
    of_body(left)?;
    of_body(right)?;
    let (SetOperator::Except | SetOperator::Intersect, SetQuantifier::All) = (&*op, &*set_quantifier) else {
        return Ok(());
    };
    let Some(names) = names(left, ToString::to_string) else {
        let hint = "name the columns instead of *";
        return Err(not_supported(format_args!("{op} ALL of all columns")).with_hint(hint));
    };
    *body = numbered(*op, &names, left.as_ref().clone(), right.as_ref().clone())?;
    Ok(())
}

/// The names of the columns, where `name_of` names those without a name; `None` if a `*` hides their number.
fn names(body: &SetExpr, name_of: fn(&Expr) -> String) -> Option<Vec<String>> {
    match body {
        SetExpr::Select(select) => of_select(select, name_of),
        SetExpr::Query(query) => names(&query.body, name_of),
        SetExpr::SetOperation { left, .. } => names(left, name_of),
        SetExpr::Values(values) => Some(columns_of_values(values)),
        _ => None,
    }
}

fn of_select(select: &Select, name_of: fn(&Expr) -> String) -> Option<Vec<String>> {
    if let ([SelectItem::Wildcard(options)], [from]) = (select.projection.as_slice(), select.from.as_slice())
        && *options == WildcardAdditionalOptions::default()
        && from.joins.is_empty()
    {
        return of_subquery(&from.relation);
    }
    let name = |item: &SelectItem| match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.clone()),
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => Some(name.value.clone()),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(names)) => names.last().map(|name| name.value.clone()),
        SelectItem::UnnamedExpr(expr) => Some(name_of(expr)),
        _ => None,
    };
    select.projection.iter().map(name).collect()
}

/// The names of the columns of a subquery in FROM. Its alias may name the first ones.
fn of_subquery(relation: &TableFactor) -> Option<Vec<String>> {
    let TableFactor::Derived { subquery, alias, .. } = relation else { return None };
    let name_of = |expr: &Expr| result_name(expr).map_or_else(|| expr.to_string(), |name| name.value);
    let mut names = names(&subquery.body, name_of)?;
    let renamed = alias.iter().flat_map(|alias| &alias.columns);
    for (name, column) in names.iter_mut().zip(renamed) {
        name.clone_from(&column.name.value);
    }
    Some(names)
}

fn numbered(op: SetOperator, names: &[String], left: SetExpr, right: SetExpr) -> Result<SetExpr> {
    let columns: Vec<String> = (0..names.len()).map(|column| format!("c{column}")).collect();
    let shown: Vec<String> =
        columns.iter().zip(names).map(|(column, name)| format!("{column} AS {}", quoted(name))).collect();
    let columns = columns.join(", ");
    let side = |alias: &str| {
        format!(
            "SELECT {columns}, row_number() OVER (PARTITION BY {columns}) AS n FROM (SELECT 1) AS {alias}({columns})"
        )
    };
    let sql = format!("SELECT {} FROM ({} {op} {}) AS d", shown.join(", "), side("l"), side("r"));
    let internal = |error: &dyn std::fmt::Display| Error::internal(format!("{sql}: {error}"));
    let mut statements = Parser::parse_sql(&GenericDialect, &sql).map_err(|error| internal(&error))?;
    let _ = visit_mut(&mut statements, &mut TemplateFiller { sides: vec![right, left] });
    match statements.pop() {
        Some(Statement::Query(query)) => Ok(*query.body),
        _ => Err(internal(&"no query")),
    }
}

fn quoted(name: &str) -> Ident {
    Ident::with_quote('"', name)
}

/// Inserts the sides into the template's innermost queries.
struct TemplateFiller {
    sides: Vec<SetExpr>,
}

impl VisitorMut for TemplateFiller {
    type Break = ();

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Derived { subquery, alias: Some(alias), .. } = factor
            && !alias.columns.is_empty()
            && let Some(side) = self.sides.pop()
        {
            *subquery.body = side;
        }
        ControlFlow::Continue(())
    }
}
