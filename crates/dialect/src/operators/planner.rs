//! Turns the plan steps that DataFusion does not know into operators.

use super::asof::AsofJoinPlanner;
use super::gapfill::GapFillPlanner;
use super::shared_rows::SharedRowsPlanner;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::Result;
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};
use std::sync::Arc;

/// DataFusion's planner, with a planner for each step of this crate.
#[derive(Debug)]
pub struct StepPlanner;

#[async_trait]
impl QueryPlanner for StepPlanner {
    async fn create_physical_plan(&self, plan: &LogicalPlan, session: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        let planner = DefaultPhysicalPlanner::with_extension_planners(vec![
            Arc::new(GapFillPlanner),
            Arc::new(AsofJoinPlanner),
            Arc::new(SharedRowsPlanner::default()),
        ]);
        planner.create_physical_plan(plan, session).await
    }
}
