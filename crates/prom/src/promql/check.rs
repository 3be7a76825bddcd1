//! Checks the types of an expression.

use super::ast::{AggregateOp, Binary, Cardinality, Expr, ExprKind, Selector};
use super::functions::Function;
use super::lex::SyntaxError;
use super::value_type::ValueType;

/// The error, and its position in bytes.
pub(super) struct TypeError {
    pub(super) position: usize,
    pub(super) message: String,
}

impl TypeError {
    fn at(position: usize, message: impl Into<String>) -> Self {
        Self { position, message: message.into() }
    }

    pub(super) fn in_text(self, text: &str) -> SyntaxError {
        SyntaxError::at(text, self.position, self.message)
    }
}

/// The type of an expression.
pub fn type_of(expr: &Expr) -> ValueType {
    match &expr.kind {
        ExprKind::Number(_) => ValueType::Scalar,
        ExprKind::Text(_) => ValueType::Text,
        ExprKind::Selector(_) | ExprKind::Aggregate(_) => ValueType::Vector,
        ExprKind::Range { .. } | ExprKind::Subquery { .. } => ValueType::Matrix,
        ExprKind::Paren(inner) | ExprKind::Unary { expr: inner, .. } => type_of(inner),
        ExprKind::Binary(binary) => match (type_of(&binary.left), type_of(&binary.right)) {
            (ValueType::Scalar, ValueType::Scalar) => ValueType::Scalar,
            _ => ValueType::Vector,
        },
        ExprKind::Call { function, .. } => function.result,
    }
}

/// Checks an expression and all that it consists of.
pub(super) fn check(expr: &Expr) -> Result<(), TypeError> {
    match &expr.kind {
        ExprKind::Number(_) | ExprKind::Text(_) => Ok(()),
        ExprKind::Selector(selector) | ExprKind::Range { selector, .. } => check_selector(expr.start, selector),
        ExprKind::Paren(inner) => check(inner),
        ExprKind::Unary { expr: inner, .. } => {
            check(inner)?;
            match type_of(inner) {
                ValueType::Scalar | ValueType::Vector => Ok(()),
                other => Err(TypeError::at(
                    expr.start,
                    format!(
                        "unary expression only allowed on expressions of type scalar or instant vector, got {:?}",
                        other.documented()
                    ),
                )),
            }
        }
        ExprKind::Subquery { expr: inner, .. } => {
            check(inner)?;
            match type_of(inner) {
                ValueType::Vector => Ok(()),
                other => Err(TypeError::at(
                    expr.start,
                    format!("subquery is only allowed on instant vector, got {} instead", other.name()),
                )),
            }
        }
        ExprKind::Binary(binary) => check_binary(expr.start, binary),
        ExprKind::Call { function, args } => check_call(expr.start, function, args),
        ExprKind::Aggregate(aggregate) => {
            expect(&aggregate.expr, ValueType::Vector, "aggregation expression")?;
            match &aggregate.param {
                Some(param) if aggregate.op == AggregateOp::CountValues => {
                    expect(param, ValueType::Text, "aggregation parameter")
                }
                Some(param) => expect(param, ValueType::Scalar, "aggregation parameter"),
                None => Ok(()),
            }
        }
    }
}

fn expect(expr: &Expr, wanted: ValueType, context: &str) -> Result<(), TypeError> {
    check(expr)?;
    let found = type_of(expr);
    if found == wanted {
        return Ok(());
    }
    let (wanted, found) = (wanted.documented(), found.documented());
    Err(TypeError::at(expr.start, format!("expected type {wanted} in {context}, got {found}")))
}

fn check_selector(start: usize, selector: &Selector) -> Result<(), TypeError> {
    if selector.name.is_some() || selector.matchers.iter().any(|matcher| !matcher.matches("")) {
        return Ok(());
    }
    Err(TypeError::at(start, "vector selector must contain at least one non-empty matcher"))
}

fn check_binary(start: usize, binary: &Binary) -> Result<(), TypeError> {
    check(&binary.left)?;
    check(&binary.right)?;
    let (left, right) = (type_of(&binary.left), type_of(&binary.right));
    let matching = &binary.matching;
    let fail = |message: String| Err(TypeError::at(start, message));
    if binary.bool && !binary.op.is_comparison() {
        return fail("bool modifier can only be used on comparison operators".to_owned());
    }
    for (operand, value) in [(&binary.left, left), (&binary.right, right)] {
        if !matches!(value, ValueType::Scalar | ValueType::Vector) {
            let message = "binary expression must contain only scalar and instant vector types";
            return Err(TypeError::at(operand.start, message));
        }
    }
    let scalars = (left == ValueType::Scalar, right == ValueType::Scalar);
    if binary.op.is_comparison() && !binary.bool && scalars == (true, true) {
        return fail("comparisons between scalars must use BOOL modifier".to_owned());
    }
    if let Some(label) = matching.labels.iter().find(|label| matching.on && matching.include.contains(label)) {
        return fail(format!("label {label:?} must not occur in ON and GROUP clause at once"));
    }
    let fills = matching.fill_left.is_some() || matching.fill_right.is_some();
    if scalars != (false, false) {
        if binary.op.is_set() {
            return fail(format!("set operator {:?} not allowed in binary scalar expression", binary.op.symbol()));
        }
        if !matching.labels.is_empty() {
            return fail("vector matching only allowed between instant vectors".to_owned());
        }
        if fills {
            return fail("filling in missing series only allowed between instant vectors".to_owned());
        }
    } else if binary.op.is_set() {
        if matching.cardinality != Cardinality::OneToOne {
            return fail(format!("no grouping allowed for {:?} operation", binary.op.symbol()));
        }
        if fills {
            return fail("filling in missing series not allowed for set operators".to_owned());
        }
    }
    Ok(())
}

fn check_call(start: usize, function: &Function, args: &[Expr]) -> Result<(), TypeError> {
    let name = function.name;
    let (min, max, count) = (function.args_min, function.args_max, args.len());
    if count < min || count > max {
        let wanted = match (min == max, count < min) {
            (true, _) => format!("{min}"),
            (false, true) => format!("at least {min}"),
            (false, false) => format!("at most {max}"),
        };
        return Err(TypeError::at(start, format!("expected {wanted} argument(s) in call to {name:?}, got {count}")));
    }
    for (position, arg) in args.iter().enumerate() {
        let wanted = function.args[position.min(function.args.len() - 1)];
        if name == "info" && position == 1 {
            // Conditions on labels alone, which may all match the empty value.
            match &arg.kind {
                ExprKind::Selector(selector) if selector.name.is_none() => continue,
                ExprKind::Selector(_) => {
                    return Err(TypeError::at(arg.start, "expected label selectors only, got vector selector instead"));
                }
                _ => return Err(TypeError::at(arg.start, "expected label selectors only")),
            }
        }
        check(arg)?;
        let found = type_of(arg);
        if found != wanted {
            let (wanted, found) = (wanted.documented(), found.documented());
            return Err(TypeError::at(
                arg.start,
                format!("expected type {wanted} in call to function {name:?}, got {found}"),
            ));
        }
    }
    Ok(())
}
