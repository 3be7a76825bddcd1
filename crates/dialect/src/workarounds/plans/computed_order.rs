//! Rows in the order of values that are computed from other computed values, such as `abs(a - b)` and `length(a) > 5`.
//! DataFusion derives what it knows of an expression from its parts, and fails for some whose range is not known. Then
//! it takes the rows that it has sorted itself for unsorted ones, and refuses the plan. So such values become columns
//! before rows are sorted by them.
//!
//! So do values with functions such as `random()` and `nextval('s')`, because a sort that merges sorted rows computes
//! its keys again.
//!
//! No upstream issue known.

use crate::text::plan_subqueries::has_subquery;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::logical_plan::{Projection, Sort, Window};
use datafusion::logical_expr::{Expr, LogicalPlan, SortExpr};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// Runs after expressions have been simplified.
#[derive(Debug)]
pub(crate) struct ComputedOrder;

impl OptimizerRule for ComputedOrder {
    fn name(&self) -> &str {
        "computed_order"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Sort(sort) if sort.expr.iter().any(|by| becomes_column(&by.expr)) => {
                sorted_by_columns(sort).map(Transformed::yes)
            }
            LogicalPlan::Window(window) if window.window_expr.iter().any(sorts_by_computed) => {
                over_columns(window).map(Transformed::yes)
            }
            other => Ok(Transformed::no(other)),
        }
    }
}

/// The values that become columns.
#[derive(Default)]
struct ComputedColumns(Vec<Expr>);

impl ComputedColumns {
    /// The column of a value. One that does not become a column stays.
    fn column(&mut self, value: Expr) -> Expr {
        if !becomes_column(&value) {
            return value;
        }
        let value = value.unalias();
        let at = match self.0.iter().position(|other| *other == value) {
            Some(at) => at,
            None => {
                self.0.push(value);
                self.0.len() - 1
            }
        };
        Expr::Column(Column::new_unqualified(name(at)))
    }

    /// A window function over such columns.
    fn in_function(&mut self, expr: Expr) -> Expr {
        match expr {
            Expr::Alias(mut alias) => {
                let inner = self.in_function(alias.expr.as_ref().clone());
                alias.expr = Box::new(inner);
                Expr::Alias(alias)
            }
            Expr::WindowFunction(mut function) => {
                let params = &mut function.params;
                for value in &mut params.partition_by {
                    *value = self.column(value.clone());
                }
                for by in &mut params.order_by {
                    by.expr = self.column(by.expr.clone());
                }
                Expr::WindowFunction(function)
            }
            other => other,
        }
    }

    /// A plan with these columns after its own.
    fn beside(self, input: Arc<LogicalPlan>) -> Result<LogicalPlan> {
        let computed = self.0.into_iter().enumerate().map(|(at, value)| value.alias(name(at)));
        let exprs = columns(&input).into_iter().chain(computed).collect();
        Ok(LogicalPlan::Projection(Projection::try_new(exprs, input)?))
    }
}

fn sorted_by_columns(sort: Sort) -> Result<LogicalPlan> {
    let Sort { expr, input, fetch } = sort;
    let (shown, schema) = (columns(&input), Arc::clone(input.schema()));
    let mut computed = ComputedColumns::default();
    let expr = expr.into_iter().map(|by| SortExpr::new(computed.column(by.expr), by.asc, by.nulls_first)).collect();
    let input = Arc::new(computed.beside(input)?);
    let sorted = LogicalPlan::Sort(Sort { expr, input, fetch });
    Ok(LogicalPlan::Projection(Projection::try_new_with_schema(shown, Arc::new(sorted), schema)?))
}

fn over_columns(window: Window) -> Result<LogicalPlan> {
    let Window { input, window_expr, schema } = window;
    let mut computed = ComputedColumns::default();
    let functions: Vec<Expr> = window_expr.into_iter().map(|expr| computed.in_function(expr)).collect();
    let own_count = input.schema().fields().len();
    let hidden = own_count..own_count + computed.0.len();
    let window = Window::try_new(functions, Arc::new(computed.beside(input)?))?;
    let kept = window.schema.columns().into_iter().enumerate().filter(|(at, _)| !hidden.contains(at));
    let shown = kept.zip(schema.iter()).map(|((_, column), (qualifier, field))| {
        if column == Column::from((qualifier, field)) {
            Expr::Column(column)
        } else {
            Expr::Column(column).alias_qualified(qualifier.cloned(), field.name())
        }
    });
    let shown = shown.collect();
    let answer = Projection::try_new_with_schema(shown, Arc::new(LogicalPlan::Window(window)), schema)?;
    Ok(LogicalPlan::Projection(answer))
}

fn columns(plan: &LogicalPlan) -> Vec<Expr> {
    plan.schema().columns().into_iter().map(Expr::Column).collect()
}

fn name(at: usize) -> String {
    format!("\u{1}order{at}")
}

fn sorts_by_computed(expr: &Expr) -> bool {
    match expr {
        Expr::Alias(alias) => sorts_by_computed(&alias.expr),
        Expr::WindowFunction(function) => {
            let params = &function.params;
            params.partition_by.iter().chain(params.order_by.iter().map(|by| &by.expr)).any(becomes_column)
        }
        _ => false,
    }
}

/// Returns whether a value is computed from values that are computed, too, or differs each time it is computed.
fn becomes_column(value: &Expr) -> bool {
    (is_nested(value) || value.is_volatile()) && !has_subquery(value)
}

fn is_nested(value: &Expr) -> bool {
    let mut is_nested = false;
    let walked = value.apply_children(|part| {
        is_nested |= has_parts(part);
        Ok(TreeNodeRecursion::Continue)
    });
    walked.is_ok() && is_nested
}

fn has_parts(expr: &Expr) -> bool {
    let mut has_parts = false;
    let walked = expr.apply_children(|_| {
        has_parts = true;
        Ok(TreeNodeRecursion::Stop)
    });
    walked.is_ok() && has_parts
}
