//! Columns that only a subquery in ORDER BY mentions, as in `SELECT a FROM t ORDER BY (SELECT max(y) FROM u WHERE u.x =
//! t.b)`. DataFusion sorts the rows of the SELECT list, to which it adds the columns that ORDER BY mentions by itself,
//! but not those of its subqueries. They are added here.
//!
//! No upstream issue known.

use super::domain::Names;
use super::outer_columns::{Renaming, add, outer_columns_of, renamed_in};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::logical_plan::{Projection, Sort};
use datafusion::logical_expr::{Expr, LogicalPlan, SortExpr};
use std::sync::Arc;

/// The sort over such columns, with which its rows are wider; `None` if there are none.
pub(super) fn over_mentioned_columns(sort: &Sort, names: &Names) -> Result<Option<LogicalPlan>> {
    let LogicalPlan::Projection(projection) = sort.input.as_ref() else { return Ok(None) };
    let shown = [Arc::clone(&projection.schema)];
    let mut mentioned = Vec::new();
    for by in &sort.expr {
        add(&mut mentioned, outer_columns_of(&by.expr, &shown)?);
    }
    let renamings: Vec<Renaming> = mentioned
        .into_iter()
        .filter(|column| projection.input.schema().has_column(column))
        .map(|column| (column, Column::new_unqualified(names.next("ordered"))))
        .collect();
    if renamings.is_empty() {
        return Ok(None);
    }
    let added = renamings.iter().map(|(column, other)| Expr::Column(column.clone()).alias(other.name.as_str()));
    let exprs = projection.expr.iter().cloned().chain(added).collect();
    let input = LogicalPlan::Projection(Projection::try_new(exprs, Arc::clone(&projection.input))?);
    let renamed = |by: &SortExpr| -> Result<SortExpr> {
        let expr = renamed_in(by.expr.clone(), &renamings, &shown)?.data;
        Ok(SortExpr::new(expr, by.asc, by.nulls_first))
    };
    let expr = sort.expr.iter().map(renamed).collect::<Result<Vec<_>>>()?;
    Ok(Some(LogicalPlan::Sort(Sort { expr, input: Arc::new(input), fetch: sort.fetch })))
}
