//! Joins, of whose rows DataFusion takes for true what is true of an input only:
//!
//! - An outer join fills the optional side with NULLs. Its constants are no constants of the joined rows, nor do
//!   expressions stay equal: of `y.b = coalesce(y.a, 0)`, only the second is 0 in a row without a match. So
//!   `x LEFT JOIN (SELECT a, 1 AS f FROM t) y USING (a) ORDER BY f` did not sort. No issue describes it.
//! - A hash join reads its second input in order, and adds the order of the first: rows sorted by `(b, a)`. Where two
//!   rows of the second have one `b`, the values of `a` start again in the second of them.
//!   [#25052](https://github.com/apache/datafusion/issues/25052) describes it; its fix,
//!   [#25053](https://github.com/apache/datafusion/pull/25053), is not in 55.2.
//!
//! Such an input gets a [step](super::unknown_rows) above it that does not say these things, before DataFusion's rule
//! that plans sorts and distributions, which may sort an input. Steps that turn out not to change anything are removed
//! after that rule. All joins of 55.2 that this crate plans are hash joins, nested loops and cross joins. Others are
//! not touched here.

use super::unknown_rows::{HiddenProperties, UnknownRowsExec, know_less};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{JoinType, Result};
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec};
use std::sync::Arc;

/// Puts the steps above inputs while DataFusion plans sorts.
pub(crate) fn know_less_of_joined_rows(optimizer: &mut PhysicalOptimizer) {
    know_less(optimizer, with_unknown_inputs);
}

fn with_unknown_inputs(plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let Some(unknown) = unknown_of_inputs(plan.as_ref()) else { return Ok(Transformed::no(plan)) };
    let with_step = |(input, unknown): (&Arc<dyn ExecutionPlan>, Option<HiddenProperties>)| match unknown {
        Some(unknown) => UnknownRowsExec::above(Arc::clone(input), unknown),
        None => Ok(Arc::clone(input)),
    };
    let inputs = plan.children().into_iter().zip(unknown).map(with_step).collect::<Result<_>>()?;
    replace_children_if_necessary(plan, inputs).map(Transformed::yes)
}

/// Returns the properties to hide of a join's left and right input, each `None` if nothing need be hidden. `None` if
/// DataFusion assumes nothing wrong about the rows of the plan.
fn unknown_of_inputs(plan: &dyn ExecutionPlan) -> Option<[Option<HiddenProperties>; 2]> {
    let hash_join = plan.downcast_ref::<HashJoinExec>();
    let of_loop = || plan.downcast_ref::<NestedLoopJoinExec>().map(NestedLoopJoinExec::join_type);
    let optional = || Some(HiddenProperties::OrderAndConstants);
    match hash_join.map(HashJoinExec::join_type).or_else(of_loop)? {
        JoinType::Inner => hash_join.map(|_| [Some(HiddenProperties::Order), None]),
        JoinType::Left => Some([None, optional()]),
        JoinType::Right => Some([optional(), None]),
        JoinType::Full => Some([optional(), optional()]),
        JoinType::LeftSemi
        | JoinType::RightSemi
        | JoinType::LeftAnti
        | JoinType::RightAnti
        | JoinType::LeftMark
        | JoinType::RightMark => None,
    }
}
