//! `SELECT id, (SELECT max(id) AS id FROM u) FROM t`: DataFusion gives a subquery the name of its column, and refuses
//! it beside another item of this name. Such a subquery gets a name of its own.
//!
//! Part of [`output_names`](super::output_names), which explains why.

use super::distinct_name::{BESIDE_STARS, distinct};
use super::output_names::text_of;
use super::shown_columns::ShownColumns;
use crate::text::result_names::result_name;
use crate::text::tree_walk::visit_mut;
use crate::workarounds::syntax::has_answer;
use atsdb_core::Table;
use datafusion::sql::sqlparser::ast::{Expr, Query, Select, SelectItem, Statement, VisitorMut};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Names such subqueries in the SELECT lists of a statement over these tables.
pub(crate) fn name_subqueries(statement: &mut Statement, tables: &[Table]) {
    let depth = usize::from(!has_answer(statement));
    let _ = visit_mut(statement, &mut Subqueries { shown: ShownColumns::new(tables), depth });
}

struct Subqueries<'a> {
    shown: ShownColumns<'a>,
    /// The number of queries that the visitor is inside of; one more in a statement that has no answer.
    depth: usize,
}

impl VisitorMut for Subqueries<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.shown.hide(query);
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        if select.projection.len() < 2 || !select.projection.iter().any(is_unnamed_subquery) {
            return ControlFlow::Continue(());
        }
        let of_stars = self.shown.of_stars(select).into_iter().map(|name| name.to_lowercase());
        let mut counts: HashMap<String, usize> = HashMap::new();
        for name in select.projection.iter().filter_map(name_of_item).chain(of_stars) {
            *counts.entry(name).or_default() += 1;
        }
        for (position, item) in select.projection.iter_mut().enumerate() {
            let SelectItem::UnnamedExpr(expr) = item else { continue };
            let Some(name) = result_name(expr).filter(|_| is_subquery(expr)) else { continue };
            if counts.get(&name.value.to_lowercase()).is_some_and(|count| *count > 1) {
                // In an answer, it is shown by its text.
                let name = if self.depth > 1 { name.value } else { text_of(expr) };
                let alias = distinct(&name, BESIDE_STARS + position);
                *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
            }
        }
        ControlFlow::Continue(())
    }
}

fn is_unnamed_subquery(item: &SelectItem) -> bool {
    matches!(item, SelectItem::UnnamedExpr(expr) if is_subquery(expr))
}

fn is_subquery(expr: &Expr) -> bool {
    match expr {
        Expr::Subquery(_) => true,
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => is_subquery(inner),
        _ => false,
    }
}

/// The name of an item in lower case.
fn name_of_item(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.to_lowercase()),
        SelectItem::UnnamedExpr(expr) => result_name(expr).map(|name| name.value.to_lowercase()),
        _ => None,
    }
}
