//! `unnest(ARRAY[ARRAY[1, 2], ARRAY[3]])` and `= ANY` and `ALL` of such an array take the elements of all dimensions.
//! DataFusion takes arrays as elements. So the array is written with one dimension.
//!
//! No upstream issue known.

use datafusion::sql::sqlparser::ast::{Array, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments};

/// Writes the operands of such an expression with one dimension, before they are visited.
pub(crate) fn flatten_operands(expr: &mut Expr) {
    match expr {
        Expr::AnyOp { right, .. } | Expr::AllOp { right, .. } => flatten(right),
        Expr::Function(Function { name, args: FunctionArguments::List(list), .. })
            if name.to_string().eq_ignore_ascii_case("unnest") =>
        {
            for arg in &mut list.args {
                if let FunctionArg::Unnamed(FunctionArgExpr::Expr(array)) = arg {
                    flatten(array);
                }
            }
        }
        _ => {}
    }
}

/// Writes an array that is written out with one dimension.
pub(crate) fn flatten(array: &mut Expr) {
    match array {
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => flatten(inner),
        Expr::Array(Array { elem, .. }) if elem.iter().any(is_array) => {
            let mut all = Vec::new();
            for element in elem.drain(..) {
                add_elements(element, &mut all);
            }
            *elem = all;
        }
        _ => {}
    }
}

fn add_elements(element: Expr, all: &mut Vec<Expr>) {
    match element {
        Expr::Nested(inner) if is_array(&inner) => add_elements(*inner, all),
        Expr::Array(Array { elem, .. }) => elem.into_iter().for_each(|element| add_elements(element, all)),
        other => all.push(other),
    }
}

fn is_array(element: &Expr) -> bool {
    match element {
        Expr::Nested(inner) => is_array(inner),
        other => matches!(other, Expr::Array(_)),
    }
}
