//! Compares intervals by their total length, where a month has 30 days and a day 24 hours. DataFusion compares months,
//! days and the rest one by one.
//!
//! Waits for [#8468](https://github.com/apache/datafusion/issues/8468).

use super::order::IntervalOrder;
use datafusion::arrow::datatypes::{DataType, IntervalUnit};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, ScalarUDF, cast};
use datafusion::optimizer::AnalyzerRule;

/// Runs before types are made equal.
#[derive(Debug)]
pub(crate) struct Lengths;

impl AnalyzerRule for Lengths {
    fn name(&self) -> &str {
        "lengths"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| {
            let schema = merge_schema(&plan.inputs());
            let names = NamePreserver::new(&plan);
            // ORDER BY sorts by the length, too.
            if let LogicalPlan::Sort(mut sort) = plan {
                for key in &mut sort.expr {
                    if is_interval(&key.expr, &schema) {
                        key.expr = order(key.expr.clone());
                    }
                }
                return Ok(Transformed::yes(LogicalPlan::Sort(sort)));
            }
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let rewritten = expr.transform_up(|expr| Ok(rewrite(expr, &schema)))?;
                Ok(rewritten.update_data(|expr| name.restore(expr)))
            })
        })
        .data()
    }
}

const INTERVAL: DataType = DataType::Interval(IntervalUnit::MonthDayNano);

fn is_interval(expr: &Expr, schema: &DFSchema) -> bool {
    matches!(expr.get_type(schema), Ok(DataType::Interval(_)))
}

pub(super) fn is_length(expr: &Expr, schema: &DFSchema) -> bool {
    matches!(expr.get_type(schema), Ok(DataType::Interval(_) | DataType::Duration(_)))
}

fn order(expr: Expr) -> Expr {
    ScalarUDF::new_from_impl(IntervalOrder::new()).call(vec![expr])
}

/// An interval, or text that is compared with one, as a number.
fn compared(expr: Expr, schema: &DFSchema) -> Expr {
    match expr.get_type(schema) {
        Ok(DataType::Interval(_) | DataType::Duration(_)) => order(expr),
        _ => order(cast(expr, INTERVAL)),
    }
}

fn may_be_length(expr: &Expr, schema: &DFSchema) -> bool {
    match expr.get_type(schema) {
        Ok(DataType::Interval(_) | DataType::Duration(_) | DataType::Null) => true,
        Ok(DataType::Utf8) => matches!(expr, Expr::Literal(..)),
        _ => false,
    }
}

fn rewrite(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    match expr {
        Expr::BinaryExpr(binary) => of_binary(binary, schema),
        Expr::Between(Between { expr, negated, low, high })
            if is_compared(&[expr.as_ref(), low.as_ref(), high.as_ref()], schema) =>
        {
            let [expr, low, high] = [expr, low, high].map(|expr| Box::new(compared(*expr, schema)));
            Transformed::yes(Expr::Between(Between { expr, negated, low, high }))
        }
        Expr::InList(InList { expr, list, negated })
            if is_compared(&list.iter().chain([expr.as_ref()]).collect::<Vec<_>>(), schema) =>
        {
            let list = list.into_iter().map(|item| compared(item, schema)).collect();
            Transformed::yes(Expr::InList(InList { expr: Box::new(compared(*expr, schema)), list, negated }))
        }
        other => Transformed::no(other),
    }
}

/// Whether these are compared as intervals: one is an interval, and the others are or can become intervals.
fn is_compared(exprs: &[&Expr], schema: &DFSchema) -> bool {
    exprs.iter().any(|expr| is_length(expr, schema)) && exprs.iter().all(|expr| may_be_length(expr, schema))
}

fn of_binary(binary: BinaryExpr, schema: &DFSchema) -> Transformed<Expr> {
    let BinaryExpr { left, op, right } = binary;
    if is_comparison(op) && is_compared(&[left.as_ref(), right.as_ref()], schema) {
        let [left, right] = [left, right].map(|expr| Box::new(compared(*expr, schema)));
        return Transformed::yes(Expr::BinaryExpr(BinaryExpr { left, op, right }));
    }
    Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right }))
}

fn is_comparison(op: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}
