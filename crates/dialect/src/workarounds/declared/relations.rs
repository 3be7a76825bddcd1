//! The columns of a subquery, of a query of `WITH` and of a view in FROM: their types are declared before the query
//! around them is planned, because operators such as `||` mean something else for JSON than for texts.
//!
//! DataFusion 55.2 has no types for UUIDs and JSON. Waits for [#7845](https://github.com/apache/datafusion/issues/7845)
//! (JSON) and [#4827](https://github.com/apache/datafusion/issues/4827) (UUIDs).

use super::results::declare_columns;
use datafusion::common::Result;
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::planner::{PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning};
use datafusion::sql::sqlparser::ast::TableFactor;
use std::sync::atomic::{AtomicBool, Ordering};

/// Plans the relations of one statement.
#[derive(Debug, Default)]
pub(crate) struct DeclaredRelations {
    /// Whether the next relation is left to DataFusion. It asks its planners about each relation, and so also about one
    /// that a planner lets it plan.
    is_left: AtomicBool,
}

impl RelationPlanner for DeclaredRelations {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let may_be_query = matches!(relation, TableFactor::Derived { .. } | TableFactor::Table { args: None, .. });
        if !may_be_query || self.is_left.swap(false, Ordering::Relaxed) {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        }
        self.is_left.store(true, Ordering::Relaxed);
        let plan = match context.plan(relation)? {
            plan @ LogicalPlan::TableScan(_) => plan,
            plan => declare_columns(plan)?,
        };
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, None))))
    }
}
