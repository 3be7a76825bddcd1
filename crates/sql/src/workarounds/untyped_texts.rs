//! A text constant beside an operand with a type has that type, as in PostgreSQL: `1 + '2'`, `flag = 'true'`,
//! `time - '2024-01-01'`, `tags = '{a,b}'`. DataFusion knows no arithmetic with text, and no boolean or array beside
//! one. For numbers and times in comparisons it makes types equal by itself. A bare NULL beside `||` and an array is no
//! array: `tags || NULL` is `tags`, where DataFusion appends an element.
//!
//! Waits for [#23041](https://github.com/apache/datafusion/issues/23041).

use crate::text::decimals;
use crate::text::params::number;
use datafusion::arrow::datatypes::{DataType, Field, IntervalUnit};
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
    match (operand, other.get_type(schema)) {
        (Expr::Placeholder(Placeholder { id, field: None }), Ok(list @ DataType::List(_))) if number(&id).is_some() => {
            let field = Field::new(&id, list, true);
            Expr::Placeholder(Placeholder::new_with_field(id, Some(Arc::new(field))))
        }
        (operand, _) => operand,
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
            decimals::read(constant.trim()).map(|number| decimals::scalar(number).data_type())
        }
        (B::Plus | B::Minus | B::Multiply | B::Divide | B::Modulo, of) if of.is_numeric() => Some(of.clone()),
        (B::Plus | B::Minus, DataType::Interval(_)) => Some(DataType::Interval(IntervalUnit::MonthDayNano)),
        (B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq | B::StringConcat, DataType::List(_)) => {
            Some(other.clone())
        }
        (B::Multiply | B::Divide, DataType::Interval(_)) => Some(DataType::Float64),
        (B::Plus, DataType::Timestamp(..)) => Some(DataType::Interval(IntervalUnit::MonthDayNano)),
        (B::Minus, DataType::Timestamp(..) | DataType::Date32) => Some(other.clone()),
        _ => None,
    }
}
