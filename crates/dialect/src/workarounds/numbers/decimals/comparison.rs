//! Integers and decimals that are compared with a number in the statement, in their own type: `i < 2.5` is `i <= 2`.
//! DataFusion would convert both sides to a type with the digits of both, so that neither statistics nor indexes of
//! the column could be used.

use super::arithmetic::constant;
use atsdb_core::column_type::DECIMAL_DIGITS_MAX;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::expr::{Between, BinaryExpr, InList};
use datafusion::logical_expr::{Expr, ExprSchemable, Operator, binary_expr};

/// A number in units of a type's last digit: the greatest one that is not above it, and whether it is the number
/// itself.
struct Bound {
    floor: i128,
    is_exact: bool,
}

/// A type of exact numbers.
struct ExactType {
    data_type: DataType,
    scale: i8,
}

impl ExactType {
    /// The type of an expression, if it is one that is compared here with the number.
    fn of(expr: &Expr, schema: &DFSchema, number: &Expr) -> Option<Self> {
        let data_type = expr.get_type(schema).ok()?;
        let is_written_so = matches!(number, Expr::Literal(value, _) if value.data_type() == data_type);
        match data_type {
            _ if is_written_so => None,
            DataType::Decimal128(_, scale) => Some(Self { data_type, scale }),
            // DataFusion compares integers with integers.
            ref of if of.is_integer() && !is_integer(number) => Some(Self { data_type, scale: 0 }),
            _ => None,
        }
    }

    fn bound(&self, (value, scale): (i128, i8)) -> Bound {
        let shift = u32::from((i16::from(self.scale) - i16::from(scale)).unsigned_abs());
        let power = 10_i128.pow(shift.min(DECIMAL_DIGITS_MAX.into()));
        match self.scale >= scale {
            true => {
                let beyond = if value < 0 { i128::MIN } else { i128::MAX };
                Bound { floor: value.checked_mul(power).unwrap_or(beyond), is_exact: true }
            }
            false => Bound { floor: value.div_euclid(power), is_exact: value.rem_euclid(power) == 0 },
        }
    }

    /// The number as a literal of the type, if it fits.
    fn literal(&self, number: i128) -> Option<Expr> {
        let value = match self.data_type {
            DataType::Decimal128(precision, scale) => {
                (number.unsigned_abs() < 10_u128.pow(precision.into())).then_some(())?;
                ScalarValue::Decimal128(Some(number), precision, scale)
            }
            DataType::Int8 => ScalarValue::Int8(Some(number.try_into().ok()?)),
            DataType::Int16 => ScalarValue::Int16(Some(number.try_into().ok()?)),
            DataType::Int32 => ScalarValue::Int32(Some(number.try_into().ok()?)),
            DataType::Int64 => ScalarValue::Int64(Some(number.try_into().ok()?)),
            DataType::UInt8 => ScalarValue::UInt8(Some(number.try_into().ok()?)),
            DataType::UInt16 => ScalarValue::UInt16(Some(number.try_into().ok()?)),
            DataType::UInt32 => ScalarValue::UInt32(Some(number.try_into().ok()?)),
            DataType::UInt64 => ScalarValue::UInt64(Some(number.try_into().ok()?)),
            _ => return None,
        };
        Some(Expr::Literal(value, None))
    }

    /// The greatest number of the type.
    fn last(&self) -> Option<Expr> {
        let last = match self.data_type {
            DataType::Decimal128(precision, _) => 10_i128.pow(precision.into()) - 1,
            DataType::Int8 => i8::MAX.into(),
            DataType::Int16 => i16::MAX.into(),
            DataType::Int32 => i32::MAX.into(),
            DataType::Int64 => i64::MAX.into(),
            DataType::UInt8 => u8::MAX.into(),
            DataType::UInt16 => u16::MAX.into(),
            DataType::UInt32 => u32::MAX.into(),
            DataType::UInt64 => u64::MAX.into(),
            _ => return None,
        };
        self.literal(last)
    }
}

fn is_integer(number: &Expr) -> bool {
    match number {
        Expr::Negative(operand) => is_integer(operand),
        Expr::Literal(value, _) => value.data_type().is_integer(),
        Expr::Cast(cast) => cast.field.data_type().is_integer(),
        _ => false,
    }
}

/// Rewrites a comparison with a number. `None` if it stays as it is.
pub(super) fn compared(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match (constant(right), constant(left)) {
            (Some(number), _) => against(left, *op, number, &ExactType::of(left, schema, right)?),
            (None, Some(number)) => against(right, op.swap()?, number, &ExactType::of(right, schema, left)?),
            (None, None) => None,
        },
        Expr::Between(between) => within(between, schema),
        Expr::InList(list) => one_of(list, schema),
        _ => None,
    }
}

/// A number between two values of the type, or beyond all of them, equals none, but is still less or greater than each.
fn against(expr: &Expr, operator: Operator, number: (i128, i8), of: &ExactType) -> Option<Expr> {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    let Bound { floor, is_exact } = of.bound(number);
    let compare = |operator: Operator, bound: Expr| Some(binary_expr(expr.clone(), operator, bound));
    // Both are NULL for NULL.
    let (always, never) = (|| compare(LtEq, of.last()?), || compare(Gt, of.last()?));
    match (of.literal(floor), operator) {
        (Some(bound), Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom) if is_exact => {
            compare(operator, bound)
        }
        (_, Eq) => never(),
        (_, NotEq) => always(),
        (Some(bound), Lt | LtEq) => compare(LtEq, bound),
        (Some(bound), Gt | GtEq) => compare(Gt, bound),
        (None, Lt | LtEq) => {
            if floor > 0 {
                always()
            } else {
                never()
            }
        }
        (None, Gt | GtEq) => {
            if floor > 0 {
                never()
            } else {
                always()
            }
        }
        _ => None,
    }
}

/// Rewrites a `BETWEEN` of two numbers to values of the type: from the first one that is not below the lower number to
/// the last one that is not above the upper number. `None` if nothing need be rewritten.
fn within(between: &Between, schema: &DFSchema) -> Option<Expr> {
    let Between { expr, negated, low, high } = between;
    let (of_low, of_high) = (ExactType::of(expr, schema, low), ExactType::of(expr, schema, high));
    if of_low.is_none() && of_high.is_none() {
        return None;
    }
    let lower = match &of_low {
        Some(of) => {
            let Bound { floor, is_exact } = of.bound(constant(low)?);
            of.literal(floor.checked_add((!is_exact).into())?)?
        }
        None => low.as_ref().clone(),
    };
    let upper = match &of_high {
        Some(of) => of.literal(of.bound(constant(high)?).floor)?,
        None => high.as_ref().clone(),
    };
    Some(Expr::Between(Between::new(expr.clone(), *negated, Box::new(lower), Box::new(upper))))
}

/// Numbers that no value of the type equals are left out of a list, unless nothing else is in it.
fn one_of(list: &InList, schema: &DFSchema) -> Option<Expr> {
    let (mut items, mut is_changed) = (Vec::with_capacity(list.list.len()), false);
    for item in &list.list {
        match (ExactType::of(&list.expr, schema, item), constant(item)) {
            (Some(of), Some(number)) => {
                let Bound { floor, is_exact } = of.bound(number);
                items.extend(of.literal(floor).filter(|_| is_exact));
                is_changed = true;
            }
            _ => items.push(item.clone()),
        }
    }
    (is_changed && !items.is_empty()).then(|| Expr::InList(InList::new(list.expr.clone(), items, list.negated)))
}
