//! An integer in a query is an `INT` if it fits, as in PostgreSQL, where DataFusion makes a `BIGINT` of it: wherever the
//! type of what it stands in follows from it. What it is compared with has the same answer either way, and arguments of
//! other functions are converted.
//!
//! No upstream issue known.

use super::output_names::distinct;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Select,
    SelectItem, UnaryOperator, Value, Values,
};

/// Functions whose result has the type of their arguments, or one that follows from it.
const TYPED_BY_ARGUMENTS: [&str; 8] = ["coalesce", "nullif", "greatest", "least", "sum", "avg", "min", "max"];

/// The integers that decide the type of an expression.
pub(super) fn in_expression(expr: &mut Expr) {
    use BinaryOperator as B;
    match expr {
        Expr::BinaryOp { left, op: B::Plus | B::Minus | B::Multiply | B::Divide | B::Modulo, right } => {
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

/// The integers that are columns of a SELECT: those with a name, and all if it `is_inner`, part of another query.
pub(super) fn in_columns(select: &mut Select, is_inner: bool) {
    for (position, item) in select.projection.iter_mut().enumerate() {
        match item {
            SelectItem::ExprWithAlias { expr, .. } => narrow(expr),
            SelectItem::UnnamedExpr(expr) if is_inner && is_narrow(expr) => {
                let alias = distinct(&expr.to_string(), position);
                narrow(expr);
                *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
            }
            _ => {}
        }
    }
}

/// The integers of rows that another query reads.
pub(super) fn in_rows(values: &mut Values) {
    values.rows.iter_mut().flat_map(|row| row.iter_mut()).for_each(narrow);
}

/// Makes an INT of an integer that fits one.
fn narrow(expr: &mut Expr) {
    if !is_narrow(expr) {
        return;
    }
    let integer = Box::new(std::mem::replace(expr, Expr::Value(Value::Null.into())));
    *expr =
        Expr::Cast { kind: CastKind::Cast, expr: integer, data_type: DataType::Int(None), array: false, format: None };
}

fn is_narrow(expr: &Expr) -> bool {
    match expr {
        Expr::Value(value) => matches!(&value.value, Value::Number(text, _) if text.to_string().parse::<i32>().is_ok()),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match expr.as_ref() {
            Expr::Value(value) => {
                matches!(&value.value, Value::Number(text, _) if format!("-{text}").parse::<i32>().is_ok())
            }
            _ => false,
        },
        Expr::Nested(inner) => is_narrow(inner),
        _ => false,
    }
}
