//! `x <> 0 AND 10 / x > 1`: an operand of `AND` or `OR` that may fail is computed only for rows for which those before
//! it do not decide. DataFusion 55.2 computes it for all rows unless those before it leave few, and makes such chains
//! itself, of a `CASE` of conditions.
//!
//! `p AND q AND r` becomes `p AND CASE FALSE WHEN p THEN FALSE WHEN q THEN FALSE ELSE q AND r END`. DataFusion
//! simplifies no `CASE` of this form, and computes each of its operands only for rows for which those before it do not
//! decide. Where a row is wanted only if a condition is true, `p OR q` becomes `CASE TRUE WHEN p THEN TRUE ELSE q END`,
//! which computes `p` once; it is false where `p OR q` may be NULL.
//!
//! Waits for [#8927](https://github.com/apache/datafusion/issues/8927).

use crate::functions::base::arguments::is_text;
use crate::text::plan_subqueries::has_subquery;
use crate::text::plan_walk::{DynPlanWalk, DynWalk};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, ScalarValue, internal_err};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::{conjunction, disjunction, merge_schema, split_binary, split_binary_owned};
use datafusion::logical_expr::{BinaryExpr, Case, Expr, ExprSchemable, LogicalPlan, Operator, lit};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// Functions that fail for some of the values of their arguments' types.
const PARTIAL: [&str; 9] = ["ln", "log", "log2", "log10", "sqrt", "power", "to_date", "to_timestamp", "to_number"];

/// The maximum number of guards within one another. Each level repeats the operands of the next one, and DataFusion
/// repeats the work of planning a `CASE` at each level.
const LEVELS_MAX: usize = 4;

/// Runs after conditions have been moved to tables and joins, each for itself, and simplified.
#[derive(Debug)]
pub(crate) struct GuardedConditions;

impl OptimizerRule for GuardedConditions {
    fn name(&self) -> &str {
        "guarded_conditions"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, _: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        // A table applies its conditions one after the other.
        if matches!(plan, LogicalPlan::TableScan(_)) || !has_chains(&plan)? {
            return Ok(Transformed::no(plan));
        }
        let must_be_true = matches!(plan, LogicalPlan::Filter(_));
        let schema = merge_schema(&plan.inputs());
        let names = NamePreserver::new(&plan);
        plan.dyn_map_expressions(|expr| {
            if !may_fail(&expr, &schema) {
                return Ok(Transformed::no(expr));
            }
            let name = names.save(&expr);
            let guarded = guarded(expr, &schema, Surroundings { level: 0, must_be_true })?;
            Ok(guarded.update_data(|expr| name.restore(expr)))
        })
    }
}

/// Returns whether an expression of a step has `AND` or `OR`.
fn has_chains(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.dyn_apply_expressions(|expr| {
        expr.dyn_apply(|part| {
            found |= chain_operator(part).is_some();
            Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })
    })?;
    Ok(found)
}

/// The surroundings of a condition.
#[derive(Clone, Copy)]
struct Surroundings {
    /// The number of guards around it.
    level: usize,
    /// Whether NULL counts as false: it is a chain of the condition of a filter, and not an operand of something else.
    must_be_true: bool,
}

/// An expression in which each operand of `AND` and `OR` that may fail is guarded by the others.
fn guarded(expr: Expr, schema: &DFSchema, surroundings: Surroundings) -> Result<Transformed<Expr>> {
    if let Some(op) = chain_operator(&expr) {
        return guarded_chain(expr, op, schema, surroundings);
    }
    let surroundings = Surroundings { must_be_true: false, ..surroundings };
    expr.dyn_transform_down(|expr| match chain_operator(&expr) {
        Some(op) => guarded_chain(expr, op, schema, surroundings),
        // The rule runs several times.
        None if is_guard(&expr) => Ok(Transformed::new(expr, false, TreeNodeRecursion::Jump)),
        None => Ok(Transformed::no(expr)),
    })
}

/// The operator of a chain of conditions; `None` for another expression.
fn chain_operator(expr: &Expr) -> Option<Operator> {
    match expr {
        Expr::BinaryExpr(binary) => Some(binary.op).filter(|op| matches!(op, Operator::And | Operator::Or)),
        _ => None,
    }
}

/// Guards the operands of a chain of one operator, as [`guarded`] does. Operands that cannot fail come first:
/// DataFusion has changed their order, too.
fn guarded_chain(
    chain: Expr,
    op: Operator,
    schema: &DFSchema,
    surroundings: Surroundings,
) -> Result<Transformed<Expr>> {
    if surroundings.level == LEVELS_MAX || split_binary(&chain, op).into_iter().any(is_guard) {
        return Ok(Transformed::new(chain, false, TreeNodeRecursion::Jump));
    }
    let (mut is_changed, mut first, mut later) = (false, Vec::new(), Vec::new());
    for operand in split_binary_owned(chain, op) {
        if may_fail(&operand, schema) {
            let operand = guarded(operand, schema, Surroundings { level: surroundings.level + 1, ..surroundings })?;
            is_changed |= operand.transformed;
            later.push(operand.data);
        } else {
            first.push(operand);
        }
    }
    if first.is_empty() {
        first.push(later.remove(0));
    }
    let decides_alone = op == Operator::Or && surroundings.must_be_true && first.iter().all(may_repeat);
    let mut deciding: Vec<Expr> =
        joined(first.iter().filter(|operand| may_repeat(operand)).cloned(), op).into_iter().collect();
    let before_last = later.iter().take(later.len().saturating_sub(1));
    deciding.extend(before_last.filter(|operand| may_repeat(operand)).cloned());
    // The operands have been visited.
    let visited = |chain, is_changed| Ok(Transformed::new(chain, is_changed, TreeNodeRecursion::Jump));
    match (joined(first, op), joined(later, op)) {
        (Some(first), Some(later)) if deciding.is_empty() => visited(chained(first, op, later), is_changed),
        (Some(_), Some(later)) if decides_alone => visited(guard(deciding, op, later), true),
        (Some(first), Some(later)) => visited(chained(first, op, guard(deciding, op, later)), true),
        (Some(first), None) => visited(first, is_changed),
        (None, _) => internal_err!("a chain of no conditions"),
    }
}

/// Returns whether an operand may be computed once more: it has the same value then, and does not take long.
fn may_repeat(operand: &Expr) -> bool {
    !operand.is_volatile() && !has_subquery(operand)
}

/// A chain of these operands; `None` if there are none.
fn joined(operands: impl IntoIterator<Item = Expr>, op: Operator) -> Option<Expr> {
    if op == Operator::Or { disjunction(operands) } else { conjunction(operands) }
}

fn chained(first: Expr, op: Operator, second: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(Box::new(first), op, Box::new(second)))
}

/// `CASE FALSE WHEN p THEN FALSE WHEN q THEN FALSE ELSE later END` for `AND`, and the same with `TRUE` for `OR`.
fn guard(deciding: Vec<Expr>, op: Operator, later: Expr) -> Expr {
    let decision = || Box::new(lit(op == Operator::Or));
    let branches = deciding.into_iter().map(|operand| (Box::new(operand), decision())).collect();
    Expr::Case(Case::new(Some(decision()), branches, Some(Box::new(later))))
}

fn is_guard(expr: &Expr) -> bool {
    let Expr::Case(Case { expr: Some(decision), when_then_expr, .. }) = expr else { return false };
    matches!(**decision, Expr::Literal(ScalarValue::Boolean(Some(_)), _))
        && when_then_expr.iter().all(|(_, then)| then == decision)
}

/// Returns whether an expression may fail for values that its condition can leave out: those of divisors, texts and the
/// like, and factors whose product is too large. Other results that are too large are no reason: nearly all arithmetic
/// may have some.
fn may_fail(expr: &Expr, schema: &DFSchema) -> bool {
    let mut fails = false;
    let walked = expr.dyn_apply(|part| {
        fails |= fails_itself(part, schema);
        Ok(if fails { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    walked.is_ok() && fails
}

fn fails_itself(expr: &Expr, schema: &DFSchema) -> bool {
    let is_literal = |operand: &Expr| matches!(operand, Expr::Literal(..));
    let is_integer = || expr.get_type(schema).is_ok_and(|of| of.is_integer());
    let is_product = |left: &Expr, right: &Expr| !is_literal(left) && !is_literal(right) && is_integer();
    match expr {
        Expr::Cast(cast) => reads_text(&cast.expr, cast.field.data_type(), schema),
        Expr::BinaryExpr(binary) => match binary.op {
            Operator::Divide | Operator::Modulo => !is_literal(&binary.right),
            Operator::Multiply => is_product(&binary.left, &binary.right),
            _ => false,
        },
        Expr::ScalarFunction(call) => match (call.func.name(), call.args.as_slice()) {
            ("cast", [operand]) => expr.get_type(schema).is_ok_and(|target| reads_text(operand, &target, schema)),
            ("/" | "%", [_, divisor]) => !is_literal(divisor),
            ("*", [left, right]) => is_product(left, right),
            (name, _) => PARTIAL.contains(&name),
        },
        _ => false,
    }
}

/// Returns whether a cast reads a text, which may have another form.
fn reads_text(operand: &Expr, target: &DataType, schema: &DFSchema) -> bool {
    !is_text(target) && operand.get_type(schema).is_ok_and(|of| is_text(&of))
}
