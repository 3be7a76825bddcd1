//! Rows that a statement reads in several places, and that are not the same in each computation.
//!
//! `LIMIT 3` returns any three rows, or any of those with the same order, `DISTINCT ON` any row of each group,
//! `array_agg` collects values in any order, and `random()` has another value each time. A plan has copies of such a
//! step where a statement names an item of `WITH` more than once, or where a subquery is computed for all outer rows at
//! once. All copies must return the same rows: [`rule`] puts a [`node::SharedRows`] over each of them, and the
//! [`operator`] that is executed first computes the rows for all. In `WITH RECURSIVE`, each round has values of its own.

mod node;
mod operator;
mod rule;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{LogicalPlan, UserDefinedLogicalNode};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

pub use rule::ShareRows;

/// Plans the [`node::SharedRows`] of one statement.
#[derive(Debug, Default)]
pub struct SharedRowsPlanner {
    /// The rows that the copies with the same number share.
    shared: Mutex<HashMap<usize, Arc<operator::SharedBatches>>>,
}

#[async_trait]
impl ExtensionPlanner for SharedRowsPlanner {
    async fn plan_extension(
        &self,
        _: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _: &[&LogicalPlan],
        physical_inputs: &[Arc<dyn ExecutionPlan>],
        _: &dyn Session,
        _: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(node) = node.as_any().downcast_ref::<node::SharedRows>() else { return Ok(None) };
        let [input] = physical_inputs else { return internal_err!("SharedRows has one input") };
        let shared = Arc::clone(self.shared.lock().entry(node.number).or_default());
        let logical = UserDefinedLogicalNode::schema(node).inner();
        Ok(Some(Arc::new(operator::SharedRowsExec::named(Arc::clone(input), shared, node.is_volatile, logical))))
    }
}
