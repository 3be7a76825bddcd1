//! A join in parentheses that begins an item of FROM: `(a JOIN b USING (k)) JOIN c` becomes
//! `a JOIN b USING (k) JOIN c`, which means the same. What merges columns sees only the joins outside of parentheses.
//!
//! Part of [`using`](super::using).

use datafusion::sql::sqlparser::ast::{Select, TableFactor, TableWithJoins};

/// Removes the parentheses around the first joins of each item of FROM.
pub(crate) fn open_first_joins(select: &mut Select) {
    select.from.iter_mut().for_each(open);
}

fn open(from: &mut TableWithJoins) {
    while let TableFactor::NestedJoin { table_with_joins, alias: None } = &from.relation {
        let mut inner = table_with_joins.as_ref().clone();
        inner.joins.append(&mut from.joins);
        *from = inner;
    }
}
