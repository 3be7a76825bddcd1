//! A table of an outer query whose name is also that of a column: `EXISTS (SELECT 1 FROM r WHERE r.dev = dev.id)` in a
//! query over `dev`, where `r` has a column `dev`. DataFusion mistakes `dev.id` for a field of that column. With a
//! schema before it, it is the column of the table.
//!
//! A column of an outer query that a subquery selects without its table's name, as in
//! `FROM t, LATERAL (SELECT b FROM u)`, is named by an alias. DataFusion calls it by a text of its own.
//!
//! No upstream issue known.

use super::named_tables::NamedTables;
use super::output_names::name_of;
use super::shown_columns::ShownColumns;
use crate::text::relations::alias_of;
use crate::text::tree_walk::visit_mut;
use atsdb_core::name::same_name;
use atsdb_core::{PUBLIC_SCHEMA, Table};
use datafusion::sql::sqlparser::ast::{
    Expr, FromTable, Ident, ObjectName, Query, Select, SelectItem, Statement, TableFactor, TableWithJoins,
    UpdateTableFromKind, VisitorMut,
};
use std::ops::ControlFlow;

/// Writes schemas before such names.
pub(crate) fn name_outer_tables(statement: &mut Statement, tables: &[Table]) {
    if !tables.is_empty() {
        let (named, shown) = (NamedTables::new(tables), ShownColumns::new(tables));
        let _ = visit_mut(statement, &mut OuterTables { tables: named, shown, scopes: Vec::new() });
    }
}

struct OuterTables<'a> {
    tables: NamedTables<'a>,
    shown: ShownColumns<'a>,
    /// The tables of the queries that the visitor is inside of.
    scopes: Vec<Scope>,
}

/// The tables of a query.
#[derive(Default)]
struct Scope {
    shown: Vec<ShownTable>,
    /// The columns that they are known to have.
    columns: Vec<String>,
    /// Whether there are relations whose columns are not known.
    has_others: bool,
}

struct ShownTable {
    name: String,
    schema: Option<String>,
}

impl Scope {
    fn find(&self, name: &Ident) -> Option<&ShownTable> {
        self.shown.iter().find(|table| same_name(&table.name, &name.value))
    }

    fn add_all<'f>(&mut self, from: impl IntoIterator<Item = &'f TableWithJoins>, known: &OuterTables<'_>) {
        for from in from {
            self.add(&from.relation, known);
            from.joins.iter().for_each(|join| self.add(&join.relation, known));
        }
    }

    fn add(&mut self, factor: &TableFactor, known: &OuterTables<'_>) {
        let name = match factor {
            TableFactor::NestedJoin { table_with_joins, alias: None } => {
                return self.add_all([table_with_joins.as_ref()], known);
            }
            TableFactor::Table { name, args: None, .. } => Some(name),
            _ => None,
        };
        self.has_others |= known.tables.relation(factor).is_none();
        self.columns.extend(known.shown.of_relation(factor));
        let shown = match (alias_of(factor), name.and_then(parts_of)) {
            (Some(alias), _) => ShownTable { name: alias.name.value.clone(), schema: None },
            (None, Some(shown)) => shown,
            (None, None) => return,
        };
        self.shown.push(shown);
    }
}

/// Gives the selected columns that no relation of the SELECT has their names. The name of a relation is a whole row.
fn name_outer_columns(items: &mut [SelectItem], own: &Scope, outer: &[Scope]) {
    if own.has_others {
        return;
    }
    for item in items {
        if let SelectItem::UnnamedExpr(expr @ Expr::Identifier(_)) = item
            && let Some(alias) = name_of(expr)
            && !own.columns.iter().any(|column| same_name(column, &alias.value))
            && std::iter::once(own).chain(outer).all(|scope| scope.find(&alias).is_none())
        {
            *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
        }
    }
}

fn parts_of(name: &ObjectName) -> Option<ShownTable> {
    let mut parts = name.0.iter().rev().filter_map(|part| part.as_ident());
    let name = parts.next()?.value.clone();
    Some(ShownTable { name, schema: parts.next().map(|schema| schema.value.clone()) })
}

impl VisitorMut for OuterTables<'_> {
    type Break = ();

    fn pre_visit_statement(&mut self, statement: &mut Statement) -> ControlFlow<()> {
        let mut scope = Scope::default();
        match statement {
            Statement::Update(update) => {
                scope.add_all([&update.table], self);
                if let Some(UpdateTableFromKind::BeforeSet(from) | UpdateTableFromKind::AfterSet(from)) = &update.from {
                    scope.add_all(from, self);
                }
            }
            Statement::Delete(delete) => {
                let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
                scope.add_all(from.iter().chain(delete.using.iter().flatten()), self);
            }
            Statement::Merge(merge) => {
                scope.add(&merge.table, self);
                scope.add(&merge.source, self);
            }
            _ => return ControlFlow::Continue(()),
        }
        self.scopes.push(scope);
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.tables.hide(query);
        self.shown.hide(query);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        let mut scope = Scope::default();
        scope.add_all(&select.from, self);
        self.scopes.push(scope);
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        if let Some(own) = self.scopes.pop()
            && !self.scopes.is_empty()
        {
            name_outer_columns(&mut select.projection, &own, &self.scopes);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::CompoundIdentifier(parts) = expr else { return ControlFlow::Continue(()) };
        let ([table, _], Some((own, outer))) = (parts.as_slice(), self.scopes.split_last()) else {
            return ControlFlow::Continue(());
        };
        if own.find(table).is_none()
            && own.columns.iter().any(|column| same_name(column, &table.value))
            && let Some(shown) = outer.iter().rev().find_map(|scope| scope.find(table))
        {
            let schema = shown.schema.clone().unwrap_or_else(|| PUBLIC_SCHEMA.to_owned());
            parts.insert(0, Ident::with_quote('"', schema));
        }
        ControlFlow::Continue(())
    }
}
