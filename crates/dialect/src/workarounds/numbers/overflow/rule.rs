//! Replaces the operators of a plan.

use super::decimal_sum::DecimalSum;
use super::float_operation::{self, FloatOperation};
use super::integer_operation::{self, IntegerOperation};
use crate::text::plan_walk::{DynPlanWalk, DynWalk};
use crate::workarounds::shared::operator::OperatorFunction;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, ScalarUDF};
use datafusion::optimizer::AnalyzerRule;

/// Runs after types have been made equal, and before constants are computed.
#[derive(Debug)]
pub(crate) struct CheckNumbers;

impl AnalyzerRule for CheckNumbers {
    fn name(&self) -> &str {
        "check_numbers"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.dyn_transform_up_with_subqueries(|plan| {
            if !calculates(&plan)? {
                return Ok(Transformed::no(plan));
            }
            let schema = match &plan {
                LogicalPlan::TableScan(scan) => {
                    DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())?
                }
                other => merge_schema(&other.inputs()),
            };
            // A window function's name shows the expressions that it orders by.
            let names = NamePreserver::new(&plan);
            plan.dyn_map_expressions(|expr| {
                let name = names.save(&expr);
                Ok(checked(expr, &schema)?.update_data(|expr| name.restore(expr)))
            })
        })
        .data()
    }
}

/// Replaces the operations on numbers in an expression by checked ones. Types must have been made equal.
pub fn checked(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    expr.dyn_transform_up(|expr| match expr {
        Expr::BinaryExpr(binary) if FloatOperation::of(binary.op).is_some() => {
            let types = (type_of(&binary.left, schema)?, type_of(&binary.right, schema)?);
            let is_one = types.0 == types.1;
            Ok(match &types.0 {
                of if of.is_integer() && is_one && IntegerOperation::of(binary.op).is_some() => {
                    Transformed::yes(integer_operation::of_binary(binary))
                }
                of if of.is_floating() && is_one => Transformed::yes(float_operation::of_binary(binary)),
                of => match DecimalSum::of(binary.op, of, &types.1) {
                    Some(sum) => Transformed::yes(sum.call(binary)),
                    None => Transformed::no(Expr::BinaryExpr(binary)),
                },
            })
        }
        Expr::Negative(operand) => Ok(match type_of(&operand, schema)? {
            of if of.is_integer() => Transformed::yes(integer_operation::negated(*operand)),
            of if of.is_floating() => Transformed::yes(float_operation::negated(*operand)),
            _ => Transformed::no(Expr::Negative(operand)),
        }),
        other => Ok(Transformed::no(other)),
    })
}

/// The type of an operand. A sum of decimals knows it, and any other checked operation has that of its first operand.
/// DataFusion would write the names of all operations in it to find that out, for each operation of `a + b + c + ...`
/// again.
fn type_of(operand: &Expr, schema: &DFSchema) -> Result<DataType> {
    let mut operand = operand;
    while let Expr::ScalarFunction(call) = operand {
        if let Some(known) = DecimalSum::type_of_function(&call.func) {
            return Ok(known);
        }
        let Some(first) = call.args.first().filter(|_| is_checked(&call.func)) else { break };
        operand = first;
    }
    operand.get_type(schema)
}

fn is_checked(function: &ScalarUDF) -> bool {
    IntegerOperation::of_function(function).is_some()
        || OperatorFunction::<FloatOperation>::kernel_of(function).is_some()
}

/// Returns whether a step of a plan has an operator that may be replaced.
fn calculates(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.dyn_apply_expressions(|expr| {
        expr.dyn_apply(|expr| {
            found |= match expr {
                Expr::BinaryExpr(binary) => FloatOperation::of(binary.op).is_some(),
                Expr::Negative(_) => true,
                _ => false,
            };
            Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })
    })?;
    Ok(found)
}
