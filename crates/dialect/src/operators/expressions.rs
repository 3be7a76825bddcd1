//! The compilation of the expressions in steps of a plan.

use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::Expr;
use datafusion::physical_expr::PhysicalExpr;
use std::sync::Arc;

/// Compiles an expression over the columns of a schema.
pub(super) type CompileExpr<'a> = dyn Fn(&Expr, &DFSchema) -> Result<Arc<dyn PhysicalExpr>> + 'a;
