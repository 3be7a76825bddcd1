//! The logical plan step that joins by time.

use datafusion::common::{DFSchemaRef, JoinType, Result};
use datafusion::logical_expr::{Expr, LogicalPlan, Operator, UserDefinedLogicalNodeCore, build_join_schema};
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// Joins each row of the left side with the nearest one of the right side.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct AsofJoin {
    pub left: Arc<LogicalPlan>,
    pub right: Arc<LogicalPlan>,
    /// The pairs of expressions that must be equal.
    pub on: Vec<(Expr, Expr)>,
    /// The times of both sides, and the length of one unit of each, in a common unit.
    pub at: (Expr, Expr),
    pub ticks: (i64, i64),
    pub condition: MatchCondition,
    schema: DFSchemaRef,
}

/// Defines which row is the match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct MatchCondition {
    /// The comparison operator, with the left row's time before it and the right row's time after it.
    pub operator: Operator,
    pub tolerance: Option<Tolerance>,
    /// Whether rows of the left side without a match stay.
    pub is_left: bool,
}

/// The maximum distance between the times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Tolerance {
    pub distance: i128,
    /// Whether the distance must be less than the limit, not equal to it.
    pub strict: bool,
}

impl MatchCondition {
    /// Returns whether the match is at or before the left row.
    pub(crate) fn is_backward(&self) -> bool {
        matches!(self.operator, Operator::Gt | Operator::GtEq)
    }

    /// Returns whether equal times do not match.
    pub(crate) fn is_strict(&self) -> bool {
        matches!(self.operator, Operator::Gt | Operator::Lt)
    }
}

impl fmt::Display for MatchCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", if self.is_left { "left" } else { "inner" })?;
        match self.tolerance {
            Some(Tolerance { distance, strict }) => {
                write!(f, ", tolerance{}{distance}", if strict { "<" } else { "<=" })
            }
            None => Ok(()),
        }
    }
}

impl AsofJoin {
    pub(super) fn new(
        (left, right): (Arc<LogicalPlan>, Arc<LogicalPlan>),
        on: Vec<(Expr, Expr)>,
        at: (Expr, Expr),
        ticks: (i64, i64),
        condition: MatchCondition,
    ) -> Result<Self> {
        let join_type = if condition.is_left { JoinType::Left } else { JoinType::Inner };
        let schema = Arc::new(build_join_schema(left.schema(), right.schema(), &join_type)?);
        Ok(Self { left, right, on, at, ticks, condition, schema })
    }
}

impl PartialOrd for AsofJoin {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl UserDefinedLogicalNodeCore for AsofJoin {
    fn name(&self) -> &str {
        "AsofJoin"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.left, &self.right]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        let on = self.on.iter().flat_map(|(left, right)| [left.clone(), right.clone()]);
        on.chain([self.at.0.clone(), self.at.1.clone()]).collect()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let on: Vec<String> = self.on.iter().map(|(left, right)| format!("{left} = {right}")).collect();
        let (left, right) = &self.at;
        write!(f, "AsofJoin: {left} {} {right}, on=[{}], {}", self.condition.operator, on.join(", "), self.condition)
    }

    /// Returns the columns of each side that this step or a later one needs. No others are read.
    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        let left_count = self.left.schema().fields().len();
        let mut needed = [Vec::new(), Vec::new()];
        for column in output_columns {
            match column.checked_sub(left_count) {
                None => needed[0].push(*column),
                Some(column) => needed[1].push(column),
            }
        }
        Some(needed.to_vec())
    }

    fn with_exprs_and_inputs(&self, exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        let mut exprs = exprs.into_iter().map(Expr::unalias);
        let mut next = |old: &Expr| exprs.next().unwrap_or_else(|| old.clone());
        let on = self.on.iter().map(|(left, right)| (next(left), next(right))).collect();
        let at = (next(&self.at.0), next(&self.at.1));
        let mut inputs = inputs.into_iter().map(Arc::new);
        let left = inputs.next().unwrap_or_else(|| Arc::clone(&self.left));
        let right = inputs.next().unwrap_or_else(|| Arc::clone(&self.right));
        Self::new((left, right), on, at, self.ticks, self.condition)
    }
}
