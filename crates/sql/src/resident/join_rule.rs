//! Chooses the joins that use an index of a table in memory.

use super::join::{IndexJoin, ResidentJoinKind};
use super::scan::ResidentScan;
use atsdb_dialect::text::plan_walk::DynWalk;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{NullEquality, Result};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::HashJoinExec;
use std::sync::Arc;

/// Replaces joins by [`IndexJoin`] if one side is a whole table in memory that has an index over exactly the columns
/// that must be equal. If both sides are, the larger one is looked up.
#[derive(Debug)]
pub(crate) struct JoinByIndex;

impl PhysicalOptimizerRule for JoinByIndex {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.dyn_transform_up(|plan| {
            let joined = plan.downcast_ref::<HashJoinExec>().and_then(by_index);
            Ok(match joined {
                Some(join) => Transformed::yes(Arc::new(join) as Arc<dyn ExecutionPlan>),
                None => Transformed::no(plan),
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        "join_by_index"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn by_index(join: &HashJoinExec) -> Option<IndexJoin> {
    let is_plain = join.filter().is_none()
        && !join.contains_projection()
        && !join.null_aware
        && join.null_equality() == NullEquality::NullEqualsNothing;
    if !is_plain {
        return None;
    }
    let sides = [true, false].into_iter().filter_map(|outer_is_left| with_outer(join, outer_is_left));
    sides.max_by_key(|join| join.inner.state().row_count())
}

fn with_outer(join: &HashJoinExec, outer_is_left: bool) -> Option<IndexJoin> {
    let kind = ResidentJoinKind::of(*join.join_type(), outer_is_left)?;
    let (outer, inner) = if outer_is_left { (join.left(), join.right()) } else { (join.right(), join.left()) };
    let scan = inner.downcast_ref::<ResidentScan>().filter(|scan| scan.is_whole())?;
    let outer_schema = outer.schema();
    // For each column of the table in the join condition, the expression that it must equal.
    let mut wanted: Vec<(usize, &Arc<dyn PhysicalExpr>)> = Vec::new();
    for (left, right) in join.on() {
        let (outer_key, inner_key) = if outer_is_left { (left, right) } else { (right, left) };
        let column = inner_key.downcast_ref::<Column>()?;
        let data_type = inner.schema().field(column.index()).data_type().clone();
        // Floats with different bits may be equal.
        if data_type.is_floating() || outer_key.data_type(&outer_schema).ok()? != data_type {
            return None;
        }
        wanted.push((scan.columns()[column.index()], outer_key));
    }
    let covers = |positions: &[usize]| {
        positions.len() == wanted.len() && positions.iter().all(|at| wanted.iter().any(|(column, _)| column == at))
    };
    let index = scan.state().indexes().iter().position(|spec| covers(&spec.positions))?;
    let positions = &scan.state().indexes()[index].positions;
    let key = |at: &usize| wanted.iter().find(|(column, _)| column == at).map(|(_, key)| Arc::clone(key));
    let keys = positions.iter().map(key).collect::<Option<Vec<_>>>()?;
    Some(IndexJoin::new(Arc::clone(outer), outer_is_left, Arc::new(scan.clone()), (index, keys), kind, join.schema()))
}
