//! Finds window functions whose ranks are bounded by a condition.

use super::operator::PartitionTopExec;
use super::part::RankBound;
use crate::operators::plan_methods::{with_input, with_replaced_steps};
use crate::operators::ranks::{RankFunction, rank_of};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, CastExpr, Column, Literal};
use datafusion::physical_expr::window::WindowExpr;
use datafusion::physical_expr::{PhysicalExpr, split_conjunction};
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::windows::BoundedWindowAggExec;
use std::sync::Arc;

/// The maximum number of rows of each partition for which the operator is used. It keeps the keys of all of them in
/// order.
const LIMIT_MAX: usize = 128;

/// Inserts the operator below window functions. It runs before sorts are added to the plan.
#[derive(Debug)]
pub struct PartitionTop;

impl PhysicalOptimizerRule for PartitionTop {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        with_replaced_steps(plan, with_operator)
    }

    fn name(&self) -> &str {
        "partition_top"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The plan with the operator, if it is a condition that bounds a rank.
fn with_operator(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(filter) = plan.downcast_ref::<FilterExec>() else { return Ok(None) };
    let bounds: Vec<(usize, usize)> = split_conjunction(filter.predicate()).into_iter().filter_map(bound_of).collect();
    for (column, limit) in bounds {
        if let Some(input) = below(filter.input(), column, limit)? {
            return with_input(plan, input).map(Some);
        }
    }
    Ok(None)
}

/// A condition that a column is not above a positive number.
fn bound_of(condition: &Arc<dyn PhysicalExpr>) -> Option<(usize, usize)> {
    let condition = condition.downcast_ref::<BinaryExpr>()?;
    let (column, operator, bound) = match (column_of(condition.left()), column_of(condition.right())) {
        (Some(column), None) => (column, *condition.op(), condition.right()),
        (None, Some(column)) => (column, condition.op().swap()?, condition.left()),
        _ => return None,
    };
    let bound = bound.downcast_ref::<Literal>().filter(|bound| bound.value().data_type().is_integer())?;
    let ScalarValue::Int64(Some(bound)) = bound.value().cast_to(&DataType::Int64).ok()? else { return None };
    let limit = match operator {
        Operator::LtEq | Operator::Eq => bound,
        Operator::Lt => bound.checked_sub(1)?,
        _ => return None,
    };
    let limit = usize::try_from(limit).ok().filter(|limit| (1..=LIMIT_MAX).contains(limit))?;
    Some((column, limit))
}

/// A column, or a column as a wider integer.
fn column_of(expr: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    let inner = match expr.downcast_ref::<CastExpr>() {
        Some(cast) if cast.cast_type().is_integer() => cast.expr(),
        _ => expr,
    };
    inner.downcast_ref::<Column>().map(Column::index)
}

/// The plan below a condition, with the operator, if one of its columns is a rank.
fn below(plan: &Arc<dyn ExecutionPlan>, column: usize, limit: usize) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let Some(inner) = projection.expr().get(column).and_then(|item| column_of(&item.expr)) else { return Ok(None) };
        let Some(input) = below(projection.input(), inner, limit)? else { return Ok(None) };
        return with_input(plan, input).map(Some);
    }
    let Some(window) = plan.downcast_ref::<BoundedWindowAggExec>() else { return Ok(None) };
    let Some(wanted) = wanted(window, column, limit)? else { return Ok(None) };
    let top = PartitionTopExec::new(Arc::clone(window.input()), Arc::new(wanted));
    with_input(plan, Arc::new(top)).map(Some)
}

/// The rows of a window's input that are wanted.
fn wanted(window: &BoundedWindowAggExec, column: usize, limit: usize) -> Result<Option<RankBound>> {
    let schema = window.input().schema();
    let bounded = column.checked_sub(schema.fields().len()).and_then(|at| window.window_expr().get(at));
    let Some(bounded) = bounded else { return Ok(None) };
    let keeps_ties = match rank_of(bounded) {
        Some(RankFunction::RowNumber) => false,
        Some(RankFunction::Rank) => true,
        _ => return Ok(None),
    };
    let (partition, order) = (bounded.partition_by().to_vec(), bounded.order_by().to_vec());
    // A function that looks at later rows would have another value without them.
    let is_rank_of_same = |function: &Arc<dyn WindowExpr>| {
        rank_of(function).is_some() && function.partition_by() == partition && function.order_by() == order
    };
    if !window.window_expr().iter().all(is_rank_of_same) {
        return Ok(None);
    }
    if partition.is_empty() || order.is_empty() {
        return Ok(None);
    }
    // The window would see other values than the operator has seen.
    if partition.iter().chain(order.iter().map(|key| &key.expr)).any(is_volatile) {
        return Ok(None);
    }
    // -0.0 and 0.0 might be two partitions.
    let types = partition.iter().map(|expr| expr.data_type(&schema)).collect::<Result<Vec<_>>>()?;
    if types.iter().any(|data_type| data_type.is_floating() || data_type.is_nested()) {
        return Ok(None);
    }
    Ok(Some(RankBound { partition, order, limit, keeps_ties }))
}
