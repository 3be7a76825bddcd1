//! `(a JOIN b USING (k)) AS j`: `j.*` shows `k` once. DataFusion shows it for each table, so the join becomes a
//! subquery.
//!
//! No upstream issue known.

use crate::text::relations::{constraint_of, is_merging};
use crate::workarounds::syntax::parsed_query;
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::{SetExpr, TableAlias, TableFactor, TableWithJoins};

/// Makes a subquery of a join that has a name and merges columns.
pub(crate) fn select_aliased_join(factor: &mut TableFactor) -> Result<()> {
    if let TableFactor::NestedJoin { table_with_joins, alias: alias @ Some(_) } = factor
        && merges(table_with_joins)
    {
        *factor = selected(table_with_joins, alias.take())?;
    }
    Ok(())
}

/// Returns whether a join merges columns, and mentions no columns of other relations.
fn merges(joined: &TableWithJoins) -> bool {
    let is_plain = |factor: &TableFactor| {
        matches!(factor, TableFactor::Table { args: None, .. } | TableFactor::Derived { lateral: false, .. })
    };
    is_plain(&joined.relation)
        && joined.joins.iter().all(|join| is_plain(&join.relation))
        && joined.joins.iter().any(|join| constraint_of(&join.join_operator).is_some_and(is_merging))
}

/// A subquery with this alias that selects all columns of a join, which it takes.
fn selected(joined: &mut TableWithJoins, alias: Option<TableAlias>) -> Result<TableFactor> {
    let mut subquery = parsed_query("SELECT * FROM joined")?;
    if let SetExpr::Select(select) = subquery.body.as_mut()
        && let Some(from) = select.from.first_mut()
    {
        std::mem::swap(from, joined);
    }
    Ok(TableFactor::Derived { lateral: false, subquery, alias, sample: None })
}
