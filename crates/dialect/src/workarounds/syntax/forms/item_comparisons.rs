//! Comparisons with the items of an array: `= ANY` and `<> ALL` of a list, and comparisons with `ANY` and `ALL` of a
//! text that is an array. DataFusion lacks them, or returns no NULL if the array has one.
//!
//! No upstream issue is known.

use super::row_members::opposite;
use crate::workarounds::syntax::{any_of, binary};
use atsdb_core::array_text;
use datafusion::sql::sqlparser::ast::{Array, BinaryOperator, DataType, Expr, UnaryOperator, Value, ValueWithSpan};

/// The expression in the place of a comparison with `ANY` or `ALL`; `None` if it stays.
pub(super) fn comparison_with_items(expr: &Expr) -> Option<Expr> {
    Some(match expr {
        Expr::AnyOp { left, compare_op: BinaryOperator::Eq, right, .. } if let Some(list) = items(right) => {
            in_list(left, list, false)
        }
        Expr::AllOp { left, compare_op: BinaryOperator::NotEq, right } if let Some(list) = items(right) => {
            in_list(left, list, true)
        }
        Expr::AnyOp { left, compare_op, right, .. }
            if opposite(compare_op).is_some()
                && let Some(items) = items_in_text(right) =>
        {
            compared(left, compare_op, &items, &BinaryOperator::Or)
        }
        Expr::AllOp { left, compare_op, right }
            if opposite(compare_op).is_some()
                && let Some(items) = items_in_text(right) =>
        {
            compared(left, compare_op, &items, &BinaryOperator::And)
        }
        // DataFusion does not return NULL if the array has one, only for ALL.
        Expr::AnyOp { left, compare_op, right, .. }
            if is_array(right)
                && let Some(compare_op) = opposite(compare_op) =>
        {
            let none = Expr::AllOp { left: left.clone(), compare_op, right: right.clone() };
            let none = Box::new(Expr::Nested(Box::new(none)));
            Expr::Nested(Box::new(Expr::UnaryOp { op: UnaryOperator::Not, expr: none }))
        }
        _ => return None,
    })
}

/// The items of a literal that is an array, also in parentheses.
fn items_in_text(expr: &Expr) -> Option<Vec<Expr>> {
    match expr {
        Expr::Nested(inner) => items_in_text(inner),
        Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), .. }) => items_of_text(text),
        _ => None,
    }
}

/// Returns whether an expression is an array: the name of a column, elements in brackets, or a cast.
fn is_array(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_array(inner),
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Array(_) => true,
        Expr::Cast { data_type: DataType::Array(_), .. } => true,
        _ => false,
    }
}

/// The items of a text that is an array, `'{a,b}'`, as texts; none of them if it is not written like that.
pub(super) fn items_of_text(text: &str) -> Option<Vec<Expr>> {
    let items = array_text::parse(text).ok()?;
    let value = |item: Option<String>| Expr::value(item.map_or(Value::Null, Value::SingleQuotedString));
    Some(items.into_iter().map(value).collect())
}

/// A list in the place of an array. In a list with a number with a point, PostgreSQL makes numbers with few digits of
/// all items if the other side has such; in an array it does not. So each item is then a list of its own.
fn in_list(left: &Expr, list: Vec<Expr>, negated: bool) -> Expr {
    let of = |list: Vec<Expr>| Expr::InList { expr: Box::new(left.clone()), list, negated };
    if list.len() < 2 || !list.iter().any(has_point) {
        return of(list);
    }
    let lists: Vec<Expr> = list.iter().map(|item| of(vec![item.clone()])).collect();
    let op = if negated { BinaryOperator::And } else { BinaryOperator::Or };
    any_of(lists, &op).unwrap_or_else(|| of(list))
}

/// The comparisons with the items of a text that is an array. Each item is a constant that gets the type of the other
/// side.
fn compared(left: &Expr, compare_op: &BinaryOperator, items: &[Expr], joined_by: &BinaryOperator) -> Expr {
    let with = |item: &Expr| Expr::Nested(Box::new(binary(left.clone(), compare_op.clone(), item.clone())));
    let none = Expr::value(Value::Boolean(*joined_by == BinaryOperator::And));
    any_of(items.iter().map(with).collect(), joined_by).unwrap_or(none)
}

/// Returns whether an expression is a number with a point or an exponent.
pub(crate) fn has_point(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) | Expr::UnaryOp { expr: inner, .. } => has_point(inner),
        Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) => digits.contains(['.', 'e', 'E']),
        _ => false,
    }
}

/// The items of `ARRAY[a, b]`, if they are no arrays themselves, or of `'{a,b}'`.
fn items(array: &Expr) -> Option<Vec<Expr>> {
    match array {
        Expr::Nested(inner) => items(inner),
        Expr::Value(_) => items_in_text(array),
        Expr::Array(Array { elem, .. })
            if !elem.is_empty() && !elem.iter().any(|item| matches!(item, Expr::Array(_))) =>
        {
            Some(elem.clone())
        }
        _ => None,
    }
}
