//! Determines the types of expressions before any row is read.

use super::access::split;
use super::context::{Context, Frame};
use super::names::{function_name, ident};
use super::result_types;
use super::type_names::type_id;
use crate::pg::types::known;
use datafusion::sql::sqlparser::ast::{
    AccessExpr, BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, UnaryOperator, Value as Literal,
};

/// Determines the type of an expression.
pub(super) fn type_of(context: &Context<'_>, expr: &Expr, frame: &Frame<'_>) -> u32 {
    let of = |expr: &Expr| type_of(context, expr, frame);
    match expr {
        Expr::Identifier(name) => {
            let name = ident(name);
            match frame.column(None, &name) {
                Some((column, _)) => column.type_id,
                None => result_types::result_type(&name, &[]).unwrap_or(known::TEXT),
            }
        }
        Expr::CompoundIdentifier(parts) => {
            let [.., table, name] = parts.as_slice() else { return known::TEXT };
            frame.column(Some(&ident(table)), &ident(name)).map_or(known::TEXT, |(column, _)| column.type_id)
        }
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => of(inner),
        Expr::Cast { data_type, .. } => type_id(data_type).unwrap_or(known::TEXT),
        Expr::TypedString(typed) => type_id(&typed.data_type).unwrap_or(known::TEXT),
        Expr::Value(value) => match &value.value {
            Literal::Number(digits, _) if digits.contains(['.', 'e', 'E']) => known::NUMERIC,
            Literal::Number(digits, _) if digits.parse::<i32>().is_ok() => known::INT4,
            Literal::Number(digits, _) if digits.parse::<i64>().is_ok() => known::INT8,
            Literal::Number(..) => known::NUMERIC,
            Literal::Boolean(_) => known::BOOL,
            _ => known::TEXT,
        },
        Expr::BinaryOp { left, op, right } => match op {
            BinaryOperator::StringConcat => {
                let left = of(left);
                if known::element_of(left).is_some() { left } else { known::TEXT }
            }
            BinaryOperator::Plus | BinaryOperator::Minus if of(left) == known::TIMESTAMPTZ => {
                if of(right) == known::TIMESTAMPTZ { known::INTERVAL } else { known::TIMESTAMPTZ }
            }
            BinaryOperator::Plus
            | BinaryOperator::Minus
            | BinaryOperator::Multiply
            | BinaryOperator::Divide
            | BinaryOperator::Modulo
            | BinaryOperator::BitwiseAnd
            | BinaryOperator::BitwiseOr => wider(of(left), of(right)),
            BinaryOperator::PGBitwiseShiftLeft | BinaryOperator::PGBitwiseShiftRight => match of(left) {
                known::TEXT => of(right),
                known::OID => known::INT8,
                left => left,
            },
            _ => known::BOOL,
        },
        Expr::UnaryOp { op: UnaryOperator::Not, .. } => known::BOOL,
        Expr::UnaryOp { expr, .. } => of(expr),
        Expr::Case { conditions, else_result, .. } => {
            let results = conditions.iter().map(|when| &when.result).chain(else_result.as_deref());
            first_type(results.filter(|expr| !is_null(expr)).map(of))
        }
        Expr::Function(function) => {
            let name = function_name(function);
            match &function.args {
                FunctionArguments::Subquery(query) => {
                    let element = column_type(context, query, frame);
                    known::by_id(element).map_or(1009, |element| element.array)
                }
                FunctionArguments::List(list) => {
                    let types: Vec<u32> = list
                        .args
                        .iter()
                        .map(|arg| match arg {
                            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => of(expr),
                            _ => known::TEXT,
                        })
                        .collect();
                    result_type(context, &name, &types)
                }
                FunctionArguments::None => result_type(context, &name, &[]),
            }
        }
        Expr::Subquery(query) => column_type(context, query, frame),
        Expr::Array(array) => {
            let element = first_type(array.elem.iter().map(of));
            known::by_id(element).map_or(1009, |element| element.array)
        }
        Expr::CompoundFieldAccess { root, access_chain } => {
            let (root, access_chain) = split(root, access_chain, frame);
            match access_chain.last() {
                Some(AccessExpr::Subscript(_)) => match of(&root) {
                    22 => known::INT2,
                    30 => known::OID,
                    known::NAME => known::CHAR,
                    array => known::element_of(array).map_or(known::TEXT, |element| element.id),
                },
                Some(AccessExpr::Dot(Expr::Identifier(field))) if ident(field) == "n" => known::INT4,
                _ => known::INT2,
            }
        }
        Expr::Interval(_) => known::INTERVAL,
        Expr::Extract { .. } => known::NUMERIC,
        Expr::Position { .. } => known::INT4,
        Expr::Substring { .. } | Expr::Trim { .. } => known::TEXT,
        Expr::Tuple(_) => 2249,
        _ => known::BOOL,
    }
}

/// The type of an expression, which is `unknown` for a text in quotes and for NULL.
pub(super) fn type_as_written(context: &Context<'_>, expr: &Expr, frame: &Frame<'_>) -> u32 {
    match expr {
        Expr::Value(value) if matches!(value.value, Literal::SingleQuotedString(_) | Literal::Null) => known::UNKNOWN,
        expr => type_of(context, expr, frame),
    }
}

/// The type of a call's value.
pub(super) fn result_type(context: &Context<'_>, name: &str, arguments: &[u32]) -> u32 {
    let found = result_types::result_type(name, arguments);
    found.or_else(|| context.functions.result_type(name, arguments)).unwrap_or(known::TEXT)
}

/// The subscript of the first element of an array: 0 for `int2vector`, `oidvector` and the letters of a `name`,
/// otherwise 1.
pub(super) fn first_subscript(context: &Context<'_>, array: &Expr, frame: &Frame<'_>) -> i64 {
    i64::from(!matches!(type_of(context, array, frame), 22 | 30 | known::NAME))
}

/// The type of the single column of a subquery.
fn column_type(context: &Context<'_>, query: &datafusion::sql::sqlparser::ast::Query, frame: &Frame<'_>) -> u32 {
    let found = context.queries.query(context, query, frame);
    found.ok().and_then(|relation| relation.columns.first().map(|column| column.type_id)).unwrap_or(known::TEXT)
}

fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if value.value == Literal::Null)
}

/// The first type that is not text, or else text.
fn first_type(types: impl Iterator<Item = u32>) -> u32 {
    let types: Vec<u32> = types.collect();
    types.iter().copied().find(|id| *id != known::TEXT).unwrap_or(known::TEXT)
}

fn wider(left: u32, right: u32) -> u32 {
    const ORDER: [u32; 6] = [known::INT2, known::INT4, known::OID, known::INT8, known::NUMERIC, known::FLOAT8];
    let rank = |id: u32| ORDER.iter().position(|known| *known == id);
    match (rank(left), rank(right)) {
        (Some(one), Some(two)) => ORDER[one.max(two)],
        (Some(one), None) | (None, Some(one)) => ORDER[one],
        (None, None) => known::INT4,
    }
}
