//! `ASOF JOIN`: joins each row of the left side with the row of the right side that is nearest in time, before or
//! after. [`syntax`] turns both syntaxes (Snowflake's and DuckDB's) into an ordinary join with a mark in its condition.
//! [`rule`] turns that into an [`node::AsofJoin`], which is planned as an [`operator::AsofJoinExec`]. [`matcher`] finds
//! its rows by merging two sorted streams.

mod matcher;
mod node;
mod operator;
mod rule;
mod syntax;

use super::expressions::CompileExpr;
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::UserDefinedLogicalNode;
use datafusion::physical_plan::ExecutionPlan;
use std::sync::Arc;

pub use rule::{JoinAsOf, mark};
pub use syntax::rewrite_tokens;

/// The operator of a step over its inputs, if the step is a [`node::AsofJoin`].
pub(super) fn planned(
    step: &dyn UserDefinedLogicalNode,
    inputs: &[Arc<dyn ExecutionPlan>],
    compile: &CompileExpr<'_>,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(node) = step.as_any().downcast_ref::<node::AsofJoin>() else { return Ok(None) };
    let [left, right] = inputs else { return internal_err!("AsofJoin has two inputs") };
    let of_left = |expr| compile(expr, node.left.schema());
    let of_right = |expr| compile(expr, node.right.schema());
    let side = |input: &Arc<dyn ExecutionPlan>, keys, time, tick| operator::AsOfSide {
        input: Arc::clone(input),
        keys,
        time,
        tick,
    };
    let (left_keys, right_keys) = (
        node.on.iter().map(|(key, _)| of_left(key)).collect::<Result<Vec<_>>>()?,
        node.on.iter().map(|(_, key)| of_right(key)).collect::<Result<Vec<_>>>()?,
    );
    let exec = operator::AsofJoinExec::try_new(
        side(left, left_keys, of_left(&node.at.0)?, node.ticks.0),
        side(right, right_keys, of_right(&node.at.1)?, node.ticks.1),
        node.condition,
        Arc::clone(UserDefinedLogicalNode::schema(node).inner()),
    )?;
    Ok(Some(Arc::new(exec)))
}
