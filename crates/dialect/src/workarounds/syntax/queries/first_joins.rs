//! A join in parentheses that begins an item of FROM: `(a JOIN b USING (k)) JOIN c` becomes
//! `a JOIN b USING (k) JOIN c`, which means the same. What merges columns sees only the joins outside of parentheses.
//!
//! Part of [`using`](super::using).

use crate::text::tree_walk::visit_mut;
use datafusion::sql::sqlparser::ast::{Select, Statement, TableFactor, TableWithJoins, VisitorMut};
use std::ops::ControlFlow;

/// Removes the parentheses around the first joins of each FROM.
pub(crate) fn open_first_joins(statement: &mut Statement) {
    let _ = visit_mut(statement, &mut FirstJoins);
}

struct FirstJoins;

impl VisitorMut for FirstJoins {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        select.from.iter_mut().for_each(open);
        ControlFlow::Continue(())
    }
}

fn open(from: &mut TableWithJoins) {
    while let TableFactor::NestedJoin { table_with_joins, alias: None } = &from.relation {
        let mut inner = table_with_joins.as_ref().clone();
        inner.joins.append(&mut from.joins);
        *from = inner;
    }
}
