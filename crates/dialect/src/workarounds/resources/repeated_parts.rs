//! Statements whose planning would take hours, because DataFusion repeats parts of them: each level of nesting doubles
//! the work. They are refused before they are planned any further.
//!
//! DataFusion 55.2 writes the value of a `BETWEEN`, the conditions of a short `CASE` and the arguments of `coalesce`
//! twice. It checks each subquery twice at each level, asks what is cast twice whether it can be NULL, builds a `CASE`
//! inside another one with more columns twice, plans an item of `WITH` anew wherever it is named, and puts the
//! expressions of subqueries into the conditions above them.
//!
//! No upstream issue known that names them all; [#8777](https://github.com/apache/datafusion/issues/8777) is about
//! `WITH`.

use super::first_values::is_leaf;
use super::flat_cases::continues;
use crate::functions::types::declared::FIRST_VALUES;
use crate::text::datafusion_errors::external;
use crate::text::errors::too_complex;
use crate::text::plan_walk::DynPlanWalk;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::{Case, ScalarFunction};
use datafusion::logical_expr::logical_plan::{Distinct, Subquery};
use datafusion::logical_expr::{Expr, LogicalPlan};
use std::collections::HashMap;
use std::sync::Arc;

/// The maximum number of parts that planning may add to those that are written. That takes a second or two.
pub(crate) const REPEATED_MAX: u64 = 1 << 18;

/// The number of `WHEN` up to which DataFusion writes a `CASE` of conditions with `AND` and `OR`.
const SHORT_CASE_WHENS: usize = 2;

/// Refuses a plan that DataFusion would make too large.
pub fn refuse_repeated_parts(plan: &LogicalPlan) -> Result<()> {
    let mut counter = Counter::default();
    let planned = counter.step(plan)?.parts;
    match planned.saturating_sub(counter.written) {
        0..=REPEATED_MAX => Ok(()),
        _ => Err(external(too_complex())),
    }
}

/// Counts the parts of plans and expressions as they will be planned.
#[derive(Default)]
struct Counter {
    /// The number of parts that are written.
    written: u64,
    /// The steps that were counted, by address. An item of `WITH` that is named twice is one step.
    counted: HashMap<*const LogicalPlan, PlanStep>,
}

/// A step of a plan with all steps below it.
#[derive(Clone)]
struct PlanStep {
    parts: u64,
    /// The size of the expression that each column is.
    columns: Arc<[u64]>,
}

/// The columns that an expression may name, and the size of the expression that each one is.
#[derive(Clone, Copy)]
struct Columns<'a> {
    schema: &'a DFSchema,
    sizes: &'a [u64],
}

/// The size of an expression.
#[derive(Clone, Copy)]
struct Size {
    parts: u64,
    /// The numbers of calls that it takes to find out whether it can be NULL, and which type it has.
    nullable_calls: u64,
    type_calls: u64,
    /// The number of parts for which a `CASE` is built.
    built_parts: u64,
    /// The number of different columns in the outermost `CASE` of it that has the fewest.
    case_columns: usize,
}

impl Size {
    const ONE: Self = Self { parts: 1, nullable_calls: 1, type_calls: 1, built_parts: 0, case_columns: usize::MAX };

    fn work(self) -> u64 {
        self.parts.max(self.nullable_calls).max(self.type_calls).max(self.built_parts)
    }
}

impl Counter {
    fn step(&mut self, plan: &LogicalPlan) -> Result<PlanStep> {
        let address = std::ptr::from_ref(plan);
        if let Some(step) = self.counted.get(&address) {
            return Ok(step.clone());
        }
        let inputs = plan.inputs().into_iter().map(|input| self.step(input)).collect::<Result<Vec<_>>>()?;
        let mut own: u64 = 0;
        plan.dyn_apply_expressions(|expr| {
            own = own.saturating_add(self.size(expr, None)?.work());
            Ok(TreeNodeRecursion::Continue)
        })?;
        if let (LogicalPlan::Filter(filter), [input]) = (plan, inputs.as_slice()) {
            // The condition moves below the expressions that its columns are.
            let columns = Columns { schema: filter.input.schema(), sizes: &input.columns };
            own = own.max(self.size(&filter.predicate, Some(columns))?.work());
        }
        self.written = self.written.saturating_add(1);
        let parts = sum(inputs.iter().map(|input| input.parts)).saturating_add(own).saturating_add(1);
        let step = PlanStep { parts, columns: self.columns(plan, &inputs)? };
        self.counted.insert(address, step.clone());
        Ok(step)
    }

    /// The sizes of a step's columns. Conditions do not move below steps whose columns have the size 1.
    fn columns(&mut self, plan: &LogicalPlan, inputs: &[PlanStep]) -> Result<Arc<[u64]>> {
        let width = plan.schema().fields().len();
        let columns: Arc<[u64]> = match (plan, inputs) {
            (LogicalPlan::Projection(projection), [input]) => {
                let columns = Columns { schema: projection.input.schema(), sizes: &input.columns };
                let sizes = projection.expr.iter().map(|expr| self.size(expr, Some(columns)).map(|size| size.parts));
                sizes.collect::<Result<Vec<u64>>>()?.into()
            }
            (
                LogicalPlan::SubqueryAlias(_)
                | LogicalPlan::Filter(_)
                | LogicalPlan::Sort(_)
                | LogicalPlan::Distinct(Distinct::All(_)),
                [input],
            ) => Arc::clone(&input.columns),
            (LogicalPlan::Join(_), [left, right]) => left.columns.iter().chain(right.columns.iter()).copied().collect(),
            (LogicalPlan::Union(_), inputs) => {
                let largest = |at: usize| inputs.iter().filter_map(|input| input.columns.get(at).copied()).max();
                (0..width).map(|at| largest(at).unwrap_or(1)).collect()
            }
            _ => return Ok(vec![1; width].into()),
        };
        Ok(if columns.len() == width { columns } else { vec![1; width].into() })
    }

    /// The size of an expression; with `columns`, of one that has moved below them.
    fn size(&mut self, expr: &Expr, columns: Option<Columns<'_>>) -> Result<Size> {
        match (expr, columns) {
            (Expr::Column(column), Some(Columns { schema, sizes })) => {
                let size = schema.maybe_index_of_column(column).and_then(|at| sizes.get(at));
                return Ok(Size { parts: size.copied().unwrap_or(1), ..Size::ONE });
            }
            // Nothing of it is repeated twice.
            (Expr::Alias(alias), _) => return self.size(&alias.expr, columns),
            (_, None) => self.written = self.written.saturating_add(1),
            (_, Some(_)) => {}
        }
        let mut operands = Vec::new();
        expr.apply_children(|operand| {
            operands.push(self.size(operand, columns)?);
            Ok(TreeNodeRecursion::Continue)
        })?;
        let mut parts = sum(operands.iter().map(|operand| operand.parts)).saturating_add(1);
        parts = parts.saturating_add(repeated(expr, &operands));
        if let Some(subquery) = subquery_of(expr) {
            let subquery = self.step(&subquery.subquery)?.parts;
            // Those of a condition that has moved were counted before.
            parts = parts.saturating_add(if columns.is_none() { subquery.saturating_mul(2) } else { 0 });
        }
        let (nullable_calls, type_calls) = match (expr, operands.as_slice()) {
            (Expr::Cast(_) | Expr::TryCast(_), [operand]) => {
                (operand.nullable_calls.saturating_add(operand.type_calls), operand.type_calls.saturating_add(1))
            }
            // Functions know their types.
            (Expr::ScalarFunction(_) | Expr::HigherOrderFunction(_), _) => (1, 1),
            (_, operands) => {
                let calls = sum(operands.iter().map(|operand| operand.nullable_calls)).saturating_add(1);
                (calls, calls.saturating_add(1))
            }
        };
        let (built_parts, case_columns) = match expr {
            Expr::Case(case) => {
                let columns = expr.column_refs().len();
                (built_parts(case, columns, &operands), columns)
            }
            _ => (
                sum(operands.iter().map(|operand| operand.built_parts)),
                operands.iter().map(|operand| operand.case_columns).min().unwrap_or(usize::MAX),
            ),
        };
        Ok(Size { parts, nullable_calls, type_calls, built_parts, case_columns })
    }
}

/// The number of parts that an expression gets in addition to its operands.
fn repeated(expr: &Expr, operands: &[Size]) -> u64 {
    match (expr, operands) {
        (Expr::Between(_), [value, ..]) => value.parts,
        (Expr::Case(Case { expr: None, when_then_expr, .. }), operands) if when_then_expr.len() <= SHORT_CASE_WHENS => {
            // Conditions and results take turns. Each later part contains the negations of the conditions before it.
            let conditions = operands.chunks_exact(2).take(when_then_expr.len()).enumerate();
            let times = |at: usize| if at + 1 < when_then_expr.len() { 2 } else { 1 };
            sum(conditions.map(|(at, pair)| pair[0].parts.saturating_mul(times(at))))
        }
        (Expr::ScalarFunction(call), operands) if FIRST_VALUES.contains(&call.func.name()) => {
            sum(operands.iter().enumerate().map(|(at, operand)| match is_repeated(call, at) {
                true => operand.parts,
                false => 0,
            }))
        }
        _ => 0,
    }
}

/// The number of parts for which a `CASE` over some columns is built. One inside it that has fewer columns is built
/// again, with other numbers of columns, unless it becomes a part of this one.
fn built_parts(case: &Case, columns: usize, operands: &[Size]) -> u64 {
    let is_flat = |at: usize| at + 1 == operands.len() && continues(case);
    let parts = operands.iter().enumerate().map(|(at, operand)| {
        if operand.case_columns < columns && !is_flat(at) {
            operand.built_parts.saturating_mul(2).saturating_add(operand.parts)
        } else {
            operand.built_parts
        }
    });
    sum(parts).saturating_add(1)
}

/// Returns whether an argument of `coalesce` is repeated: neither the last one, nor one before constants and columns
/// only, nor another such call, whose arguments then belong to the outer one.
fn is_repeated(call: &ScalarFunction, at: usize) -> bool {
    let is_first_value =
        matches!(&call.args[at], Expr::ScalarFunction(inner) if FIRST_VALUES.contains(&inner.func.name()));
    let is_plain = |expr: &Expr| match expr {
        Expr::Cast(cast) => is_leaf(&cast.expr),
        other => is_leaf(other),
    };
    !is_first_value && !call.args[at + 1..].iter().all(is_plain)
}

fn subquery_of(expr: &Expr) -> Option<&Subquery> {
    match expr {
        Expr::ScalarSubquery(subquery) => Some(subquery),
        Expr::Exists(exists) => Some(&exists.subquery),
        Expr::InSubquery(member) => Some(&member.subquery),
        Expr::SetComparison(comparison) => Some(&comparison.subquery),
        _ => None,
    }
}

fn sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::logical_expr::{LogicalPlanBuilder, col, lit};

    fn nested(depth: usize, wrap: impl Fn(Expr) -> Expr) -> Result<()> {
        let mut expr = col("x").eq(lit(1));
        for _ in 0..depth {
            expr = wrap(expr);
        }
        let values = LogicalPlanBuilder::values(vec![vec![lit(1)]])?.project(vec![col("column1").alias("x")])?;
        refuse_repeated_parts(&values.project(vec![expr.alias("y")])?.build()?)
    }

    fn case(condition: Expr, result: Expr, other: Expr) -> Expr {
        Expr::Case(Case::new(None, vec![(Box::new(condition), Box::new(result))], Some(Box::new(other))))
    }

    #[test]
    fn parts_are_counted_as_often_as_they_will_be_planned() {
        let between = |expr: Expr| expr.between(lit(false), lit(true));
        assert!(nested(10, between).is_ok() && nested(20, between).is_err());
        let not = |expr: Expr| Expr::Not(Box::new(expr));
        assert!(nested(150, not).is_ok());
    }

    #[test]
    fn a_case_inside_another_one_with_more_columns_is_built_twice() {
        let over_columns = |depth: usize, place: fn(Expr, Expr, Expr) -> Expr| -> Result<()> {
            let names: Vec<String> = (1..=depth).map(|at| format!("column{at}")).collect();
            let rows = LogicalPlanBuilder::values(vec![vec![lit(1); depth]])?;
            let nest = |inner, name: &String| place(col(name).eq(lit(1)), inner, col(name));
            let expr = names.iter().rev().fold(lit(0), nest);
            refuse_repeated_parts(&rows.project(vec![expr.alias("y")])?.build()?)
        };
        let in_else = |condition, inner, column| case(condition, column, inner);
        assert!(over_columns(10, case).is_ok() && over_columns(24, case).is_err());
        assert!(over_columns(60, in_else).is_ok());
        let over_one = |expr: Expr| case(col("x").eq(lit(2)), expr, lit(false));
        assert!(nested(60, over_one).is_ok());
    }
}
