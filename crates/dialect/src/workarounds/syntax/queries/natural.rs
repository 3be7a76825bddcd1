//! Joins of tables with merged columns. `NATURAL JOIN` becomes `JOIN ... USING` the columns that both have, because
//! DataFusion is wrong about `NATURAL RIGHT` and `FULL JOIN`. The `*` of several joins becomes the columns' names:
//! DataFusion shows merged columns at the places that they have in their tables.
//!
//! Waits for [#22881](https://github.com/apache/datafusion/issues/22881), as `USING` does.

use super::using::merges;
use crate::text::relations::{columns_of_values, name_of_relation, relations_of};
use crate::text::tree_walk::visit_mut;
use crate::workarounds::syntax::names::named_tables::{NamedTables, of_cte};
use crate::workarounds::syntax::names::output_names::name_of;
use crate::workarounds::syntax::names::relation_columns::columns_of;
use atsdb_core::Table;
use atsdb_core::name::same_name;
use datafusion::sql::sqlparser::ast::{
    Cte, Expr, Ident, JoinConstraint, JoinOperator, ObjectName, Query, Select, SelectItem, SetExpr, Statement,
    TableAlias, TableFactor, TableWithJoins, Value, VisitorMut,
};
use std::ops::ControlFlow;

/// Names the columns of natural joins of tables, subqueries and common table expressions. Joins with a view, or with a
/// subquery that selects the columns of one by `*`, stay as they are.
pub(crate) fn name_natural_columns(statement: &mut Statement, tables: &[Table]) {
    let mut joins = NaturalJoins { tables: NamedTables::new(tables), ctes: Vec::new(), outer_counts: Vec::new() };
    let _ = visit_mut(statement, &mut joins);
}

struct NaturalJoins<'a> {
    tables: NamedTables<'a>,
    /// The common table expressions that are known, and their columns if all have names.
    ctes: Vec<(String, Option<Vec<Ident>>)>,
    /// The number of them that were known outside of each query that the visitor is inside of.
    outer_counts: Vec<usize>,
}

impl VisitorMut for NaturalJoins<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let outer_count = self.ctes.len();
        for Cte { alias, query, .. } in query.with.iter().flat_map(|with| &with.cte_tables) {
            let name = ObjectName::from(vec![alias.name.clone()]);
            // In its own query such a name may mean what it hides elsewhere.
            let hides = self.tables.columns_of(&name).is_some() || self.columns_of_cte(&name).is_some();
            let columns = self.columns_of_subquery(query, Some(alias)).filter(|_| !hides);
            self.ctes.push((alias.name.value.clone(), columns));
        }
        self.outer_counts.push(outer_count);
        self.tables.hide(query);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        if let Some(count) = self.outer_counts.pop() {
            self.ctes.truncate(count);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        if select.from.iter().all(|from| from.joins.is_empty()) {
            return ControlFlow::Continue(());
        }
        let shown: Vec<_> = select.from.iter_mut().map(|from| self.name(from)).collect();
        if joins_several(&select.from)
            && select.from.iter().any(merges)
            && let Some(shown) = shown.into_iter().collect::<Option<Vec<_>>>()
            && let Some(columns) = columns_in_words(&shown.concat())
        {
            show(&columns, &mut select.projection);
        }
        ControlFlow::Continue(())
    }
}

/// A column that `*` shows.
#[derive(Clone)]
struct ShownColumn {
    /// The relation whose column has its values; `None` if several have, or the relation has no name.
    relation: Option<Ident>,
    name: Ident,
    is_merged: bool,
}

impl NaturalJoins<'_> {
    /// Returns the columns that `*` shows: merged ones first, those of the last join before the others. `None` if a
    /// relation's columns are not known.
    fn name(&self, from: &mut TableWithJoins) -> Option<Vec<ShownColumn>> {
        let mut left = self.columns_of(&mut from.relation);
        for join in &mut from.joins {
            let right = self.columns_of(&mut join.relation);
            let (constraint, is_of_left) = match &mut join.join_operator {
                JoinOperator::Join(constraint)
                | JoinOperator::Inner(constraint)
                | JoinOperator::Left(constraint)
                | JoinOperator::LeftOuter(constraint)
                | JoinOperator::CrossJoin(constraint) => (constraint, true),
                JoinOperator::Right(constraint)
                | JoinOperator::RightOuter(constraint)
                | JoinOperator::FullOuter(constraint) => (constraint, false),
                _ => return None,
            };
            let (Some(before), Some(right)) = (left.take(), right) else { return None };
            let is_shared = |name: &&Ident| right.iter().any(|other| same_name(&other.name.value, &name.value));
            let shared: Vec<Ident> = match constraint {
                JoinConstraint::Natural => {
                    before.iter().map(|column| &column.name).filter(is_shared).cloned().collect()
                }
                JoinConstraint::Using(names) => {
                    names.iter().filter_map(|name| name.0.last()?.as_ident()).cloned().collect()
                }
                _ => Vec::new(),
            };
            if shared.iter().any(|name| count(&before, name) > 1 || count(&right, name) > 1) {
                return None;
            }
            let is_merged = |name: &Ident| shared.iter().any(|other| same_name(&other.value, &name.value));
            if matches!(constraint, JoinConstraint::Natural) {
                *constraint = match shared.is_empty() {
                    true => JoinConstraint::On(Expr::value(Value::Boolean(true))),
                    false => {
                        JoinConstraint::Using(shared.iter().map(|name| ObjectName::from(vec![name.clone()])).collect())
                    }
                };
            }
            let merged = shared.iter().map(|name| {
                let of_left = before.iter().find(|column| same_name(&column.name.value, &name.value));
                let relation = of_left.filter(|_| is_of_left).and_then(|column| column.relation.clone());
                let name = of_left.map_or(name, |column| &column.name).clone();
                ShownColumn { relation, name, is_merged: true }
            });
            let others = before.iter().chain(&right).filter(|column| !is_merged(&column.name)).cloned();
            left = Some(merged.chain(others).collect());
        }
        left
    }

    fn columns_of(&self, relation: &mut TableFactor) -> Option<Vec<ShownColumn>> {
        if let TableFactor::NestedJoin { table_with_joins, alias: None } = relation {
            return self.name(table_with_joins);
        }
        let own_name = name_of_relation(relation);
        let names = self.names_of(relation)?.into_iter();
        Some(names.map(|name| ShownColumn { relation: own_name.cloned(), name, is_merged: false }).collect())
    }

    fn names_of(&self, relation: &TableFactor) -> Option<Vec<Ident>> {
        match relation {
            TableFactor::Derived { subquery, alias, .. } => self.columns_of_subquery(subquery, alias.as_ref()),
            TableFactor::Table { name, alias, args: None, .. } => match self.columns_of_cte(name) {
                Some(_) if alias.as_ref().is_some_and(|alias| !alias.columns.is_empty()) => None,
                Some(columns) => Some(columns.to_vec()),
                None => self.tables.relation(relation).map(|(_, columns)| columns),
            },
            _ => None,
        }
    }

    /// The columns of the common table expression that a name means; `None` if they are not known.
    fn columns_of_cte(&self, name: &ObjectName) -> Option<&[Ident]> {
        of_cte(&self.ctes, name)?.as_deref()
    }

    /// The columns of a subquery; `None` if neither its SELECT nor its alias names each of them.
    fn columns_of_subquery(&self, query: &Query, alias: Option<&TableAlias>) -> Option<Vec<Ident>> {
        let columns = alias.iter().flat_map(|alias| &alias.columns).map(|column| column.name.clone());
        let columns: Vec<Ident> = columns.collect();
        match columns.len() {
            0 => self.columns_of_body(&query.body, query.with.is_none()),
            count => (columns_of(&query.body)?.len() == count).then_some(columns),
        }
    }

    /// The columns that a query selects. A `WITH` of its own may give names other meanings than they have here.
    fn columns_of_body(&self, body: &SetExpr, has_same_names: bool) -> Option<Vec<Ident>> {
        match body {
            SetExpr::Select(select) => {
                let mut names = Vec::with_capacity(select.projection.len());
                for item in &select.projection {
                    match item {
                        SelectItem::UnnamedExpr(expr) => names.push(name_of(expr)?),
                        SelectItem::ExprWithAlias { alias, .. } => names.push(alias.clone()),
                        SelectItem::Wildcard(options) if *options == Default::default() && has_same_names => {
                            for from in &select.from {
                                names.extend(self.name(&mut from.clone())?.into_iter().map(|column| column.name));
                            }
                        }
                        _ => return None,
                    }
                }
                Some(names)
            }
            SetExpr::Values(values) => Some(columns_of_values(values).into_iter().map(Ident::new).collect()),
            SetExpr::Query(query) => self.columns_of_body(&query.body, has_same_names && query.with.is_none()),
            SetExpr::SetOperation { left, .. } => self.columns_of_body(left, has_same_names),
            _ => None,
        }
    }
}

/// Returns whether a FROM has more than two relations.
fn joins_several(from: &[TableWithJoins]) -> bool {
    let is_joined = |relation: &TableFactor| matches!(relation, TableFactor::NestedJoin { alias: None, .. });
    relations_of(from).nth(2).is_some() || relations_of(from).any(is_joined)
}

/// The number of columns with a name.
fn count(columns: &[ShownColumn], name: &Ident) -> usize {
    columns.iter().filter(|column| same_name(&column.name.value, &name.value)).count()
}

/// The columns as expressions. Those that share a name have that of their relation before it, as have merged columns
/// whose values are those of one relation; `None` if two columns would have the same name.
fn columns_in_words(columns: &[ShownColumn]) -> Option<Vec<Expr>> {
    let is_only_merged = |name: &Ident| {
        let mut same = columns.iter().filter(|other| other.is_merged && same_name(&other.name.value, &name.value));
        same.next().is_some() && same.next().is_none()
    };
    let words = |ShownColumn { relation, name, is_merged }: &ShownColumn| match relation {
        Some(relation) if *is_merged || count(columns, name) > 1 => {
            Some(Expr::CompoundIdentifier(vec![relation.clone(), name.clone()]))
        }
        None if count(columns, name) > 1 && !(*is_merged && is_only_merged(name)) => None,
        _ => Some(Expr::Identifier(name.clone())),
    };
    columns.iter().map(words).collect()
}

/// Replaces each plain `*` by columns.
fn show(columns: &[Expr], projection: &mut Vec<SelectItem>) {
    let is_all = |item: &SelectItem| matches!(item, SelectItem::Wildcard(options) if *options == Default::default());
    let items = std::mem::take(projection);
    projection.extend(items.into_iter().flat_map(|item| match is_all(&item) {
        true => columns.iter().cloned().map(SelectItem::UnnamedExpr).collect(),
        false => vec![item],
    }));
}
