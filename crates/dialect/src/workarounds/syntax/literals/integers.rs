//! An integer in a query is an `INT` if it fits, as in PostgreSQL; DataFusion makes it a `BIGINT`. Only integers that
//! determine the type of a result are cast. In comparisons the answer is the same either way, and arguments of other
//! functions are converted. Some functions return an `INT`, too.
//!
//! No upstream issue known.

use crate::text::tree_walk::visit_expressions_mut;
use crate::workarounds::syntax::names::distinct_name::distinct;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Select,
    SelectItem, SetExpr, UnaryOperator, Value, ValueWithSpan, VisitMut,
};
use std::ops::ControlFlow;

/// Functions whose result type is that of their arguments, or depends on it.
const TYPED_BY_ARGUMENTS: [&str; 12] = [
    "abs",
    "coalesce",
    "nullif",
    "greatest",
    "least",
    "sum",
    "avg",
    "min",
    "max",
    "pg_column_size",
    "pg_typeof",
    "to_hex",
];

/// Functions whose result is an INT in PostgreSQL, and a wider integer in DataFusion.
const INT_FUNCTIONS: [&str; 7] =
    ["array_length", "array_ndims", "array_position", "cardinality", "ntile", "regexp_count", "regexp_instr"];

/// Casts the integers that determine the type of an expression.
pub(crate) fn in_expression(expr: &mut Expr) {
    match expr {
        Expr::BinaryOp { left, op, right } if keeps_type(op) => {
            narrow(left);
            narrow(right);
        }
        Expr::Case { conditions, else_result, .. } => {
            conditions.iter_mut().for_each(|when| narrow(&mut when.result));
            if let Some(result) = else_result {
                narrow(result);
            }
        }
        Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) => {
            let name = name.to_string();
            if !TYPED_BY_ARGUMENTS.iter().any(|known| known.eq_ignore_ascii_case(&name)) {
                return;
            }
            for argument in &mut list.args {
                if let FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) = argument {
                    narrow(argument);
                }
            }
        }
        _ => {}
    }
}

/// Returns whether an operator's result has the type of its operands.
fn keeps_type(op: &BinaryOperator) -> bool {
    use BinaryOperator as B;
    matches!(
        op,
        B::Plus
            | B::Minus
            | B::Multiply
            | B::Divide
            | B::Modulo
            | B::BitwiseAnd
            | B::BitwiseOr
            | B::PGBitwiseXor
            | B::PGBitwiseShiftLeft
            | B::PGBitwiseShiftRight
    )
}

/// Casts the integers that are columns of a SELECT.
pub(crate) fn in_columns(select: &mut Select) {
    for (position, item) in select.projection.iter_mut().enumerate() {
        match item {
            SelectItem::ExprWithAlias { expr, .. } => narrow(expr),
            SelectItem::UnnamedExpr(expr) if is_narrow(expr) => {
                let alias = distinct(&expr.to_string(), position);
                narrow(expr);
                *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
            }
            _ => {}
        }
    }
}

/// Casts the integers in the VALUES of a query, or of the set operations in it. The visitor sees queries in parentheses
/// by themselves.
pub(crate) fn in_rows(body: &mut SetExpr) {
    match body {
        SetExpr::Values(values) => values.rows.iter_mut().flat_map(|row| row.iter_mut()).for_each(narrow),
        SetExpr::SetOperation { left, right, .. } => {
            in_rows(left);
            in_rows(right);
        }
        _ => {}
    }
}

/// Casts the result of a function that is an INT in PostgreSQL.
pub(crate) fn of_function(expr: &mut Expr) {
    if is_int_function(expr) {
        make_int(expr);
    }
}

fn is_int_function(expr: &Expr) -> bool {
    let is_named = |name: &str| INT_FUNCTIONS.iter().any(|known| known.eq_ignore_ascii_case(name));
    matches!(expr, Expr::Function(call) if is_named(&call.name.to_string()))
}

/// Returns whether all arguments of a call are INTs: integers that fit one, casts, and arithmetic of them.
pub(crate) fn are_narrow(args: &[FunctionArg]) -> bool {
    args.iter().all(|arg| matches!(arg, FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) if is_int(expr)))
}

fn is_int(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryOp { left, op, right } => keeps_type(op) && is_int(left) && is_int(right),
        Expr::Cast { data_type: DataType::Int(None), .. } => true,
        Expr::Nested(inner) => is_int(inner),
        _ => is_narrow(expr),
    }
}

/// Removes the casts to INT, for a function that takes no INT.
pub(crate) fn widen(args: &mut impl VisitMut) {
    let _ = visit_expressions_mut(args, |expr| {
        if let Expr::Cast { expr: inner, data_type: DataType::Int(None), .. } = expr
            && (is_narrow(inner) || is_int_function(inner))
        {
            *expr = std::mem::replace(inner, Expr::Value(Value::Null.into()));
        }
        ControlFlow::<()>::Continue(())
    });
}

/// Casts an integer to INT if it fits.
fn narrow(expr: &mut Expr) {
    if is_narrow(expr) {
        make_int(expr);
    }
}

pub(crate) fn make_int(expr: &mut Expr) {
    let integer = Box::new(std::mem::replace(expr, Expr::Value(Value::Null.into())));
    *expr =
        Expr::Cast { kind: CastKind::Cast, expr: integer, data_type: DataType::Int(None), array: false, format: None };
}

/// Returns whether it is a 32-bit integer in the text of a statement. A parameter, which is marked, has its own type.
fn is_narrow(expr: &Expr) -> bool {
    integer(expr).is_some_and(|integer| i32::try_from(integer).is_ok())
}

/// The value of an integer with any signs.
fn integer(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Value(ValueWithSpan { value: Value::Number(digits, false), .. }) => digits.parse().ok(),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => integer(expr).map(|integer| -integer),
        Expr::UnaryOp { op: UnaryOperator::Plus, expr } | Expr::Nested(expr) => integer(expr),
        _ => None,
    }
}
