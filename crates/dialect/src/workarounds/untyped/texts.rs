//! A text constant beside an operand with a type has that type, as in PostgreSQL: `1 + '2'`, `flag = 'true'`, `time -
//! '2024-01-01'`, `length > '2 hours'`, `tags = '{a,b}'`, `bytes || '\x00'`. DataFusion knows no arithmetic with text,
//! and no boolean, interval or array beside one; bytes beside one become text. For numbers and times in comparisons it
//! makes types equal by itself. Constants that are no operands of an operator get a type before (`array_constants`). A
//! bare NULL beside `||` and an array is not an array: `tags || NULL` is `tags`, where DataFusion appends an element.
//!
//! Waits for [#23041](https://github.com/apache/datafusion/issues/23041).

use super::array_constants::{ARRAY, ELEMENT};
use crate::text::decimals;
use crate::text::params::number;
use datafusion::arrow::datatypes::{DataType, Field, IntervalUnit, TimeUnit};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::Placeholder;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Expr, ExprSchemable, cast};
use datafusion::sql::sqlparser::ast::BinaryOperator;
use std::sync::Arc;

/// Runs while a statement is planned, before the planners that look at the types of operands.
#[derive(Debug)]
pub(crate) struct UntypedTexts;

impl ExprPlanner for UntypedTexts {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let RawBinaryExpr { op, left, right } = expr;
        if let BinaryOperator::Custom(name) = &op
            && (name == ARRAY || name == ELEMENT)
        {
            let data_type = left.get_type(schema).ok().and_then(|of| type_in_array(name, of, &right, schema));
            return Ok(PlannerResult::Planned(typed_as(right, data_type)));
        }
        let is_array = |expr: &Expr| matches!(expr.get_type(schema), Ok(DataType::List(_)));
        match op {
            BinaryOperator::StringConcat if is_array(&left) && is_null(&right) => {
                return Ok(PlannerResult::Planned(left));
            }
            BinaryOperator::StringConcat if is_null(&left) && is_array(&right) => {
                return Ok(PlannerResult::Planned(right));
            }
            _ => {}
        }
        let (left, right) = match op {
            BinaryOperator::StringConcat => {
                let left = array_beside(left, &right, schema);
                let right = array_beside(right, &left, schema);
                (left, right)
            }
            _ => (left, right),
        };
        let (left, right) = match (text(&left), text(&right)) {
            (None, Some(constant)) => {
                let typed = left.get_type(schema).ok().and_then(|of| type_beside(&op, &of, constant));
                let right = typed_as(right, typed);
                (left, right)
            }
            (Some(constant), None) => {
                let typed = right.get_type(schema).ok().and_then(|of| type_beside(&op, &of, constant));
                let left = typed_as(left, typed);
                (left, right)
            }
            _ => (left, right),
        };
        Ok(PlannerResult::Original(RawBinaryExpr { op, left, right }))
    }
}

/// A parameter without a type beside an array and `||` is an array of the same type.
fn array_beside(operand: Expr, other: &Expr, schema: &DFSchema) -> Expr {
    match other.get_type(schema) {
        Ok(list @ DataType::List(_)) => typed_parameter(operand, list),
        _ => operand,
    }
}

/// Gives a parameter without a type this one. Other expressions stay.
pub(crate) fn typed_parameter(operand: Expr, data_type: DataType) -> Expr {
    match operand {
        Expr::Placeholder(Placeholder { id, field: None }) if number(&id).is_some() => {
            let field = Field::new(&id, data_type, true);
            Expr::Placeholder(Placeholder::new_with_field(id, Some(Arc::new(field))))
        }
        operand => operand,
    }
}

/// The type of a constant beside an operator of [`array_constants`](super::array_constants), if it must be converted.
/// `left` is the type of the left operand.
fn type_in_array(operator: &str, left: DataType, constant: &Expr, schema: &DFSchema) -> Option<DataType> {
    match left {
        DataType::List(_) if operator == ARRAY => Some(left),
        left if operator == ARRAY => type_of_value(left, text(constant)?),
        DataType::List(element) if operator == ELEMENT => type_of_element(element.data_type(), constant, schema),
        _ => None,
    }
}

/// The type of a text among values of a type, if it must be converted. A number keeps its digits, and a time those of
/// a microsecond.
fn type_of_value(other: DataType, constant: &str) -> Option<DataType> {
    match other {
        DataType::Decimal128(..) => Some(decimals::type_of_text(constant).unwrap_or(other)),
        DataType::Timestamp(TimeUnit::Second | TimeUnit::Millisecond, zone) => {
            Some(DataType::Timestamp(TimeUnit::Microsecond, zone))
        }
        DataType::Boolean | DataType::Date32 | DataType::Time64(_) | DataType::Timestamp(..) => Some(other),
        DataType::Interval(_) | DataType::Binary => Some(other),
        of => of.is_numeric().then_some(of),
    }
}

/// The type of a text or a number with a point among elements of a type, if it must be converted. A decimal with more
/// digits than the elements have keeps them.
fn type_of_element(element: &DataType, constant: &Expr, schema: &DFSchema) -> Option<DataType> {
    let text = text(constant);
    match element {
        of if of.is_string() => None,
        DataType::Decimal128(precision, scale) => {
            let own = match text {
                Some(text) => decimals::read(text.trim()).map(|number| decimals::scalar(number).data_type()),
                None => constant.get_type(schema).ok(),
            };
            match own {
                Some(DataType::Decimal128(digits, places))
                    if places > *scale
                        || decimals::digits_before(digits, places) > decimals::digits_before(*precision, *scale) =>
                {
                    text.and(own)
                }
                _ => Some(element.clone()),
            }
        }
        of => (text.is_some() || of.is_floating()).then(|| of.clone()),
    }
}

fn typed_as(constant: Expr, data_type: Option<DataType>) -> Expr {
    match data_type {
        Some(data_type) => cast(constant, data_type),
        None => constant,
    }
}

fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(ScalarValue::Null, _))
}

/// A text constant without a cast.
fn text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Literal(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)), _) => Some(text),
        _ => None,
    }
}

/// The type of a text constant beside an operand of a type; `None` if DataFusion finds it, or if there is none.
fn type_beside(op: &BinaryOperator, other: &DataType, constant: &str) -> Option<DataType> {
    use BinaryOperator as B;
    match (op, other) {
        (B::And | B::Or, DataType::Boolean) => Some(DataType::Boolean),
        (B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq, DataType::Boolean) => Some(DataType::Boolean),
        (B::Plus | B::Minus | B::Multiply | B::Divide | B::Modulo, DataType::Decimal128(..))
        | (B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq, DataType::Decimal128(..)) => {
            decimals::type_of_text(constant)
        }
        (B::Plus | B::Minus | B::Multiply | B::Divide | B::Modulo, of) if of.is_numeric() => Some(of.clone()),
        (B::Plus | B::Minus | B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq, DataType::Interval(_)) => {
            Some(DataType::Interval(IntervalUnit::MonthDayNano))
        }
        (B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq | B::StringConcat, DataType::List(_)) => {
            Some(other.clone())
        }
        (B::StringConcat, of) if of.is_binary() => Some(DataType::Binary),
        (B::Multiply | B::Divide, DataType::Interval(_)) => Some(DataType::Float64),
        (B::Plus, DataType::Timestamp(..) | DataType::Time64(_)) => {
            Some(DataType::Interval(IntervalUnit::MonthDayNano))
        }
        (B::Minus, DataType::Timestamp(..) | DataType::Date32 | DataType::Time64(_)) => Some(other.clone()),
        _ => None,
    }
}
