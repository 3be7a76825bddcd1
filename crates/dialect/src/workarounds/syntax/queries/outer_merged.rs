//! A column that `USING` merges, in a subquery: `FROM a JOIN b USING (k) WHERE EXISTS (SELECT 1 FROM c WHERE c.x = k)`.
//! DataFusion finds no such column outside of the subquery, so its value is written. A subquery over a relation whose
//! columns are not known, such as a view, needs the name of a table before the column.
//!
//! Part of [`using`](super::using).

use super::using::{Merged, merged_in};
use crate::text::tree_walk::visit_mut;
use crate::workarounds::syntax::names::relation_columns::RelationColumns;
use atsdb_core::Table;
use atsdb_core::name::same_name;
use datafusion::sql::sqlparser::ast::{Expr, Ident, Query, Select, SelectItem, Statement, VisitorMut};
use std::ops::ControlFlow;

/// Writes the values of such columns.
pub(crate) fn write_outer_merged(statement: &mut Statement, tables: &[Table]) {
    let _ = visit_mut(statement, &mut OuterMerged { relations: RelationColumns::new(tables), scopes: Vec::new() });
}

struct OuterMerged<'a> {
    relations: RelationColumns<'a>,
    /// The scopes of the queries and SELECTs that the visitor is inside of.
    scopes: Vec<Scope>,
}

/// The columns that names mean.
struct Scope {
    /// Those of the relations, and those of the answer that may be meant; `None` if they are not all known, or no outer
    /// query has merged columns.
    columns: Option<Vec<String>>,
    merged: Merged,
    /// Whether the scope is that of a query's `ORDER BY`, which subqueries elsewhere do not see.
    is_of_order: bool,
}

impl Scope {
    fn may_have(&self, name: &Ident) -> bool {
        let is_it = |column: &String| same_name(column, &name.value);
        self.merged.has(name) || self.columns.as_ref().is_none_or(|columns| columns.iter().any(is_it))
    }
}

impl OuterMerged<'_> {
    fn of_select(&self, select: &Select) -> Scope {
        let is_inside = self.scopes.iter().any(|scope| !scope.merged.is_empty());
        let mut columns = if is_inside { self.relations.of_from(&select.from) } else { None };
        if let Some(columns) = &mut columns {
            columns.extend(select.projection.iter().filter_map(own_alias));
        }
        Scope { columns, merged: merged_in(&select.from), is_of_order: false }
    }

    fn of_order(&self, query: &Query) -> Scope {
        let is_ordered = query.order_by.is_some();
        let columns = if is_ordered { None } else { Some(Vec::new()) };
        Scope { columns, merged: Merged::default(), is_of_order: true }
    }

    /// The value of the merged column of an outer query that a name means.
    fn value(&self, name: &Ident) -> Option<&Expr> {
        let (own, outer) = self.scopes.split_last()?;
        if own.may_have(name) {
            return None;
        }
        let mut outer = outer.iter().rev().filter(|scope| !scope.is_of_order);
        outer.find(|scope| scope.may_have(name)).and_then(|scope| scope.merged.value(name))
    }
}

/// The alias of an item, which `GROUP BY` may mean. A column keeps its name.
fn own_alias(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::ExprWithAlias { expr: Expr::Identifier(name), alias } if same_name(&name.value, &alias.value) => {
            None
        }
        SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.clone()),
        _ => None,
    }
}

impl VisitorMut for OuterMerged<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.relations.enter(query);
        self.scopes.push(self.of_order(query));
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.relations.leave();
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        self.scopes.push(self.of_select(select));
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(Expr::Identifier(name)) = item
                && let Some(expr) = self.value(name).cloned()
            {
                *item = SelectItem::ExprWithAlias { expr, alias: name.clone() };
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &mut Select) -> ControlFlow<()> {
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Identifier(name) = expr
            && let Some(value) = self.value(name).cloned()
        {
            *expr = value;
        }
        ControlFlow::Continue(())
    }
}
