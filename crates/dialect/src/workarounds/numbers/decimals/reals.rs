//! A `REAL` that is compared with a number in the statement is compared in its own type: `r < 0.1` becomes
//! `r <= 0.099999994`, the greatest `REAL` that is not above the number. DataFusion would convert the column to
//! `DOUBLE`, so that its statistics could not be used.

use super::arithmetic::constant;
use crate::text::decimals::{nearest_double, nearest_real};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::expr::{Between, BinaryExpr, InList};
use datafusion::logical_expr::{Expr, ExprSchemable, Operator, and, binary_expr, lit, or};

/// A number among the `REAL`s: the greatest one that is not above it, and whether it is the number itself.
struct RealBound {
    floor: f32,
    is_exact: bool,
}

impl RealBound {
    fn of(number: f64) -> Self {
        let nearest = number as f32;
        if number.is_nan() || f64::from(nearest) == number {
            Self { floor: nearest, is_exact: true }
        } else if f64::from(nearest) > number {
            Self { floor: nearest.next_down(), is_exact: false }
        } else {
            Self { floor: nearest, is_exact: false }
        }
    }

    /// The least `REAL` that is not below the number.
    fn ceiling(&self) -> f32 {
        if self.is_exact { self.floor } else { self.floor.next_up() }
    }
}

/// The number that an expression stands for, if it has no columns and is no `REAL`.
fn number(expr: &Expr) -> Option<f64> {
    match expr {
        Expr::Literal(ScalarValue::Float64(value), _) => *value,
        Expr::Negative(operand) => number(operand).map(|number| -number),
        Expr::Cast(cast) if *cast.field.data_type() == DataType::Float64 => number(&cast.expr),
        other => constant(other).map(nearest_double),
    }
}

fn is_double(expr: &Expr) -> bool {
    match expr {
        Expr::Negative(operand) => is_double(operand),
        Expr::Literal(value, _) => value.data_type() == DataType::Float64,
        Expr::Cast(cast) => *cast.field.data_type() == DataType::Float64,
        _ => false,
    }
}

fn is_real(expr: &Expr, schema: &DFSchema) -> bool {
    expr.get_type(schema).is_ok_and(|of| of == DataType::Float32)
}

/// Rewrites a comparison of a `REAL` with a number. `None` if it stays as it is.
pub(super) fn compared(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match (number(right), number(left)) {
            (Some(number), None) if is_real(left, schema) => against(left, *op, number),
            (None, Some(number)) if is_real(right, schema) => against(right, op.swap()?, number),
            _ => None,
        },
        Expr::Between(Between { expr, negated, low, high }) if is_real(expr, schema) => {
            let (low, high) = (RealBound::of(number(low)?), RealBound::of(number(high)?));
            let (low, high) = (Box::new(lit(low.ceiling())), Box::new(lit(high.floor)));
            Some(Expr::Between(Between::new(expr.clone(), *negated, low, high)))
        }
        Expr::InList(list) if is_real(&list.expr, schema) => one_of(list),
        _ => None,
    }
}

/// A number between two `REAL`s equals none, but is still less or greater than each.
fn against(expr: &Expr, operator: Operator, number: f64) -> Option<Expr> {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    let RealBound { floor, is_exact } = RealBound::of(number);
    let operator = match operator {
        Eq | NotEq | Lt | LtEq | Gt | GtEq if is_exact => operator,
        Eq => return Some(equals_none(expr)),
        NotEq => return Some(differs_from_all(expr)),
        Lt | LtEq => LtEq,
        Gt | GtEq => Gt,
        _ => return None,
    };
    Some(binary_expr(expr.clone(), operator, lit(floor)))
}

/// False, or NULL for NULL.
fn equals_none(expr: &Expr) -> Expr {
    let least = || lit(f32::NEG_INFINITY);
    and(binary_expr(expr.clone(), Operator::Lt, least()), binary_expr(expr.clone(), Operator::Gt, least()))
}

/// True, or NULL for NULL.
fn differs_from_all(expr: &Expr) -> Expr {
    let least = || lit(f32::NEG_INFINITY);
    or(binary_expr(expr.clone(), Operator::LtEq, least()), binary_expr(expr.clone(), Operator::Gt, least()))
}

/// Numbers that no `REAL` equals are left out of a list. PostgreSQL makes `REAL`s of several numbers, if none of them
/// is a `DOUBLE`.
fn one_of(list: &InList) -> Option<Expr> {
    let is_rounded = list.list.len() > 1 && !list.list.iter().any(is_double);
    let mut items = Vec::with_capacity(list.list.len());
    for item in &list.list {
        match item {
            Expr::Literal(value, _) if value.is_null() => items.push(item.clone()),
            item if is_rounded => items.push(lit(nearest_real(constant(item)?))),
            item => {
                let RealBound { floor, is_exact } = RealBound::of(number(item)?);
                items.extend(is_exact.then(|| lit(floor)));
            }
        }
    }
    Some(match (items.is_empty(), list.negated) {
        (false, negated) => Expr::InList(InList::new(list.expr.clone(), items, negated)),
        (true, false) => equals_none(&list.expr),
        (true, true) => differs_from_all(&list.expr),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_the_neighbours_of_a_number() {
        for number in [0.1, -0.1, 1e-50, -1e-50, 1e300, -1e300, 16_777_217.0] {
            let bound = RealBound::of(number);
            assert!(!bound.is_exact, "{number}");
            assert!(f64::from(bound.floor) < number && number < f64::from(bound.ceiling()), "{number}");
        }
        for number in [0.5, -3.0, 0.0, f64::INFINITY, f64::from(0.1_f32)] {
            let bound = RealBound::of(number);
            assert!(bound.is_exact && f64::from(bound.floor) == number && bound.ceiling() == bound.floor, "{number}");
        }
    }
}
