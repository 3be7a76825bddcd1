//! Replaces the operators of a plan.

use super::operation::{Operation, Sign, of_binary};
use super::quotient::quotient;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Operator};
use datafusion::optimizer::AnalyzerRule;

/// Runs after types have been made equal, and before constants are computed.
#[derive(Debug)]
pub(crate) struct CheckIntegers;

impl AnalyzerRule for CheckIntegers {
    fn name(&self) -> &str {
        "check_integers"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| {
            if !calculates(&plan)? {
                return Ok(Transformed::no(plan));
            }
            let schema = match &plan {
                LogicalPlan::TableScan(scan) => {
                    DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())?
                }
                other => merge_schema(&other.inputs()),
            };
            plan.map_expressions(|expr| checked(expr, &schema))
        })
        .data()
    }
}

/// Replaces the operations on integers in an expression by checked ones. Types must have been made equal.
pub(crate) fn checked(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    expr.transform_up(|expr| match expr {
        Expr::BinaryExpr(binary) if Sign::of(binary.op).is_some() => {
            let types = (binary.left.get_type(schema)?, binary.right.get_type(schema)?);
            match types.0.is_integer() && types.0 == types.1 {
                true => Ok(Transformed::yes(of_binary(binary))),
                false => Ok(Transformed::no(Expr::BinaryExpr(binary))),
            }
        }
        Expr::BinaryExpr(binary) if binary.op == Operator::Divide => {
            let types = (binary.left.get_type(schema)?, binary.right.get_type(schema)?);
            match types.0.is_floating() && types.0 == types.1 {
                true => Ok(Transformed::yes(quotient(binary))),
                false => Ok(Transformed::no(Expr::BinaryExpr(binary))),
            }
        }
        Expr::Negative(operand) if operand.get_type(schema)?.is_integer() => {
            Ok(Transformed::yes(Operation::call(Sign::Negative, vec![*operand])))
        }
        other => Ok(Transformed::no(other)),
    })
}

/// Whether a step of a plan has an operator that may be replaced.
fn calculates(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_expressions(|expr| {
        expr.apply(|expr| {
            found |= match expr {
                Expr::BinaryExpr(binary) => binary.op == Operator::Divide || Sign::of(binary.op).is_some(),
                Expr::Negative(_) => true,
                _ => false,
            };
            Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })
    })?;
    Ok(found)
}
