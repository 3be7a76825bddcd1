//! The shared state of a query's evaluation, and the evaluation of composite expressions.

use super::columns::{Column, GAP, Grid, is_gap, scalar};
use super::limits::Limits;
use super::notes::{Detail, Notes};
use super::outcome::EvaluateError;
use super::source::SeriesSource;
use crate::histogram::Histogram;
use crate::promql::{Expr, ExprKind, Span};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

pub(super) type Result<T, E = EvaluateError> = std::result::Result<T, E>;

/// One query.
pub(super) struct Query<'a> {
    pub(super) source: &'a dyn SeriesSource,
    /// All times of the query, which `@ start()` and `step()` mean.
    pub(super) grid: Grid,
    /// The time that `@ end()` means.
    pub(super) end: i64,
    /// The seconds that `step()` means.
    pub(super) step_seconds: f64,
    pub(super) limits: &'a Limits<'a>,
    pub(super) notes: RefCell<Notes>,
    /// The number of loaded samples.
    pub(super) samples: Cell<usize>,
}

/// Evaluates expressions at the times of a grid: the query's, or a subquery's.
#[derive(Clone, Copy)]
pub(super) struct Evaluator<'a> {
    pub(super) query: &'a Query<'a>,
    pub(super) grid: Grid,
    pub(super) hints: Hints,
}

/// How selectors treat the reset hints of native histograms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hints {
    /// They stay as stored.
    Stored,
    /// Unknown hints are determined by comparing samples. Prometheus does so below functions that need no buckets.
    Determined,
    /// They stay as stored, also below such functions.
    Kept,
}

/// An error of the expression.
pub(super) fn fail<T>(message: impl Into<String>) -> Result<T> {
    Err(EvaluateError::Execution(message.into()))
}

impl Query<'_> {
    /// Counts samples against the limit, and checks for interrupts.
    pub(super) fn charge(&self, samples: usize) -> Result<()> {
        let total = self.samples.get().saturating_add(samples);
        self.samples.set(total);
        if total > self.limits.samples_max {
            return Err(EvaluateError::TooManySamples);
        }
        self.check()
    }

    /// Counts a histogram that was loaded or computed, by its size in memory.
    pub(super) fn charge_histogram(&self, histogram: &Histogram) -> Result<()> {
        self.charge(histogram.sample_count())
    }

    /// Fails if the caller asked to stop.
    pub(super) fn check(&self) -> Result<()> {
        if (self.limits.stop)() { Err(EvaluateError::Stopped) } else { Ok(()) }
    }

    pub(super) fn warn(&self, offset: usize, message: impl Into<String>) {
        self.notes.borrow_mut().warn(offset, message.into());
    }

    pub(super) fn inform(&self, offset: usize, message: impl Into<String>) {
        self.notes.borrow_mut().inform(offset, message.into(), Detail::None);
    }

    /// The seconds between the first and the last time.
    pub(super) fn range_seconds(&self) -> f64 {
        (self.end - self.grid.start) as f64 / 1000.0
    }

    /// The milliseconds of a span.
    pub(super) fn milliseconds(&self, span: &Span, may_be_negative: bool) -> Result<i64> {
        span.milliseconds(self.range_seconds(), self.step_seconds, may_be_negative).map_err(EvaluateError::Execution)
    }
}

impl Evaluator<'_> {
    /// The columns of an expression that is a scalar or an instant vector.
    pub(super) fn columns(&self, expr: &Expr) -> Result<Vec<Column>> {
        self.query.check()?;
        if self.grid.count == 0 {
            return Ok(Vec::new());
        }
        if self.grid.count > self.query.limits.samples_max {
            return Err(EvaluateError::TooManySamples);
        }
        if self.grid.count > 1 && !matches!(expr.kind, ExprKind::Number(_)) && is_invariant(expr) {
            return self.repeated(expr);
        }
        match &expr.kind {
            ExprKind::Number(number) => Ok(scalar(vec![*number; self.grid.count])),
            ExprKind::Selector(selector) => self.instant(expr.start, selector),
            ExprKind::Paren(inner) => self.columns(inner),
            ExprKind::Unary { minus, expr: inner } => {
                let mut columns = self.columns(inner)?;
                if *minus {
                    for column in &mut columns {
                        column.drop_name = true;
                        column.values.iter_mut().filter(|value| !is_gap(**value)).for_each(|value| *value = -*value);
                        for histogram in column.histograms.iter_mut().flatten() {
                            *histogram = Arc::new(histogram.times(-1.0));
                            self.query.charge_histogram(histogram)?;
                        }
                    }
                }
                Ok(columns)
            }
            ExprKind::Binary(binary) => self.binary(expr.start, binary),
            ExprKind::Call { function, args } => self.call(expr.start, function, args),
            ExprKind::Aggregate(aggregate) => self.aggregate(expr.start, aggregate),
            ExprKind::Text(_) | ExprKind::Range { .. } | ExprKind::Subquery { .. } => {
                fail("expression has no value at each step")
            }
        }
    }

    /// The same evaluator, below a function that needs all buckets.
    pub(super) fn with_hints_kept(&self) -> Self {
        Self { hints: Hints::Kept, ..*self }
    }

    /// The same evaluator, below a function that needs no buckets.
    pub(super) fn with_hints_determined(&self) -> Self {
        let hints = if self.hints == Hints::Kept { Hints::Kept } else { Hints::Determined };
        Self { hints, ..*self }
    }

    /// The value of a scalar expression at each step.
    pub(super) fn scalar(&self, expr: &Expr) -> Result<Vec<f64>> {
        let mut columns = self.columns(expr)?;
        Ok(columns.pop().map(|column| column.values).unwrap_or_default())
    }

    /// Evaluates an expression once that yields the same at each step.
    fn repeated(&self, expr: &Expr) -> Result<Vec<Column>> {
        let once = Self { grid: Grid { count: 1, ..self.grid }, ..*self };
        let mut columns = once.columns(expr)?;
        self.query.charge(columns.len() * self.grid.count)?;
        for column in &mut columns {
            let value = column.values.first().copied().unwrap_or(GAP);
            column.values = vec![value; self.grid.count];
            if let Some(histogram) = column.histograms.pop() {
                column.histograms = vec![histogram; self.grid.count];
            }
        }
        Ok(columns)
    }
}

/// Functions whose result depends on the time of evaluation.
const OF_THE_TIME: [&str; 14] = [
    "days_in_month",
    "day_of_month",
    "day_of_week",
    "day_of_year",
    "hour",
    "minute",
    "month",
    "year",
    "predict_linear",
    "time",
    "timestamp",
    "start_timestamp",
    "info",
    "absent_over_time",
];

/// Returns whether an expression yields the same at each step: all its selectors are at fixed times.
fn is_invariant(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Number(_) | ExprKind::Text(_) => true,
        ExprKind::Selector(selector) | ExprKind::Range { selector, .. } => selector.shift.at.is_some(),
        ExprKind::Subquery { shift, .. } => shift.at.is_some(),
        ExprKind::Paren(inner) | ExprKind::Unary { expr: inner, .. } => is_invariant(inner),
        ExprKind::Binary(binary) => is_invariant(&binary.left) && is_invariant(&binary.right),
        ExprKind::Call { function, args } => !OF_THE_TIME.contains(&function.name) && args.iter().all(is_invariant),
        ExprKind::Aggregate(aggregate) => {
            is_invariant(&aggregate.expr) && aggregate.param.as_ref().is_none_or(is_invariant)
        }
    }
}
