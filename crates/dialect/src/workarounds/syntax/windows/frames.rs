//! Empty window frames, such as `ROWS BETWEEN 2 FOLLOWING AND 1 FOLLOWING`, which DataFusion refuses. An aggregate over
//! an empty frame gets a FILTER that excludes all rows. A frame of `RANGE` is empty only for rows with a key: those
//! whose key is NULL see each other. So it becomes the frame of the rows with the same key, and the FILTER leaves those
//! without one.
//!
//! DataFusion panics on a function that returns a value of one row of the frame and has no argument, such as
//! `first_value() OVER ()`, so that call is refused. It also panics on offsets near the largest number of 64 bits.
//!
//! The first panic is fixed upstream by [#24595](https://github.com/apache/datafusion/pull/24595), which is not in
//! 55.2; for empty frames and large offsets no upstream issue is known.

use crate::text::errors::sql_error;
use crate::workarounds::syntax::{binary, expression};
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DataType, Expr, Function, FunctionArguments, UnaryOperator, Value, ValueWithSpan, WindowFrameBound,
    WindowFrameUnits, WindowType,
};

/// Window functions that ignore the frame.
pub(crate) const WITHOUT_FRAME: [&str; 8] =
    ["row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead"];

/// Functions that return a value of one row of the frame.
pub(crate) const OF_ONE_ROW: [&str; 3] = ["first_value", "last_value", "nth_value"];

/// Computes the bounds of a frame that are sums and products of integers, such as `1 + 1 PRECEDING`, and those with a
/// cast, such as `'1 day'::interval PRECEDING`, because DataFusion only accepts numbers and intervals. Offsets in rows
/// and groups are rounded to integers and must fit a BIGINT: DataFusion panics on larger ones, because it adds them to
/// the number of a row without a check.
pub(crate) fn constant_bounds(expr: &mut Expr) -> Result<()> {
    let Expr::Function(Function { over: Some(WindowType::WindowSpec(spec)), .. }) = expr else { return Ok(()) };
    let Some(frame) = spec.window_frame.as_mut() else { return Ok(()) };
    let of_values = frame.units == WindowFrameUnits::Range;
    for bound in std::iter::once(&mut frame.start_bound).chain(&mut frame.end_bound) {
        let (WindowFrameBound::Preceding(Some(count)) | WindowFrameBound::Following(Some(count))) = bound else {
            continue;
        };
        if let Some(text) = interval_text(count) {
            **count = expression(&format!("INTERVAL {text}"))?;
            continue;
        }
        match computed(count).or_else(|| rounded(count).filter(|_| !of_values)) {
            Some(value) if value < 0 => {
                return Err(sql_error("the offset of a window's frame must not be negative"));
            }
            Some(value) => **count = Expr::value(Value::Number(value.to_string(), false)),
            None if is_number(count) && !of_values => {
                let hint = format!("an offset is a whole number from 0 to {}", i64::MAX);
                return Err(sql_error("bigint out of range").with_hint(hint));
            }
            None => {}
        }
    }
    Ok(())
}

/// The text of a constant that is cast to an interval.
fn interval_text(expr: &Expr) -> Option<&ValueWithSpan> {
    match expr {
        Expr::Nested(inner) => interval_text(inner),
        Expr::Cast { expr, data_type: DataType::Interval { .. }, .. } => match expr.as_ref() {
            Expr::Value(text @ ValueWithSpan { value: Value::SingleQuotedString(_), .. }) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

fn is_number(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(ValueWithSpan { value: Value::Number(..), .. }))
}

/// The integer that is nearest to a number; `None` if a BIGINT cannot hold it.
fn rounded(expr: &Expr) -> Option<i64> {
    let Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) = expr else { return None };
    let value = digits.parse::<f64>().ok()?.round();
    (value < i64::MAX as f64).then_some(value as i64)
}

/// The value of an expression of integers.
fn computed(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Nested(inner) => computed(inner),
        Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) => digits.parse().ok(),
        Expr::Cast {
            expr, data_type: DataType::Int(None) | DataType::Integer(None) | DataType::BigInt(None), ..
        } => match expr.as_ref() {
            Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(digits), .. }) => digits.parse().ok(),
            number => computed(number),
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => computed(expr)?.checked_neg(),
        Expr::BinaryOp { left, op, right } => {
            let (left, right) = (computed(left)?, computed(right)?);
            match op {
                BinaryOperator::Plus => left.checked_add(right),
                BinaryOperator::Minus => left.checked_sub(right),
                BinaryOperator::Multiply => left.checked_mul(right),
                BinaryOperator::Divide => left.checked_div(right),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Rewrites a call over a frame that is always empty, and refuses a call that makes DataFusion panic.
pub(crate) fn empty_frame(expr: &mut Expr) -> Result<()> {
    let Expr::Function(call) = expr else { return Ok(()) };
    let name = call.name.to_string().to_lowercase();
    let has_argument = matches!(&call.args, FunctionArguments::List(list) if !list.args.is_empty());
    if call.over.is_some() && OF_ONE_ROW.contains(&name.as_str()) && !has_argument {
        return Err(sql_error(format!("{name} takes an argument")).with_hint(format!("write {name}(column)")));
    }
    let Function { over: Some(WindowType::WindowSpec(spec)), filter, .. } = call else { return Ok(()) };
    let Some(frame) = spec.window_frame.as_mut() else { return Ok(()) };
    if !is_empty(&frame.start_bound, frame.end_bound.as_ref()) {
        return Ok(());
    }
    // Whether the frame of a row is not empty.
    let mut is_left = Expr::value(Value::Boolean(false));
    if frame.units == WindowFrameUnits::Range {
        let [by] = spec.order_by.as_slice() else { return Ok(()) };
        is_left = Expr::IsNull(Box::new(Expr::Nested(Box::new(by.expr.clone()))));
        (frame.start_bound, frame.end_bound) = (WindowFrameBound::CurrentRow, Some(WindowFrameBound::CurrentRow));
    } else {
        spec.window_frame = None;
    }
    if WITHOUT_FRAME.contains(&name.as_str()) {
        return Ok(());
    }
    if OF_ONE_ROW.contains(&name.as_str()) {
        let mut chosen = expression("CASE WHEN FALSE THEN NULL END")?;
        if let Expr::Case { conditions, .. } = &mut chosen
            && let Some(first) = conditions.first_mut()
        {
            (first.condition, first.result) = (is_left, expr.clone());
        }
        *expr = chosen;
    } else {
        *filter = Some(Box::new(match filter.take() {
            Some(condition) => binary(is_left, BinaryOperator::And, Expr::Nested(condition)),
            None => is_left,
        }));
    }
    Ok(())
}

/// Returns whether a frame ends before it begins.
fn is_empty(start: &WindowFrameBound, end: Option<&WindowFrameBound>) -> bool {
    let Some(end) = end else { return false };
    match (start, end) {
        (WindowFrameBound::Preceding(Some(start)), WindowFrameBound::Preceding(Some(end))) => {
            count(start).zip(count(end)).is_some_and(|(start, end)| start < end)
        }
        (WindowFrameBound::Following(Some(start)), WindowFrameBound::Following(Some(end))) => {
            count(start).zip(count(end)).is_some_and(|(start, end)| start > end)
        }
        _ => false,
    }
}

fn count(expr: &Expr) -> Option<u64> {
    match expr {
        Expr::Value(ValueWithSpan { value: Value::Number(digits, _), .. }) => digits.parse().ok(),
        _ => None,
    }
}
