//! The logical plan step above each copy of a step whose rows are shared.

use datafusion::common::{DFSchemaRef, Result};
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNodeCore};
use std::fmt;
use std::sync::Arc;

/// Returns the rows of its input, and the same rows in all copies. No condition and no limit moves below it, and all
/// columns are read, so that the copies stay equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Hash)]
pub(crate) struct SharedRows {
    pub input: Arc<LogicalPlan>,
    /// The number that all copies have.
    pub number: usize,
    /// Whether the rows differ each time that they are computed, as those of `random()` do.
    pub is_volatile: bool,
    /// True in a recursive term of `WITH RECURSIVE`, which is executed for each round.
    pub has_rounds: bool,
}

impl UserDefinedLogicalNodeCore for SharedRows {
    fn name(&self) -> &str {
        "SharedRows"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        self.input.schema()
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "SharedRows: number={}", self.number)
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        let input = inputs.into_iter().next().map_or_else(|| Arc::clone(&self.input), Arc::new);
        Ok(Self { input, ..self.clone() })
    }
}
