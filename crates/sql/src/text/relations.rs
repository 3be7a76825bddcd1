//! The relations that a `FROM` lists, and the columns of those without names.

use datafusion::sql::sqlparser::ast::{TableFactor, TableWithJoins, Values};
use std::iter;

/// The relations of a `FROM`, in its order. Those of a join in parentheses count as one.
pub(crate) fn relations_of(from: &[TableWithJoins]) -> impl Iterator<Item = &TableFactor> {
    from.iter().flat_map(|from| iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation)))
}

/// The names that the columns of a `VALUES` have in PostgreSQL.
pub(crate) fn columns_of_values(values: &Values) -> Vec<String> {
    let width = values.rows.first().map_or(0, |row| row.content.len());
    (1..=width).map(|column| format!("column{column}")).collect()
}
