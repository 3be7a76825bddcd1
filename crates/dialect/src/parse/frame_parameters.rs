//! Parameters that are bounds of window frames, as in `ROWS BETWEEN $1 PRECEDING AND CURRENT ROW`. DataFusion only
//! plans constants there, so these parameters get their values before the statement is planned, and the others after.

use crate::functions::base::arguments::text_of;
use crate::text::datafusion_errors::from_datafusion;
use crate::text::errors::{not_supported, sql_error};
use crate::text::params::Parameters;
use crate::text::tree_walk::{visit_expressions, visit_expressions_mut};
use atsdb_core::Result;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, Interval, Statement, Value, ValueWithSpan, WindowFrame, WindowFrameBound, WindowFrameUnits,
    WindowType,
};
use std::ops::ControlFlow;

/// The parameters that count rows or groups in the bounds of frames.
pub fn frame_offsets(statement: &Statement) -> Vec<String> {
    let mut offsets = Vec::new();
    let _ = visit_expressions(statement, |expr| {
        if let Expr::Function(Function { over: Some(WindowType::WindowSpec(spec)), .. }) = expr
            && let Some(frame) = spec.window_frame.as_ref().filter(|frame| frame.units != WindowFrameUnits::Range)
        {
            offsets.extend(parameters_of(frame).map(str::to_owned));
        }
        ControlFlow::<()>::Continue(())
    });
    offsets
}

/// Replaces the parameters in the bounds of frames by their values. If a statement is only described, a frame with
/// parameters is left out, because the type of a result does not depend on it.
pub fn bind_frame_bounds(statement: &mut Statement, parameters: &Parameters) -> Result<()> {
    let is_empty = match parameters {
        Parameters::Texts(_) => true,
        Parameters::Values(values) => values.is_empty(),
        Parameters::Types(types) => types.is_empty(),
    };
    if is_empty {
        return Ok(());
    }
    let bound = visit_expressions_mut(statement, |expr| match bind(expr, parameters) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    });
    match bound {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

fn bind(expr: &mut Expr, parameters: &Parameters) -> Result<()> {
    let Expr::Function(Function { over: Some(WindowType::WindowSpec(spec)), .. }) = expr else { return Ok(()) };
    let Some(frame) = spec.window_frame.as_mut().filter(|frame| parameters_of(frame).next().is_some()) else {
        return Ok(());
    };
    if matches!(parameters, Parameters::Types(_)) {
        spec.window_frame = None;
        return Ok(());
    }
    let units = frame.units;
    for bound in std::iter::once(&mut frame.start_bound).chain(&mut frame.end_bound) {
        if let WindowFrameBound::Preceding(Some(count)) | WindowFrameBound::Following(Some(count)) = bound
            && let Some(value) = parameter_in(count).and_then(|id| parameters.value(id))
        {
            **count = constant(&value, units)?;
        }
    }
    Ok(())
}

/// The parameters in the bounds of a frame.
fn parameters_of(frame: &WindowFrame) -> impl Iterator<Item = &str> {
    std::iter::once(&frame.start_bound).chain(&frame.end_bound).filter_map(|bound| match bound {
        WindowFrameBound::Preceding(Some(count)) | WindowFrameBound::Following(Some(count)) => parameter_in(count),
        _ => None,
    })
}

/// The parameter that an expression consists of. It may have a cast.
fn parameter_in(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => parameter_in(inner),
        Expr::Value(ValueWithSpan { value: Value::Placeholder(id), .. }) => Some(id),
        _ => None,
    }
}

/// A value as a constant that DataFusion reads as a bound: a number, or the text of an interval.
fn constant(value: &ScalarValue, units: WindowFrameUnits) -> Result<Expr> {
    if value.is_null() {
        return Err(sql_error("the offset of a window's frame must not be null"));
    }
    if units == WindowFrameUnits::Range {
        if let ScalarValue::IntervalMonthDayNano(Some(length)) = value {
            let (seconds, rest) = (length.nanoseconds / 1_000_000_000, length.nanoseconds % 1_000_000_000);
            let (months, days) = (length.months, length.days);
            return Ok(interval(format!("{months} months {days} days {seconds} seconds {rest} nanoseconds")));
        }
        if let Some(text) = text_of(value) {
            return Ok(interval(text.to_owned()));
        }
        if !value.data_type().is_numeric() {
            return Err(not_supported("this parameter of RANGE").with_hint("use a number or an interval"));
        }
    }
    let text = value.cast_to(&DataType::Utf8).map_err(from_datafusion)?;
    let number = text_of(&text).unwrap_or_default();
    if number.starts_with('-') {
        return Err(sql_error("the offset of a window's frame must not be negative"));
    }
    if units != WindowFrameUnits::Range && number.parse::<i64>().is_err() {
        return Err(sql_error(format!("argument of {units} must be type bigint")));
    }
    Ok(Expr::value(Value::Number(number.to_owned(), false)))
}

fn interval(text: String) -> Expr {
    Expr::Interval(Interval {
        value: Box::new(Expr::value(Value::SingleQuotedString(text))),
        leading_field: None,
        leading_precision: None,
        last_field: None,
        fractional_seconds_precision: None,
    })
}
