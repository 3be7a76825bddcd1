//! Rows that a statement reads in several places, and that are not the same in each computation.
//!
//! `LIMIT 3` returns any three rows, or any of those with the same order, `DISTINCT ON` any row of each group,
//! `array_agg` collects values in any order, and `random()` has another value each time. A plan has copies of such a
//! step where a statement names an item of `WITH` more than once, or where a subquery is computed for all outer rows at
//! once. All copies must return the same rows: [`rule`] puts a [`node::SharedRows`] over each of them, and the
//! [`operator`] that is executed first computes the rows for all. In `WITH RECURSIVE`, rows with values such as those
//! of `random()` are computed for each round. They are released once all copies have begun a later round.

mod node;
mod operator;
mod rule;

use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::UserDefinedLogicalNode;
use datafusion::physical_plan::ExecutionPlan;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

pub use rule::ShareRows;

/// The rows of one statement that copies with the same number share.
#[derive(Debug, Default)]
pub(super) struct StatementRows(Mutex<HashMap<usize, Arc<operator::SharedBatches>>>);

/// The operator of a step over its input, if the step is a [`node::SharedRows`] of the statement.
pub(super) fn planned(
    step: &dyn UserDefinedLogicalNode,
    inputs: &[Arc<dyn ExecutionPlan>],
    statement: &StatementRows,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(node) = step.as_any().downcast_ref::<node::SharedRows>() else { return Ok(None) };
    let [input] = inputs else { return internal_err!("SharedRows has one input") };
    let shared = Arc::clone(statement.0.lock().entry(node.number).or_default());
    let logical = UserDefinedLogicalNode::schema(node).inner();
    let is_by_round = node.is_volatile && node.has_rounds;
    Ok(Some(Arc::new(operator::SharedRowsExec::named(Arc::clone(input), shared, is_by_round, logical))))
}
