//! Times of day of different units are compared in microseconds. Every TIME of SQL has them; those of a Parquet file
//! and of `arrow_cast` may have another unit.
//!
//! DataFusion 55.2 has no common type for them. No upstream issue known.

use super::time_types::TIME_OF_DAY;
use crate::workarounds::shared::expressions::rewrite_expressions;
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::{Between, BinaryExpr, InList};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, cast};
use datafusion::optimizer::AnalyzerRule;

/// Runs before types are made equal.
#[derive(Debug)]
pub(crate) struct CompareTimesOfDay;

impl AnalyzerRule for CompareTimesOfDay {
    fn name(&self) -> &str {
        "compare_times_of_day"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_expressions(plan, |expr, schema| Ok(rewrite(expr, schema)))
    }
}

fn rewrite(mut expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let changed = match &mut expr {
        Expr::BinaryExpr(BinaryExpr { left, right, .. }) => unite(vec![left, right], schema),
        Expr::Between(Between { expr, low, high, .. }) => unite(vec![expr, low, high], schema),
        Expr::InList(InList { expr, list, .. }) => unite(std::iter::once(&mut **expr).chain(list).collect(), schema),
        _ => false,
    };
    if changed { Transformed::yes(expr) } else { Transformed::no(expr) }
}

/// Makes microseconds of all times of day among expressions if they differ. Returns whether something changed.
fn unite(mut exprs: Vec<&mut Expr>, schema: &DFSchema) -> bool {
    let types: Vec<DataType> = exprs.iter().map(|expr| expr.get_type(schema).unwrap_or(DataType::Null)).collect();
    let is_other = |of: &DataType| matches!(of, DataType::Time32(_) | DataType::Time64(TimeUnit::Nanosecond));
    if !types.contains(&TIME_OF_DAY) || !types.iter().any(is_other) {
        return false;
    }
    for (expr, _) in exprs.iter_mut().zip(&types).filter(|(_, data_type)| is_other(data_type)) {
        let time = std::mem::take(&mut **expr);
        **expr = cast(time, TIME_OF_DAY);
    }
    true
}
