//! Finds window functions that are ranks of rows in order.

use super::counter::RankFunction;
use super::operator::RankExec;
use crate::text::plan_walk::DynWalk;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::window::{StandardWindowExpr, WindowExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowUDFExpr};
use datafusion::physical_plan::{ExecutionPlan, InputOrderMode};
use std::sync::Arc;

/// The rank that a window function is.
pub fn rank_of(function: &Arc<dyn WindowExpr>) -> Option<RankFunction> {
    let standard = function.as_any().downcast_ref::<StandardWindowExpr>()?;
    match standard.get_standard_func_expr().as_any().downcast_ref::<WindowUDFExpr>()?.fun().name() {
        "row_number" => Some(RankFunction::RowNumber),
        "rank" => Some(RankFunction::Rank),
        "dense_rank" => Some(RankFunction::DenseRank),
        _ => None,
    }
}

/// Replaces DataFusion's operator. It runs after sorts have been added to the plan.
#[derive(Debug)]
pub struct RankRows;

impl PhysicalOptimizerRule for RankRows {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.dyn_transform_up(|plan| match replacement(&plan)? {
            Some(replacement) => Ok(Transformed::yes(Arc::new(replacement) as Arc<dyn ExecutionPlan>)),
            None => Ok(Transformed::no(plan)),
        })
        .data()
    }

    fn name(&self) -> &str {
        "rank_rows"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn replacement(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<RankExec>> {
    let Some(window) = plan.downcast_ref::<BoundedWindowAggExec>() else { return Ok(None) };
    let functions = window.window_expr();
    let Some(first) = functions.first().filter(|_| window.input_order_mode == InputOrderMode::Sorted) else {
        return Ok(None);
    };
    let is_of_same = |function: &&Arc<dyn WindowExpr>| {
        function.partition_by() == first.partition_by() && function.order_by() == first.order_by()
    };
    let ranks = functions.iter().filter(is_of_same).map_while(rank_of).collect::<Vec<_>>();
    if ranks.len() < functions.len() {
        return Ok(None);
    }
    let partition = first.partition_by().to_vec();
    let order: Vec<Arc<dyn PhysicalExpr>> = first.order_by().iter().map(|key| Arc::clone(&key.expr)).collect();
    let (schema, input) = (plan.schema(), window.input().schema());
    let types = partition.iter().chain(&order).map(|expr| expr.data_type(&input)).collect::<Result<Vec<_>>>()?;
    let counts = schema.fields().iter().skip(input.fields().len());
    if types.iter().any(DataType::is_nested) || counts.into_iter().any(|field| *field.data_type() != DataType::UInt64) {
        return Ok(None);
    }
    Ok(Some(RankExec::new(Arc::clone(plan), ranks, partition, order)))
}
