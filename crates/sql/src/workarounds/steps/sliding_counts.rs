//! The count of a sliding frame, `count(*) OVER (PARTITION BY p ORDER BY x ROWS BETWEEN 9 PRECEDING AND CURRENT ROW)`.
//! DataFusion takes its rows for sorted by the count if the counted values are sorted, or are a constant. But it starts
//! again in the next partition, is less where a NULL enters the frame, and follows the number of rows that are equal in
//! a frame of `GROUPS`. Only a count of all rows in a frame of `ROWS` without partitions grows.
//!
//! Such a window gets a [step](super::unknown_rows) above it that does not say how its rows are sorted.
//! No issue describes it.

use super::unknown_rows::{Unknown, UnknownRowsExec, know_less};
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::{SetMonotonicity, WindowFrameUnits};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Literal;
use datafusion::physical_expr::window::{SlidingAggregateWindowExpr, WindowExpr};
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use std::sync::Arc;

/// Puts the steps above windows while DataFusion plans sorts.
pub(crate) fn know_less_of_sliding_counts(optimizer: &mut PhysicalOptimizer) {
    know_less(optimizer, |plan| {
        if has_unsorted_count(plan.as_ref()) {
            UnknownRowsExec::above(plan, Unknown::Order).map(Transformed::yes)
        } else {
            Ok(Transformed::no(plan))
        }
    });
}

fn has_unsorted_count(plan: &dyn ExecutionPlan) -> bool {
    let of_whole = || plan.downcast_ref::<WindowAggExec>().map(WindowAggExec::window_expr);
    let windows = plan.downcast_ref::<BoundedWindowAggExec>().map(BoundedWindowAggExec::window_expr).or_else(of_whole);
    windows.is_some_and(|windows| windows.iter().any(|window| is_unsorted_count(window.as_ref())))
}

/// Whether DataFusion takes rows for sorted by a window's result, and they may not be.
fn is_unsorted_count(window: &dyn WindowExpr) -> bool {
    let Some(sliding) = window.as_any().downcast_ref::<SlidingAggregateWindowExpr>() else { return false };
    let frame = sliding.get_window_frame();
    if sliding.get_aggregate_expr().set_monotonicity() == SetMonotonicity::NotMonotonic || !frame.is_causal() {
        return false;
    }
    let arguments = window.expressions();
    let is_key = |expr: &Arc<dyn PhysicalExpr>| {
        window.partition_by().contains(expr) || window.order_by().iter().any(|key| key.expr.eq(expr))
    };
    let counts_rows = arguments.iter().all(|argument| argument.is::<Literal>());
    let grows = counts_rows && frame.units == WindowFrameUnits::Rows && window.partition_by().is_empty();
    !grows && arguments.iter().all(|argument| argument.is::<Literal>() || is_key(argument))
}
