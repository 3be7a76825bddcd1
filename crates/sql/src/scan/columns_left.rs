//! Expressions over a plan of which only some columns are left.

use atsdb_dialect::text::plan_walk::DynWalk;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{Result, internal_err};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The columns that expressions use, by position.
pub(crate) fn columns_of<'e>(exprs: impl IntoIterator<Item = &'e Arc<dyn PhysicalExpr>>) -> BTreeSet<usize> {
    exprs.into_iter().flat_map(collect_columns).map(|column| column.index()).collect()
}

/// The place of a column among the columns that are left, which are in ascending order.
pub(crate) fn place_of(column: usize, left: &[usize]) -> Result<usize> {
    match left.binary_search(&column) {
        Ok(place) => Ok(place),
        Err(_) => internal_err!("column {column} is not read"),
    }
}

/// An expression over the columns that are left.
pub(crate) fn over_left(expr: &Arc<dyn PhysicalExpr>, left: &[usize]) -> Result<Arc<dyn PhysicalExpr>> {
    Arc::clone(expr)
        .dyn_transform_up(|expr| match expr.downcast_ref::<Column>() {
            Some(column) => {
                let moved = Column::new(column.name(), place_of(column.index(), left)?);
                Ok(Transformed::yes(Arc::new(moved) as Arc<dyn PhysicalExpr>))
            }
            None => Ok(Transformed::no(expr)),
        })
        .data()
}
