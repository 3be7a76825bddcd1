//! `SELECT date_trunc('day', time), count(*) FROM t GROUP BY date_trunc`: a name that no table has means a column of
//! the answer, where calls and casts have the names of their function and of their column. It becomes the column's
//! position.
//!
//! No upstream issue known.

use super::order_names::position_of;
use crate::text::tree_walk::visit_mut;
use crate::workarounds::syntax::names::relation_columns::RelationColumns;
use atsdb_core::Table;
use atsdb_core::name::same_name;
use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, Ident, Query, Select, SelectItem, Statement, Value, VisitorMut,
};
use std::ops::ControlFlow;

/// Writes positions for such names in the `GROUP BY`s of a statement over these tables. Names beside a relation whose
/// columns are not known stay.
pub(crate) fn count_group_names(statement: &mut Statement, tables: &[Table]) {
    let _ = visit_mut(statement, &mut GroupNames(RelationColumns::new(tables)));
}

struct GroupNames<'a>(RelationColumns<'a>);

impl VisitorMut for GroupNames<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.0.enter(query);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.0.leave();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        let positions = self.positions(select);
        if let GroupByExpr::Expressions(groups, _) = &mut select.group_by {
            for (group, position) in groups.iter_mut().zip(positions) {
                if let Some(position) = position {
                    *group = Expr::value(Value::Number((position + 1).to_string(), false));
                }
            }
        }
        ControlFlow::Continue(())
    }
}

impl GroupNames<'_> {
    /// For each group, the position of the column of the answer that it names. Nothing if there is none.
    fn positions(&self, select: &Select) -> Vec<Option<usize>> {
        let GroupByExpr::Expressions(groups, _) = &select.group_by else { return Vec::new() };
        let is_item = |item: &SelectItem| matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. });
        if !select.projection.iter().all(is_item) || groups.iter().all(|group| named_item(group, select).is_none()) {
            return Vec::new();
        }
        let Some(columns) = self.0.of_from(&select.from) else { return Vec::new() };
        let is_free = |name: &Ident| !columns.iter().any(|column| same_name(column, &name.value));
        let mut positions = Vec::with_capacity(groups.len());
        for group in groups {
            let named = named_item(group, select).filter(|named| is_free(named.0));
            positions.push(named.map(|(_, position)| position));
        }
        positions
    }
}

/// The name that a group is, and the position of the item that it may mean.
fn named_item<'e>(group: &'e Expr, select: &Select) -> Option<(&'e Ident, usize)> {
    match group {
        Expr::Identifier(name) => position_of(name, select).map(|position| (name, position)),
        _ => None,
    }
}
