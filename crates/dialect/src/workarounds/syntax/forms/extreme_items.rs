//! Comparisons with `ANY` and `ALL` of an array of numbers that is written out, such as `x < ANY (ARRAY[1, 2, 3])`. The
//! least or the greatest item decides, so the others are left out, except for a NULL and a decimal, which gives the
//! array its type. DataFusion copies the array several times, which takes seconds for thousands of items.
//!
//! No upstream issue known.

use crate::text::decimals;
use crate::workarounds::syntax::is_null;
use datafusion::sql::sqlparser::ast::{Array, BinaryOperator, Expr, UnaryOperator, Value, ValueWithSpan};

/// Leaves the items that decide in the array of such a comparison.
pub(crate) fn keep_extreme_items(expr: &mut Expr) {
    use BinaryOperator as B;
    let (right, keeps_least, keeps_greatest) = match expr {
        Expr::AnyOp { compare_op: B::Lt | B::LtEq, right, .. } => (right, false, true),
        Expr::AnyOp { compare_op: B::Gt | B::GtEq, right, .. } => (right, true, false),
        Expr::AllOp { compare_op: B::Lt | B::LtEq, right, .. } => (right, true, false),
        Expr::AllOp { compare_op: B::Gt | B::GtEq, right, .. } => (right, false, true),
        Expr::AnyOp { compare_op: B::NotEq, right, .. } | Expr::AllOp { compare_op: B::Eq, right, .. } => {
            (right, true, true)
        }
        _ => return,
    };
    let Some(items) = items(right) else { return };
    let Some(mut numbers) = numbers(items) else { return };
    numbers.sort_by_key(|(number, _)| *number);
    let mut kept = Vec::new();
    if let Some((_, at)) = numbers.first().filter(|_| keeps_least) {
        kept.push(items[*at].clone());
    }
    if let Some((_, at)) = numbers.last().filter(|_| keeps_greatest) {
        kept.push(items[*at].clone());
    }
    if !kept.iter().any(is_decimal) {
        kept.extend(items.iter().find(|item| is_decimal(item)).cloned());
    }
    kept.extend(items.iter().find(|item| is_null(item)).cloned());
    *items = kept;
}

/// The items of an array that is written out, if there are some.
fn items(array: &mut Expr) -> Option<&mut Vec<Expr>> {
    match array {
        Expr::Nested(inner) => items(inner),
        Expr::Array(Array { elem, .. }) if !elem.is_empty() => Some(elem),
        _ => None,
    }
}

/// The items that are numbers, all with the same number of digits after the point, and their positions. `None` if one
/// is neither a number nor NULL, or has too many digits.
fn numbers(items: &[Expr]) -> Option<Vec<(i128, usize)>> {
    let mut read = Vec::new();
    for (at, item) in items.iter().enumerate().filter(|(_, item)| !is_null(item)) {
        read.push((number(item)?, at));
    }
    let scale_max = read.iter().map(|((_, scale), _)| *scale).max().unwrap_or(0);
    let scaled = |((value, scale), at): ((i128, i8), usize)| {
        Some((10_i128.checked_pow(scale_max.abs_diff(scale).into())?.checked_mul(value)?, at))
    };
    read.into_iter().map(scaled).collect()
}

/// Returns whether a number is none of a `BIGINT`.
fn is_decimal(expr: &Expr) -> bool {
    match expr {
        Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) => digits.parse::<i64>().is_err(),
        Expr::UnaryOp { expr, .. } | Expr::Nested(expr) => is_decimal(expr),
        _ => false,
    }
}

/// A number with any signs.
fn number(expr: &Expr) -> Option<(i128, i8)> {
    match expr {
        // A parameter, which is marked, may be a text.
        Expr::Value(ValueWithSpan { value: Value::Number(digits, false), .. }) => decimals::read(digits),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => number(expr).map(|(value, scale)| (-value, scale)),
        Expr::UnaryOp { op: UnaryOperator::Plus, expr } | Expr::Nested(expr) => number(expr),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workarounds::syntax::expression;

    #[test]
    fn items_that_decide_are_left() {
        for (comparison, left) in [
            ("x < ANY(ARRAY[2, 10, -3])", "x < ANY(ARRAY[10])"),
            ("x >= ANY(ARRAY[2, NULL, -3, NULL])", "x >= ANY(ARRAY[-3, NULL])"),
            ("x <> ANY((ARRAY[0.5, 0.25, 1e0, 0.75]))", "x <> ANY((ARRAY[0.25, 1e0]))"),
            ("x > ANY(ARRAY[1, 3, 2.5, 4.5])", "x > ANY(ARRAY[1, 2.5])"),
            ("x = ALL(ARRAY[1, 1, 1])", "x = ALL(ARRAY[1, 1])"),
            ("x <= ALL(ARRAY[2, -(-7), +1])", "x <= ALL(ARRAY[+1])"),
            ("x > ALL(ARRAY[NULL, NULL])", "x > ALL(ARRAY[NULL])"),
            ("x = ANY(ARRAY[2, 10, -3])", "x = ANY(ARRAY[2, 10, -3])"),
            ("x < ANY(ARRAY[2, y, 'a'])", "x < ANY(ARRAY[2, y, 'a'])"),
            ("x < ANY(ARRAY[1e-38, 1e37])", "x < ANY(ARRAY[1e-38, 1e37])"),
        ] {
            let mut expr = expression(comparison).unwrap();
            keep_extreme_items(&mut expr);
            assert_eq!(expr, expression(left).unwrap(), "{comparison}: {expr}");
        }
    }
}
