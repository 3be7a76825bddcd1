//! `ORDER BY ALL` sorts by all columns of the answer, from the first one on, as in DuckDB. It becomes the positions of
//! the columns: DataFusion sorts by their names, and refuses columns that are computed. Where it is not known how many
//! columns a `*` means, all items are columns, and DataFusion's way is left.
//!
//! No upstream issue known.

use crate::text::relations::{merges_columns, relations_of};
use crate::text::tree_walk::visit_mut;
use crate::workarounds::syntax::names::named_tables::NamedTables;
use atsdb_core::Table;
use atsdb_core::name::same_name;
use datafusion::sql::sqlparser::ast::{
    Expr, OrderBy, OrderByExpr, OrderByKind, Query, Select, SelectFlavor, SelectItem, SelectItemQualifiedWildcardKind,
    SetExpr, Statement, Value, VisitorMut, WildcardAdditionalOptions,
};
use std::ops::ControlFlow;

/// Writes the positions of columns in the `ORDER BY`s of a statement over these tables.
pub(crate) fn order_by_positions(statement: &mut Statement, tables: &[Table]) {
    let _ = visit_mut(statement, &mut OrderAll { tables: NamedTables::new(tables) });
}

struct OrderAll<'a> {
    tables: NamedTables<'a>,
}

impl VisitorMut for OrderAll<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.tables.hide(query);
        let Some(OrderBy { kind, .. }) = &mut query.order_by else { return ControlFlow::Continue(()) };
        if let OrderByKind::All(options) = kind
            && let Some(width) = self.width(&query.body)
        {
            let position = |number: usize| OrderByExpr {
                expr: Expr::value(Value::Number(number.to_string(), false)),
                options: *options,
                with_fill: None,
            };
            *kind = OrderByKind::Expressions((1..=width).map(position).collect());
        }
        ControlFlow::Continue(())
    }
}

impl OrderAll<'_> {
    /// The number of columns of a query, if it is known.
    fn width(&self, body: &SetExpr) -> Option<usize> {
        match body {
            // The `*` of `FROM t` without SELECT is not written yet.
            SetExpr::Select(select) if select.flavor == SelectFlavor::FromFirstNoSelect => self.width_of_all(select),
            SetExpr::Select(select) => select.projection.iter().map(|item| self.width_of_item(item, select)).sum(),
            SetExpr::Query(query) => self.width(&query.body),
            SetExpr::SetOperation { left, .. } => self.width(left),
            SetExpr::Values(values) => values.rows.first().map(|row| row.content.len()),
            _ => None,
        }
    }

    fn width_of_item(&self, item: &SelectItem, select: &Select) -> Option<usize> {
        let is_plain = |options: &WildcardAdditionalOptions| *options == WildcardAdditionalOptions::default();
        match item {
            SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. } => Some(1),
            SelectItem::Wildcard(options) if is_plain(options) => self.width_of_all(select),
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options)
                if is_plain(options) =>
            {
                let name = name.0.last()?.as_ident()?;
                let mut relations = relations_of(&select.from).filter_map(|relation| self.tables.relation(relation));
                let named = relations.find(|(shown, _)| same_name(&shown.value, &name.value));
                named.map(|(_, columns)| columns.len())
            }
            _ => None,
        }
    }

    /// The number of columns that a `*` shows.
    fn width_of_all(&self, select: &Select) -> Option<usize> {
        if merges_columns(&select.from) {
            return None;
        }
        let widths = relations_of(&select.from).map(|relation| self.tables.relation(relation));
        widths.map(|relation| relation.map(|(_, columns)| columns.len())).sum()
    }
}
