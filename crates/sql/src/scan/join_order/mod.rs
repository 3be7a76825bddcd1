//! The order of inner joins. DataFusion joins tables as a statement lists them, and only avoids cross joins from the
//! first table on. This rule takes the inner joins and the implicit ones that follow each other as one group, and joins
//! first what gives the fewest rows by estimate, always along an equality if there is one. Cross joins come last. Other
//! joins and all other steps are borders of a group. The columns keep their order.
//!
//! DataFusion's own rule for cross joins loses an equality with columns of two tables on one side, as in
//! `a JOIN (b CROSS JOIN c) ON a.x = b.x + c.x`. It is left out for such plans ([`CrossJoins`]).
//!
//! Owned here: finding groups and rebuilding them ([`group`]), and estimates ([`estimate`]). Not owned: which side of a
//! join is built, which DataFusion decides from the physical plan's statistics.

mod estimate;
mod group;

use atsdb_dialect::text::plan_walk::DynWalk;
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use group::JoinGroup;
use std::sync::Arc;

/// DataFusion's rule for cross joins, where it keeps all conditions.
#[derive(Debug)]
pub(crate) struct CrossJoins(pub(crate) Arc<dyn OptimizerRule + Send + Sync>);

impl OptimizerRule for CrossJoins {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let has_wide_key = |plan: &LogicalPlan| match plan {
            LogicalPlan::Join(join) => {
                Ok(join.on.iter().any(|(a, b)| a.column_refs().len() > 1 || b.column_refs().len() > 1))
            }
            _ => Ok(false),
        };
        if plan.dyn_exists(has_wide_key)? { Ok(Transformed::no(plan)) } else { self.0.rewrite(plan, config) }
    }
}

/// Runs after conditions have been moved to the tables, and before columns that are not needed are dropped between
/// joins.
#[derive(Debug)]
pub(crate) struct JoinOrder;

impl OptimizerRule for JoinOrder {
    fn name(&self) -> &str {
        "join_order"
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        match plan.dyn_exists(|plan| Ok(matches!(plan, LogicalPlan::Join(_))))? {
            true => reordered(plan),
            false => Ok(Transformed::no(plan)),
        }
    }
}

fn reordered(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    plan.dyn_transform_down(|plan| {
        let Some(group) = JoinGroup::of(&plan) else { return Ok(Transformed::no(plan)) };
        // The tables of the group may have groups of their own inside.
        let rebuilt = group.map_tables(|table| reordered(table).map(|table| table.data))?.rebuilt(plan.schema())?;
        Ok(Transformed::new(rebuilt, true, TreeNodeRecursion::Jump))
    })
}
