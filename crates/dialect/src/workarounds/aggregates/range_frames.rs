//! Window functions that are ordered by times of day or bytes, which DataFusion 55.2 refuses: a frame of `RANGE`, as is
//! the frame of every window with `ORDER BY` that names none, exists for numbers, texts, dates and timestamps only. One
//! without distances consists of whole groups of equal rows, and is the same frame of `GROUPS`, which exists for all
//! types.
//!
//! No upstream issue known.

use crate::workarounds::shared::expressions::rewrite_expressions;
use crate::workarounds::times::intervals::comparison::has_distances;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, WindowFrame, WindowFrameUnits};
use datafusion::optimizer::AnalyzerRule;

/// Runs before types are made equal.
#[derive(Debug)]
pub(crate) struct RangeFrames;

impl AnalyzerRule for RangeFrames {
    fn name(&self) -> &str {
        "range_frames"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_expressions(plan, |expr, schema| Ok(rewrite(expr, schema)))
    }
}

fn rewrite(mut expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    if let Expr::WindowFunction(call) = &mut expr
        && call.params.window_frame.units == WindowFrameUnits::Range
        && !has_distances(&call.params.window_frame)
        && let Some(first) = call.params.order_by.first()
        && first.expr.get_type(schema).is_ok_and(|of| has_no_range(&of))
    {
        let WindowFrame { start_bound, end_bound, .. } = call.params.window_frame.clone();
        call.params.window_frame = WindowFrame::new_bounds(WindowFrameUnits::Groups, start_bound, end_bound);
        return Transformed::yes(expr);
    }
    Transformed::no(expr)
}

/// Returns whether DataFusion has no frames of `RANGE` for a type.
fn has_no_range(of: &DataType) -> bool {
    matches!(of, DataType::Time32(_) | DataType::Time64(_)) || of.is_binary()
}
