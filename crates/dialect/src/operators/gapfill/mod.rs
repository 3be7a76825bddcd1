//! `time_bucket_gapfill`, `locf` and `interpolate`: a row for every bucket of every series.
//!
//! The functions ([`functions`]) are marks; [`rule`] turns an aggregate that groups by `time_bucket_gapfill` into one
//! by plain buckets with a [`node::GapFill`] above, planned as a [`operator::GapFillExec`], whose rows [`filler`]
//! produces, series by series. [`steps`] determines the buckets, [`bounds`] the time range, and [`fill`] the values in
//! gaps.

mod bounds;
mod fill;
mod filler;
mod functions;
mod node;
mod operator;
mod parameters;
mod rule;
mod steps;

use super::expressions::CompileExpr;
use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::Schema;
use datafusion::common::{DFSchema, DataFusionError, Result, ScalarValue, internal_err};
use datafusion::logical_expr::{Expr, UserDefinedLogicalNode};
use datafusion::physical_plan::ExecutionPlan;
use std::sync::Arc;

pub use functions::{functions, is_gapfill_mark};
pub use rule::FillGaps;

/// The operator of a step over its input, if the step is a [`node::GapFill`].
pub(super) fn planned(
    step: &dyn UserDefinedLogicalNode,
    inputs: &[Arc<dyn ExecutionPlan>],
    compile: &CompileExpr<'_>,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(node) = step.as_any().downcast_ref::<node::GapFill>() else { return Ok(None) };
    let [input] = inputs else { return internal_err!("GapFill has one input") };
    let constant = |expr: &Expr| -> Result<ScalarValue> {
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        let row = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)?;
        ScalarValue::try_from_array(&compile(expr, &DFSchema::empty())?.evaluate(&row)?.into_array(1)?, 0)
    };
    let bounds = node.bounds.iter().map(|bound| Ok((bound.clone(), constant(&bound.value)?)));
    let fills = node.fills.iter().map(|fill| {
        let value = compile(&fill.value, node.input.schema())?;
        Ok(parameters::PhysicalFill { kind: fill.kind, value, longest_gap: fill.longest_gap })
    });
    let parameters = parameters::GapFillParameters {
        group_count: node.group_count,
        bucket_at: node.bucket_at,
        width: node.width.to_string(),
        steps: steps::Steps::new(&node.width, node.zone.as_deref(), node.ticks)
            .map_err(|error| DataFusionError::External(Box::new(error)))?,
        ticks: node.ticks,
        bounds: bounds.collect::<Result<_>>()?,
        fills: fills.collect::<Result<_>>()?,
    };
    let schema = Arc::clone(UserDefinedLogicalNode::schema(node).inner());
    let exec = operator::GapFillExec::try_new(Arc::clone(input), Arc::new(parameters), schema)?;
    Ok(Some(Arc::new(exec)))
}
