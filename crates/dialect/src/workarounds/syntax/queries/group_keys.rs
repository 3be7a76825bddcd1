//! `GROUP BY` the primary key of a table. Its other columns have one value in each group, so that they may be mentioned
//! outside of aggregates, as in PostgreSQL. They become groups, too. DataFusion knows this only of tables that declare
//! their key to it, and then groups by all of their columns.
//!
//! No upstream issue known: DataFusion cannot know the keys of other tables.
//! [#23027](https://github.com/apache/datafusion/issues/23027) is about groups by all columns.

use crate::text::relations::relations_of;
use crate::text::tree_walk::{SelectVisitor, visit_mut, visit_selects_mut};
use crate::workarounds::syntax::names::aggregate_names::is_aggregate;
use crate::workarounds::syntax::names::named_tables::NamedTables;
use crate::workarounds::syntax::names::stars::Stars;
use atsdb_core::Table;
use atsdb_core::name::same_name;
use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, Ident, OrderBy, OrderByExpr, OrderByKind, Query, Select, SelectItem, Statement, Value,
    ValueWithSpan, VisitorMut,
};
use std::ops::ControlFlow;

/// Completes the groups of each SELECT that groups by a primary key.
pub(crate) fn complete_groups(statement: &mut Statement, tables: &[Table]) {
    if tables.iter().any(|table| table.definition.unique.iter().any(|unique| unique.primary)) {
        let _ = visit_selects_mut(statement, &mut Completing { tables: NamedTables::new(tables) });
    }
}

struct Completing<'a> {
    tables: NamedTables<'a>,
}

impl SelectVisitor for Completing<'_> {
    type Break = ();

    fn enter_query(&mut self, query: &Query) {
        self.tables.hide(query);
    }

    fn visit_select(&mut self, select: &mut Select, order_by: Option<&mut OrderBy>, _: usize) -> ControlFlow<()> {
        match order_by {
            Some(OrderBy { kind: OrderByKind::Expressions(orders), .. }) => self.complete(select, orders),
            _ => self.complete(select, &[]),
        }
        ControlFlow::Continue(())
    }
}

impl Completing<'_> {
    fn complete(&self, select: &mut Select, orders: &[OrderByExpr]) {
        let GroupByExpr::Expressions(groups, modifiers) = &select.group_by else { return };
        let is_set = |group: &Expr| matches!(group, Expr::GroupingSets(_) | Expr::Rollup(_) | Expr::Cube(_));
        if groups.is_empty() || !modifiers.is_empty() || groups.iter().any(is_set) {
            return;
        }
        let mut grouped = Vec::new();
        groups.iter().for_each(|group| add_columns(group, &select.projection, &mut grouped));
        let mut added = Vec::new();
        for relation in relations_of(&select.from) {
            let (Some((name, columns)), Some(key)) = (self.tables.relation(relation), self.tables.key_of(relation))
            else {
                continue;
            };
            let is_grouped = |column: &str| grouped.iter().any(|group: &ColumnName| group.means(name, column));
            if !key.into_iter().all(is_grouped) {
                continue;
            }
            let (mentioned, stars) = (mentioned(select, orders), Stars::of(select));
            for column in columns.into_iter().filter(|column| !is_grouped(&column.value)) {
                let is_mentioned = mentioned.iter().any(|other| other.means(name, &column.value));
                let column = Expr::CompoundIdentifier(vec![name.clone(), column]);
                if is_mentioned || stars.contain(&column) {
                    added.push(column);
                }
            }
        }
        if let GroupByExpr::Expressions(groups, _) = &mut select.group_by {
            groups.extend(added);
        }
    }
}

/// The name of a column, with the name of its relation if it is qualified.
struct ColumnName {
    relation: Option<String>,
    name: String,
}

impl ColumnName {
    fn of(names: &[Ident]) -> Option<Self> {
        let (name, before) = names.split_last()?;
        Some(Self { relation: before.last().map(|relation| relation.value.clone()), name: name.value.clone() })
    }

    fn means(&self, relation: &Ident, column: &str) -> bool {
        same_name(&self.name, column)
            && self.relation.as_ref().is_none_or(|written| same_name(written, &relation.value))
    }
}

/// Adds the columns that a group consists of: by name, by an alias or the number of an item, or in a list.
fn add_columns(group: &Expr, items: &[SelectItem], columns: &mut Vec<ColumnName>) {
    match group {
        Expr::Nested(inner) => add_columns(inner, items, columns),
        Expr::Tuple(groups) => groups.iter().for_each(|group| add_columns(group, items, columns)),
        Expr::Identifier(name) => {
            columns.extend(ColumnName::of(std::slice::from_ref(name)));
            let aliased = items.iter().find_map(|item| match item {
                SelectItem::ExprWithAlias { expr, alias } if same_name(&alias.value, &name.value) => Some(expr),
                _ => None,
            });
            columns.extend(aliased.and_then(column_of));
        }
        Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) => {
            let item = digits.parse::<usize>().ok().and_then(|number| items.get(number.checked_sub(1)?));
            if let Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item {
                columns.extend(column_of(expr));
            }
        }
        other => columns.extend(column_of(other)),
    }
}

/// The column that an expression is.
fn column_of(expr: &Expr) -> Option<ColumnName> {
    match expr {
        Expr::Nested(inner) => column_of(inner),
        Expr::Identifier(name) => ColumnName::of(std::slice::from_ref(name)),
        Expr::CompoundIdentifier(names) => ColumnName::of(names),
        _ => None,
    }
}

/// The columns that a SELECT and its ORDER BY mention for each group, outside of aggregates.
fn mentioned(select: &Select, orders: &[OrderByExpr]) -> Vec<ColumnName> {
    let items = select.projection.iter().filter_map(|item| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    });
    let conditions = select.having.iter().chain(&select.qualify);
    let mut mentions = Mentions { columns: Vec::new() };
    for expr in items.chain(conditions).chain(orders.iter().map(|order| &order.expr)) {
        let _ = visit_mut(&mut expr.clone(), &mut mentions);
    }
    mentions.columns
}

/// Collects columns from a copy of an expression, and removes the aggregates from it before they are visited.
struct Mentions {
    columns: Vec<ColumnName>,
}

impl VisitorMut for Mentions {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if matches!(expr, Expr::Function(call) if is_aggregate(call)) {
            *expr = Expr::value(Value::Null);
        }
        self.columns.extend(column_of(expr));
        ControlFlow::Continue(())
    }
}
