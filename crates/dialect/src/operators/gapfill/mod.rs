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

use async_trait::async_trait;
use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::Schema;
use datafusion::catalog::Session;
use datafusion::common::{DFSchema, DataFusionError, Result, ScalarValue, internal_err};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNode};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};
use std::sync::Arc;

pub use functions::{functions, is_gapfill_mark};
pub use rule::FillGaps;

/// Plans [`node::GapFill`].
pub struct GapFillPlanner;

#[async_trait]
impl ExtensionPlanner for GapFillPlanner {
    async fn plan_extension(
        &self,
        planner: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _: &[&LogicalPlan],
        physical_inputs: &[Arc<dyn ExecutionPlan>],
        session: &dyn Session,
        context: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(node) = node.as_any().downcast_ref::<node::GapFill>() else { return Ok(None) };
        let [input] = physical_inputs else { return internal_err!("GapFill has one input") };
        let constant = |expr: &Expr| -> Result<ScalarValue> {
            let expr = planner.create_physical_expr(expr, &DFSchema::empty(), session, context)?;
            let options = RecordBatchOptions::new().with_row_count(Some(1));
            let row = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)?;
            ScalarValue::try_from_array(&expr.evaluate(&row)?.into_array(1)?, 0)
        };
        let bounds = node.bounds.iter().map(|bound| Ok((bound.clone(), constant(&bound.value)?)));
        let fills = node.fills.iter().map(|fill| {
            let value = planner.create_physical_expr(&fill.value, node.input.schema(), session, context)?;
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
}
