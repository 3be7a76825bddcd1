//! The columns that relations of a statement are known to have: tables, common table expressions and subqueries.
//!
//! Part of [`order_names`](crate::workarounds::syntax::queries::order_names) and [`outer_names`](super::outer_names).

use super::named_tables::{NamedTables, of_cte};
use crate::text::relations::{columns_of_values, relations_of};
use crate::text::result_names::result_name;
use atsdb_core::Table;
use atsdb_core::name::same_name;
use datafusion::sql::sqlparser::ast::{
    Cte, Ident, ObjectName, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, TableFactor,
    WildcardAdditionalOptions,
};

/// The relations of a statement.
#[derive(Clone)]
pub(crate) struct ShownColumns<'a> {
    tables: NamedTables<'a>,
    /// The common table expressions, and the names that their columns are known to have.
    ctes: Vec<(String, Vec<String>)>,
}

impl<'a> ShownColumns<'a> {
    pub(crate) fn new(tables: &'a [Table]) -> Self {
        Self { tables: NamedTables::new(tables), ctes: Vec::new() }
    }

    /// Notes the common table expressions of a query.
    pub(crate) fn hide(&mut self, query: &Query) {
        self.tables.hide(query);
        for Cte { alias, query, .. } in query.with.iter().flat_map(|with| &with.cte_tables) {
            let columns = match alias.columns.as_slice() {
                [] => self.of_query(query),
                columns => columns.iter().map(|column| column.name.value.clone()).collect(),
            };
            self.ctes.push((alias.name.value.clone(), columns));
        }
    }

    /// Returns whether a column of this name is known to be in the relations of a SELECT.
    pub(crate) fn are_in(&self, select: &Select, name: &str) -> bool {
        self.of_relations(select, None).iter().any(|column| same_name(column, name))
    }

    fn of_query(&self, query: &Query) -> Vec<String> {
        if query.with.is_none() {
            return self.of_body(&query.body);
        }
        let mut inner = self.clone();
        inner.hide(query);
        inner.of_body(&query.body)
    }

    fn of_body(&self, body: &SetExpr) -> Vec<String> {
        let select = match body {
            SetExpr::Select(select) => select,
            SetExpr::Query(query) => return self.of_query(query),
            SetExpr::SetOperation { left, .. } => return self.of_body(left),
            SetExpr::Values(values) => return columns_of_values(values),
            _ => return Vec::new(),
        };
        let of_item = |item: &SelectItem| match item {
            SelectItem::UnnamedExpr(expr) => result_name(expr).into_iter().map(|name| name.value).collect(),
            SelectItem::ExprWithAlias { alias, .. } => vec![alias.value.clone()],
            star => self.of_star(star, select),
        };
        select.projection.iter().flat_map(of_item).collect()
    }

    /// The columns that the `*`s of a SELECT are known to show.
    pub(crate) fn of_stars(&self, select: &Select) -> Vec<String> {
        select.projection.iter().flat_map(|item| self.of_star(item, select)).collect()
    }

    /// Returns whether a SELECT has a `*` without any known column.
    pub(crate) fn has_unknown_star(&self, select: &Select) -> bool {
        let is_star = |item: &&SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
        select.projection.iter().filter(is_star).any(|item| self.of_star(item, select).is_empty())
    }

    /// The columns of an item that is a `*`.
    fn of_star(&self, item: &SelectItem, select: &Select) -> Vec<String> {
        let is_plain = |options: &WildcardAdditionalOptions| *options == WildcardAdditionalOptions::default();
        match item {
            SelectItem::Wildcard(options) if is_plain(options) => self.of_relations(select, None),
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options)
                if is_plain(options) =>
            {
                last(name).map(|wanted| self.of_relations(select, Some(wanted))).unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }

    /// The columns of the relations of a SELECT, or of those with a name.
    fn of_relations(&self, select: &Select, wanted: Option<&Ident>) -> Vec<String> {
        let is_wanted = |relation: &&TableFactor| {
            wanted.is_none_or(|wanted| shown_name(relation).is_some_and(|name| same_name(&name.value, &wanted.value)))
        };
        let relations = relations_of(&select.from).filter(is_wanted);
        relations.flat_map(|relation| self.of_relation(relation)).collect()
    }

    /// The columns that a relation is known to have.
    pub(super) fn of_relation(&self, relation: &TableFactor) -> Vec<String> {
        let (TableFactor::Table { alias, .. } | TableFactor::Derived { alias, .. }) = relation else {
            return Vec::new();
        };
        match (alias, relation) {
            (Some(alias), _) if !alias.columns.is_empty() => {
                alias.columns.iter().map(|column| column.name.value.clone()).collect()
            }
            (_, TableFactor::Table { name, args: None, .. }) => match self.tables.columns_of(name) {
                Some(columns) => columns.into_iter().map(str::to_owned).collect(),
                None => of_cte(&self.ctes, name).cloned().unwrap_or_default(),
            },
            (_, TableFactor::Derived { subquery, .. }) => self.of_query(subquery),
            _ => Vec::new(),
        }
    }
}

/// The name of a relation in its statement.
pub(crate) fn shown_name(relation: &TableFactor) -> Option<&Ident> {
    match relation {
        TableFactor::Table { alias: Some(alias), .. } | TableFactor::Derived { alias: Some(alias), .. } => {
            Some(&alias.name)
        }
        TableFactor::Table { name, args: None, .. } => last(name),
        _ => None,
    }
}

fn last(name: &ObjectName) -> Option<&Ident> {
    name.0.last().and_then(|part| part.as_ident())
}
