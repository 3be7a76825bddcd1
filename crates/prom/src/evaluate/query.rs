//! Evaluating a whole query.

use super::columns::{Column, Grid, is_gap, merge_equal};
use super::evaluator::{Evaluator, Hints, Query, Result, fail};
use super::labelling::same_labels;
use super::limits::Limits;
use super::notes::Notes;
use super::outcome::{Outcome, ResultSeries, ResultValue};
use super::source::SeriesSource;
use crate::promql::{Expr, ExprKind, ValueType, line_and_column, type_of};
use std::cell::{Cell, RefCell};

/// Evaluates an expression at one time in milliseconds. `text` is where the expression was parsed from.
pub fn evaluate_instant(
    source: &dyn SeriesSource,
    text: &str,
    expr: &Expr,
    time: i64,
    limits: &Limits<'_>,
) -> Result<Outcome> {
    run(source, text, Grid::new(time, time, 1), time, 0.0, limits, |evaluator| {
        let bare = expr.bare();
        match type_of(bare) {
            ValueType::Text => match &bare.kind {
                ExprKind::Text(text) => Ok(ResultValue::Text(time, text.clone())),
                _ => fail("expression has no value"),
            },
            ValueType::Matrix => evaluator.raw(bare).map(ResultValue::Matrix),
            ValueType::Scalar => {
                let value = evaluator.scalar(bare)?.first().copied().unwrap_or(f64::NAN);
                Ok(ResultValue::Scalar(time, value))
            }
            ValueType::Vector => {
                let columns = finished(evaluator.columns(bare)?)?;
                let present = columns.into_iter().filter(|column| !column.values.is_empty());
                let values = present.filter_map(|column| {
                    let sample = column.sample(0)?;
                    Some((column.labels, time, sample))
                });
                Ok(ResultValue::Vector(values.collect()))
            }
        }
    })
}

/// Evaluates an expression at the times from `start` to `end`, all in milliseconds.
pub fn evaluate_range(
    source: &dyn SeriesSource,
    text: &str,
    expr: &Expr,
    (start, end, step): (i64, i64, i64),
    limits: &Limits<'_>,
) -> Result<Outcome> {
    let grid = Grid::new(start, end, step);
    let step_seconds = if start == end { 0.0 } else { step as f64 / 1000.0 };
    run(source, text, grid, end, step_seconds, limits, |evaluator| {
        match type_of(expr) {
            ValueType::Scalar | ValueType::Vector => {}
            other => {
                let kind = other.documented();
                return fail(format!(
                    "invalid expression type {kind:?} for range query, must be Scalar or instant Vector"
                ));
            }
        }
        let columns = finished(evaluator.columns(expr)?)?;
        let mut series: Vec<ResultSeries> = columns
            .into_iter()
            .map(|column| {
                let points = grid.times().zip(column.values).filter(|(_, value)| !is_gap(*value));
                let histograms = grid.times().zip(column.histograms);
                let histograms = histograms.filter_map(|(time, histogram)| Some((time, histogram?)));
                ResultSeries { labels: column.labels, points: points.collect(), histograms: histograms.collect() }
            })
            .filter(|series| !series.points.is_empty() || !series.histograms.is_empty())
            .collect();
        series.sort_by(|one, other| one.labels.cmp(&other.labels));
        Ok(ResultValue::Matrix(series))
    })
}

fn run(
    source: &dyn SeriesSource,
    text: &str,
    grid: Grid,
    end: i64,
    step_seconds: f64,
    limits: &Limits<'_>,
    evaluate: impl FnOnce(&Evaluator<'_>) -> Result<ResultValue>,
) -> Result<Outcome> {
    let notes = RefCell::new(Notes::default());
    let query = Query { source, grid, end, step_seconds, limits, notes, samples: Cell::new(0) };
    let value = evaluate(&Evaluator { query: &query, grid, hints: Hints::Stored })?;
    let (warnings, infos) = query.notes.into_inner().shown(|offset| line_and_column(text, offset));
    Ok(Outcome { value, warnings, infos })
}

/// Drops the names that are to be dropped.
fn finished(mut columns: Vec<Column>) -> Result<Vec<Column>> {
    for column in &mut columns {
        if column.drop_name {
            column.labels = column.labels.without_metadata();
        }
    }
    merge_equal(columns).map_err(|_| same_labels())
}
