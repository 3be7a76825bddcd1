//! `ASOF JOIN`: joins each row of the left side with the row of the right side that is nearest in time, before or
//! after. [`syntax`] turns both syntaxes (Snowflake's and DuckDB's) into an ordinary join with a mark in its condition.
//! [`rule`] turns that into an [`node::AsofJoin`], which is planned as an [`operator::AsofJoinExec`]. [`matcher`] finds
//! its rows by merging two sorted streams.

mod matcher;
mod node;
mod operator;
mod rule;
mod syntax;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{LogicalPlan, UserDefinedLogicalNode};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};
use std::sync::Arc;

pub use rule::{JoinAsOf, mark};
pub use syntax::rewrite_tokens;

/// Plans [`node::AsofJoin`].
pub struct AsofJoinPlanner;

#[async_trait]
impl ExtensionPlanner for AsofJoinPlanner {
    async fn plan_extension(
        &self,
        planner: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _: &[&LogicalPlan],
        physical_inputs: &[Arc<dyn ExecutionPlan>],
        session: &dyn Session,
        context: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(node) = node.as_any().downcast_ref::<node::AsofJoin>() else { return Ok(None) };
        let [left, right] = physical_inputs else { return internal_err!("AsofJoin has two inputs") };
        let of_left = |expr| planner.create_physical_expr(expr, node.left.schema(), session, context);
        let of_right = |expr| planner.create_physical_expr(expr, node.right.schema(), session, context);
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
}
