//! An interval times a number is an interval. A date plus an interval is a time, from which DataFusion drops the time
//! of day. A time of whole seconds or milliseconds plus an interval is a time with microseconds; DataFusion drops
//! the digits that the first time cannot hold. A date plus a number of days is a date of any year. The difference of
//! two times is an interval, where DataFusion has a duration. The difference of two dates is an integer, the number of
//! days: DataFusion knows that type only in part. A time of day is added to a date or a time, and taken from it, in
//! microseconds: DataFusion adds it to dates alone, in nanoseconds, whose range ends in the years 1677 and 2262. Beside
//! a number or an interval it is the interval since midnight.
//!
//! Waits for [#13850](https://github.com/apache/datafusion/issues/13850) (products) and
//! [#19527](https://github.com/apache/datafusion/issues/19527) (dates and intervals).

use super::average::INTERVAL;
use super::comparison::is_length;
use super::days::DayShift;
use super::product::IntervalProduct;
use crate::functions::times::difference::difference;
use crate::workarounds::times::time_types::TIME_OF_DAY;
use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Expr, ExprSchemable, Operator, ScalarUDF, binary_expr, cast};
use datafusion::sql::sqlparser::ast::BinaryOperator;
use std::sync::Arc;

/// Runs while a statement is planned: the types of its columns depend on it.
#[derive(Debug)]
pub(crate) struct LengthArithmetic;

impl ExprPlanner for LengthArithmetic {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let RawBinaryExpr { op, left, right } = &expr;
        let is_integer = |expr: &Expr| expr.get_type(schema).is_ok_and(|ty| ty.is_integer());
        // A parameter without a type is a number beside an interval.
        let is_number = |expr: &Expr| {
            let of = expr.get_type(schema);
            of.is_ok_and(|of| of.is_numeric() || (of.is_null() && matches!(expr, Expr::Placeholder(_))))
        };
        let is_date = |expr: &Expr| matches!(expr.get_type(schema), Ok(DataType::Date32));
        let is_time = |expr: &Expr| matches!(expr.get_type(schema), Ok(DataType::Timestamp(..)));
        let is_time_of_day = |expr: &Expr| expr.get_type(schema).is_ok_and(|of| of == TIME_OF_DAY);
        let is_length = |expr: &Expr| is_length(expr, schema);
        let coarse = |expr: &Expr| match expr.get_type(schema) {
            Ok(DataType::Timestamp(TimeUnit::Second | TimeUnit::Millisecond, zone)) => Some(zone),
            _ => None,
        };
        let fine = |time: &Expr| match coarse(time) {
            Some(zone) => microseconds(time, zone),
            None if is_date(time) => midnight(time),
            None => time.clone(),
        };
        let float = |expr: &Expr| cast(expr.clone(), DataType::Float64);
        let planned = match op {
            BinaryOperator::Multiply if is_length(left) && is_number(right) => product(left, float(right), false),
            BinaryOperator::Multiply if is_number(left) && is_length(right) => product(right, float(left), false),
            BinaryOperator::Divide if is_length(left) && is_number(right) => product(left, float(right), true),
            BinaryOperator::Multiply if is_time_of_day(left) && is_number(right) => {
                product(&length_of(left), float(right), false)
            }
            BinaryOperator::Multiply if is_number(left) && is_time_of_day(right) => {
                product(&length_of(right), float(left), false)
            }
            BinaryOperator::Divide if is_time_of_day(left) && is_number(right) => {
                product(&length_of(left), float(right), true)
            }
            op if is_comparison(op) && is_time_of_day(left) && is_length(right) => {
                let left = length_of(left);
                return Ok(PlannerResult::Original(RawBinaryExpr { left, ..expr }));
            }
            op if is_comparison(op) && is_length(left) && is_time_of_day(right) => {
                let right = length_of(right);
                return Ok(PlannerResult::Original(RawBinaryExpr { right, ..expr }));
            }
            BinaryOperator::Plus if is_date(left) && is_integer(right) => DayShift::Later.call(left, right),
            BinaryOperator::Plus if is_integer(left) && is_date(right) => DayShift::Later.call(left, right),
            BinaryOperator::Minus if is_date(left) && is_integer(right) => DayShift::Earlier.call(left, right),
            BinaryOperator::Plus if is_date(left) && is_length(right) => {
                binary_expr(midnight(left), Operator::Plus, right.clone())
            }
            BinaryOperator::Plus if is_length(left) && is_date(right) => {
                binary_expr(left.clone(), Operator::Plus, midnight(right))
            }
            BinaryOperator::Minus if is_date(left) && is_length(right) => {
                binary_expr(midnight(left), Operator::Minus, right.clone())
            }
            BinaryOperator::Plus if (is_date(left) || is_time(left)) && is_time_of_day(right) => {
                binary_expr(fine(left), Operator::Plus, since_midnight(right))
            }
            BinaryOperator::Plus if is_time_of_day(left) && (is_date(right) || is_time(right)) => {
                binary_expr(since_midnight(left), Operator::Plus, fine(right))
            }
            BinaryOperator::Minus if (is_date(left) || is_time(left)) && is_time_of_day(right) => {
                binary_expr(fine(left), Operator::Minus, since_midnight(right))
            }
            BinaryOperator::Plus | BinaryOperator::Minus if coarse(left).is_some() && is_length(right) => {
                let operator = if *op == BinaryOperator::Plus { Operator::Plus } else { Operator::Minus };
                binary_expr(microseconds(left, coarse(left).flatten()), operator, right.clone())
            }
            BinaryOperator::Plus if is_length(left) && coarse(right).is_some() => {
                binary_expr(left.clone(), Operator::Plus, microseconds(right, coarse(right).flatten()))
            }
            BinaryOperator::Minus if is_time(left) && (is_time(right) || is_date(right)) => {
                difference(left.clone(), right.clone())
            }
            BinaryOperator::Minus if is_date(left) && is_time(right) => difference(left.clone(), right.clone()),
            BinaryOperator::Minus if is_date(left) && is_date(right) => {
                let days = |date: &Expr| cast(date.clone(), DataType::Int32);
                binary_expr(days(left), Operator::Minus, days(right))
            }
            _ => return Ok(PlannerResult::Original(expr)),
        };
        Ok(PlannerResult::Planned(planned))
    }
}

fn product(length: &Expr, number: Expr, is_quotient: bool) -> Expr {
    ScalarUDF::new_from_impl(IntervalProduct::new(is_quotient)).call(vec![length.clone(), number])
}

fn is_comparison(op: &BinaryOperator) -> bool {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

/// A time of day as an interval.
fn length_of(time: &Expr) -> Expr {
    cast(time.clone(), INTERVAL)
}

fn midnight(date: &Expr) -> Expr {
    cast(date.clone(), DataType::Timestamp(TimeUnit::Microsecond, None))
}

/// A time of day as the duration since midnight.
fn since_midnight(time: &Expr) -> Expr {
    cast(cast(time.clone(), DataType::Int64), DataType::Duration(TimeUnit::Microsecond))
}

fn microseconds(time: &Expr, zone: Option<Arc<str>>) -> Expr {
    cast(time.clone(), DataType::Timestamp(TimeUnit::Microsecond, zone))
}
