//! Turns the plan steps that DataFusion does not know into operators.

use super::shared_rows::StatementRows;
use super::{asof, gapfill, shared_rows};
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{DFSchema, Result};
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNode};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner};
use std::sync::Arc;

/// DataFusion's planner, with a planner for the steps of this crate.
#[derive(Debug)]
pub struct StepPlanner;

#[async_trait]
impl QueryPlanner for StepPlanner {
    async fn create_physical_plan(&self, plan: &LogicalPlan, session: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        let steps = StatementSteps::default();
        let planner = DefaultPhysicalPlanner::with_extension_planners(vec![Arc::new(steps)]);
        planner.create_physical_plan(plan, session).await
    }
}

/// Plans the steps of one statement.
#[derive(Debug, Default)]
struct StatementSteps {
    shared: StatementRows,
}

#[async_trait]
impl ExtensionPlanner for StatementSteps {
    async fn plan_extension(
        &self,
        planner: &dyn PhysicalPlanner,
        step: &dyn UserDefinedLogicalNode,
        _: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        session: &dyn Session,
        context: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let compile = |expr: &Expr, schema: &DFSchema| planner.create_physical_expr(expr, schema, session, context);
        if let Some(operator) = gapfill::planned(step, inputs, &compile)? {
            return Ok(Some(operator));
        }
        if let Some(operator) = asof::planned(step, inputs, &compile)? {
            return Ok(Some(operator));
        }
        shared_rows::planned(step, inputs, &self.shared)
    }
}
