//! `$1 || $2`: operands without a type are texts, as in PostgreSQL. DataFusion refuses two of them.
//!
//! No upstream issue known.

use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::Placeholder;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Expr, ExprSchemable, cast};
use datafusion::sql::sqlparser::ast::BinaryOperator;
use std::sync::Arc;

/// Runs while a statement is planned.
#[derive(Debug)]
pub(crate) struct UntypedOperands;

impl ExprPlanner for UntypedOperands {
    fn plan_binary_op(&self, mut expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let is_untyped = |operand: &Expr| matches!(operand.get_type(schema), Ok(DataType::Null));
        if expr.op == BinaryOperator::StringConcat && is_untyped(&expr.left) && is_untyped(&expr.right) {
            (expr.left, expr.right) = (text(expr.left), text(expr.right));
        }
        Ok(PlannerResult::Original(expr))
    }
}

/// A parameter or NULL as a text.
fn text(operand: Expr) -> Expr {
    match operand {
        Expr::Placeholder(Placeholder { id, .. }) => {
            let field = Field::new(&id, DataType::Utf8, true);
            Expr::Placeholder(Placeholder::new_with_field(id, Some(Arc::new(field))))
        }
        other => cast(other, DataType::Utf8),
    }
}
