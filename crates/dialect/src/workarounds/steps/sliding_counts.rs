//! The count of a sliding frame, `count(*) OVER (PARTITION BY p ORDER BY x ROWS BETWEEN 9 PRECEDING AND CURRENT ROW)`.
//! DataFusion takes its rows for sorted by the count if the counted values are sorted, or are a constant. But it starts
//! again in the next partition, is less where a NULL or a row that FILTER leaves out enters the frame, and follows the
//! number of rows that are equal in a frame of `GROUPS`. Only a count of all rows in a frame of `ROWS` without
//! partitions grows.
//!
//! Such a window gets a [step](super::unknown_rows) above it that does not say that its rows are sorted by the count.
//! No upstream issue describes it.

use super::unknown_rows::{HiddenProperties, UnknownRowsExec, know_less};
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::SetMonotonicity;
use datafusion::physical_expr::window::{SlidingAggregateWindowExpr, WindowExpr};
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};

/// Puts the steps above windows while DataFusion plans sorts.
pub(crate) fn know_less_of_sliding_counts(optimizer: &mut PhysicalOptimizer) {
    know_less(optimizer, |plan| {
        let counts = sliding_counts(plan.as_ref());
        if counts.is_empty() {
            Ok(Transformed::no(plan))
        } else {
            UnknownRowsExec::above(plan, HiddenProperties::OrderBy(counts)).map(Transformed::yes)
        }
    });
}

/// The positions of the columns that are counts of sliding frames.
fn sliding_counts(plan: &dyn ExecutionPlan) -> Vec<usize> {
    let of_whole = || plan.downcast_ref::<WindowAggExec>().map(WindowAggExec::window_expr);
    let windows = plan.downcast_ref::<BoundedWindowAggExec>().map(BoundedWindowAggExec::window_expr).or_else(of_whole);
    let windows = windows.unwrap_or_default();
    // The columns of windows are after those of the input.
    let first = plan.schema().fields().len().saturating_sub(windows.len());
    (first..).zip(windows).filter(|&(_, window)| is_sliding_count(window.as_ref())).map(|(column, _)| column).collect()
}

/// Returns whether DataFusion may take rows for sorted by a window's result, and they may not be. The count of a frame
/// that only shrinks never grows.
fn is_sliding_count(window: &dyn WindowExpr) -> bool {
    window.as_any().downcast_ref::<SlidingAggregateWindowExpr>().is_some_and(|sliding| {
        sliding.get_aggregate_expr().set_monotonicity() != SetMonotonicity::NotMonotonic
            && !sliding.get_window_frame().end_bound.is_unbounded()
    })
}
