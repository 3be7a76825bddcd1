//! Refuses to read materialized views that have not been refreshed yet.

use crate::scan::provider::SnapshotTable;
use atsdb_core::Result;
use atsdb_dialect::text::datafusion_errors::{external, from_datafusion};
use atsdb_dialect::text::errors::sql_error;
use atsdb_dialect::text::plan_walk::DynPlanWalk;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::LogicalPlan;

/// Refuses a plan that reads a materialized view without rows. `EXPLAIN` only shows the plan, and reads nothing.
pub(crate) fn refuse_unpopulated(plan: &LogicalPlan) -> Result<()> {
    if matches!(plan, LogicalPlan::Explain(_)) {
        return Ok(());
    }
    let checked = plan.dyn_apply_with_subqueries(|plan| {
        let LogicalPlan::TableScan(scan) = plan else { return Ok(TreeNodeRecursion::Continue) };
        let provider = source_as_provider(&scan.source)?;
        let table = provider.downcast_ref::<SnapshotTable>();
        match table.map(SnapshotTable::definition).filter(|definition| definition.is_unpopulated()) {
            Some(definition) => {
                let message = format!("materialized view \"{}\" has not been populated", definition.local_name());
                Err(external(sql_error(message).with_hint("Use the REFRESH MATERIALIZED VIEW command.")))
            }
            None => Ok(TreeNodeRecursion::Continue),
        }
    });
    checked.map(drop).map_err(from_datafusion)
}
