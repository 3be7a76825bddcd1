//! JSON and UUIDs, which DataFusion has no types for: casts to them check the text, and operators of JSON are calls.
//! The parser lets these operators bind looser than comparisons, and PostgreSQL tighter.
//!
//! Waits for [#7845](https://github.com/apache/datafusion/issues/7845) (JSON); for UUIDs no upstream issue known.

use super::expression;
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::{
    ArrayElemTypeDef, BinaryOperator, CastKind, DataType, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Value,
};

/// Rewrites a cast to JSON or to a UUID, or an operator of JSON, when what is in it has been rewritten.
pub(super) fn types_of_text(expr: &mut Expr) -> Result<()> {
    let call = match expr {
        Expr::Cast { kind: CastKind::Cast | CastKind::DoubleColon, data_type, expr, .. } => match data_type {
            DataType::JSON | DataType::JSONB => call_of("json_of", vec![expr.as_ref().clone()])?,
            DataType::Uuid => call_of("uuid_of", vec![expr.as_ref().clone()])?,
            DataType::Array(ArrayElemTypeDef::SquareBracket(element, _)) if **element == DataType::Uuid => {
                call_of("uuids_of", vec![expr.as_ref().clone()])?
            }
            _ => return Ok(()),
        },
        Expr::TypedString(typed) => {
            let name = match typed.data_type {
                DataType::JSON | DataType::JSONB => "json_of",
                DataType::Uuid => "uuid_of",
                _ => return Ok(()),
            };
            call_of(name, vec![Expr::Value(typed.value.clone())])?
        }
        Expr::BinaryOp { left, op, right } => {
            let name = match op {
                BinaryOperator::Arrow => "json_get",
                BinaryOperator::LongArrow => "json_get_text",
                BinaryOperator::HashArrow => "json_get_path",
                BinaryOperator::HashLongArrow => "json_get_path_text",
                _ => return Ok(()),
            };
            call_of(name, vec![left.as_ref().clone(), right.as_ref().clone()])?
        }
        _ => return Ok(()),
    };
    *expr = call;
    Ok(())
}

/// Puts the operators of JSON in an expression together as PostgreSQL does, before what is in it is visited.
pub(super) fn bind_operators(expr: &mut Expr) {
    if matches!(expr, Expr::BinaryOp { op, .. } if is_of_json(op)) {
        *expr = tightened(std::mem::replace(expr, Expr::value(Value::Null)));
    }
}

fn is_of_json(op: &BinaryOperator) -> bool {
    use BinaryOperator as B;
    matches!(op, B::Arrow | B::LongArrow | B::HashArrow | B::HashLongArrow)
}

fn tightened(expr: Expr) -> Expr {
    match expr {
        Expr::BinaryOp { left, op, right } if is_of_json(&op) => bound(tightened(*left), op, *right),
        other => other,
    }
}

/// `left op right`, where the operands may be comparisons: then the operator belongs to what is next to it.
fn bound(mut left: Expr, op: BinaryOperator, mut right: Expr) -> Expr {
    if let Some(next) = last_operand(&mut left) {
        let operand = std::mem::replace(next, Expr::value(Value::Null));
        *next = bound(operand, op, right);
        return left;
    }
    if let Some(next) = first_operand(&mut right) {
        let operand = std::mem::replace(next, Expr::value(Value::Null));
        *next = bound(left, op, operand);
        return right;
    }
    Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }
}

/// The operand at the end of an expression that binds looser than an operator of JSON.
fn last_operand(expr: &mut Expr) -> Option<&mut Expr> {
    match expr {
        Expr::BinaryOp { op, right, .. } if compares(op) => Some(right),
        Expr::Like { pattern, .. } | Expr::ILike { pattern, .. } => Some(pattern),
        Expr::Between { high, .. } => Some(high),
        _ => None,
    }
}

/// The operand at the beginning of an expression that binds looser, or from left to right with the operator.
fn first_operand(expr: &mut Expr) -> Option<&mut Expr> {
    match expr {
        Expr::BinaryOp { left, op, .. } if compares(op) || *op == BinaryOperator::StringConcat => Some(left),
        Expr::IsNull(expr) | Expr::IsNotNull(expr) | Expr::IsTrue(expr) | Expr::IsFalse(expr) => Some(expr),
        Expr::IsDistinctFrom(expr, _) | Expr::IsNotDistinctFrom(expr, _) => Some(expr),
        Expr::Like { expr, .. } | Expr::ILike { expr, .. } | Expr::Between { expr, .. } => Some(expr),
        Expr::InList { expr, .. } | Expr::InSubquery { expr, .. } => Some(expr),
        _ => None,
    }
}

fn compares(op: &BinaryOperator) -> bool {
    use BinaryOperator as B;
    matches!(op, B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq)
}

fn call_of(name: &str, arguments: Vec<Expr>) -> Result<Expr> {
    let mut call = expression(&format!("{name}(NULL)"))?;
    if let Expr::Function(function) = &mut call
        && let FunctionArguments::List(list) = &mut function.args
    {
        list.args =
            arguments.into_iter().map(|argument| FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))).collect();
    }
    Ok(call)
}
