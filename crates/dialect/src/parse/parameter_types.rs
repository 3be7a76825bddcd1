//! The type of a parameter whose text looks like a number: it is text if it is compared with text, and a number
//! otherwise, as in PostgreSQL, where the context decides.
//!
//! Such a parameter is a marked number until the statement is planned ([`params`](crate::text::params)). If it is
//! compared with a value of another type, it is planned as a placeholder, whose type DataFusion infers. Parameters that
//! have a type are placeholders from the beginning.

use crate::functions::base::arguments::is_text;
use crate::functions::types::char_texts::{DECLARED, trimmed};
use crate::text::decimals;
use crate::text::params::Parameters;
use crate::text::plan_walk::{DynPlanWalk, DynWalk};
use crate::text::tree_walk::visit_expressions_mut;
use crate::workarounds::{appended, prepended};
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{Result, plan_datafusion_err};
use datafusion::logical_expr::expr::Placeholder;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr as Planned, LogicalPlan, lit};
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Statement, UnaryOperator, Value, ValueWithSpan};
use std::borrow::Cow;
use std::ops::ControlFlow;

/// The prefix of the name of a placeholder, before its text. No statement can contain it.
const OPEN: &str = "$\u{1}";

/// The text of a parameter that looks like a number, if the expression is one.
pub fn numeric_parameter(expr: &Expr) -> Option<Cow<'_, str>> {
    match expr {
        Expr::Nested(inner) => match inner.as_ref() {
            // A negative number is in parentheses.
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => Some(format!("-{}", marked(expr)?).into()),
            inner => numeric_parameter(inner),
        },
        expr => marked(expr).map(Cow::Borrowed),
    }
}

fn marked(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(ValueWithSpan { value: Value::Number(digits, true), .. }) => Some(digits),
        _ => None,
    }
}

/// Turns parameters whose type depends on the other operand into placeholders. It is called before planning. Returns
/// whether there are any, including parameters that have a type.
pub fn open_parameters(statement: &mut Statement) -> bool {
    let mut has_some = false;
    let _ = visit_expressions_mut(statement, |expr| {
        has_some |= match expr {
            Expr::Value(ValueWithSpan { value: Value::Placeholder(_), .. }) => true,
            Expr::BinaryOp { left, op, right } if is_of_one_type(op) => open_one(left, right),
            Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => open_one(left, right),
            Expr::Between { expr, low, high, .. } if numeric_parameter(expr).is_none() => open(low) | open(high),
            Expr::InList { expr, list, .. } if numeric_parameter(expr).is_none() => {
                list.iter_mut().fold(false, |opened, item| opened | open(item))
            }
            Expr::Like { pattern, .. } | Expr::ILike { pattern, .. } | Expr::SimilarTo { pattern, .. } => open(pattern),
            _ => false,
        };
        ControlFlow::<()>::Continue(())
    });
    has_some
}

/// Returns whether both sides of an operator have the same type.
fn is_of_one_type(operator: &BinaryOperator) -> bool {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq, Spaceship, StringConcat};
    matches!(operator, Eq | NotEq | Lt | LtEq | Gt | GtEq | Spaceship | StringConcat)
}

fn open_one(left: &mut Expr, right: &mut Expr) -> bool {
    match (numeric_parameter(left).is_some(), numeric_parameter(right).is_some()) {
        (true, false) => open(left),
        (false, true) => open(right),
        _ => false,
    }
}

fn open(expr: &mut Expr) -> bool {
    let Some(text) = numeric_parameter(expr) else { return false };
    *expr = Expr::value(Value::Placeholder(format!("{OPEN}{text}")));
    true
}

/// Replaces the placeholders by values. It is called after planning.
pub fn close_parameters(plan: LogicalPlan, parameters: &Parameters) -> Result<LogicalPlan> {
    plan.dyn_transform_up_with_subqueries(|plan| {
        let names = NamePreserver::new(&plan);
        let closed = plan.dyn_map_expressions(|expr| {
            if !expr.dyn_exists(|inner| Ok(matches!(inner, Planned::Placeholder(_))))? {
                return Ok(Transformed::no(expr));
            }
            let name = names.save(&expr);
            Ok(close_expression(expr, parameters)?.update_data(|expr| name.restore(expr)))
        })?;
        if closed.transformed { closed.map_data(LogicalPlan::recompute_schema) } else { Ok(closed) }
    })
    .data()
}

/// Replaces the placeholders in one expression by values.
pub fn close_expression(expr: Planned, parameters: &Parameters) -> Result<Transformed<Planned>> {
    let is_element = |expr: &Planned| is_element(expr, parameters);
    expr.dyn_transform_down(|expr| match &expr {
        Planned::Placeholder(placeholder) => value_of(placeholder, parameters).map(Transformed::yes),
        // A value that is compared with a `char(n)`.
        Planned::ScalarFunction(call)
            if call.name() == DECLARED
                && let [Planned::Placeholder(placeholder)] = call.args.as_slice() =>
        {
            Ok(Transformed::yes(match value_of(placeholder, parameters)? {
                Planned::Literal(value, metadata) => Planned::Literal(trimmed(&value).unwrap_or(value), metadata),
                other => other,
            }))
        }
        Planned::ScalarFunction(call) if call.name() == "array_concat" => Ok(match call.args.as_slice() {
            // The parameter of `array || $1` was mistaken for an array, but has the type of an element.
            [array, element] if is_element(element) => Transformed::yes(appended(array.clone(), element.clone())),
            [element, array] if is_element(element) => Transformed::yes(prepended(element.clone(), array.clone())),
            _ => Transformed::no(expr),
        }),
        _ => Ok(Transformed::no(expr)),
    })
}

/// Returns whether it is a parameter whose value is neither an array nor a bare NULL.
fn is_element(expr: &Planned, parameters: &Parameters) -> bool {
    let Planned::Placeholder(placeholder) = expr else { return false };
    parameters
        .value(&placeholder.id)
        .is_some_and(|value| !value.data_type().is_nested() && !value.data_type().is_null())
}

fn value_of(placeholder: &Placeholder, parameters: &Parameters) -> Result<Planned> {
    if let Some(value) = parameters.value(&placeholder.id) {
        return Ok(Planned::Literal(value, None));
    }
    let text = placeholder.id.strip_prefix(OPEN);
    let text = text.ok_or_else(|| plan_datafusion_err!("no value is given for {}", placeholder.id))?;
    if placeholder.field.as_ref().is_some_and(|field| is_text(field.data_type())) {
        return Ok(lit(text));
    }
    // A number in the text of a statement has the same type.
    if let Ok(value) = text.parse::<i64>() {
        return Ok(lit(value));
    }
    if let Ok(value) = text.parse::<u64>() {
        return Ok(lit(value));
    }
    if let Some(number) = decimals::read(text) {
        return Ok(lit(decimals::scalar(number)));
    }
    text.parse::<f64>().map(lit).map_err(|_| plan_datafusion_err!("{text} is not a number"))
}
