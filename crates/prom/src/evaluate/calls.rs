//! Calling functions over instant vectors and scalars.

use super::columns::{Column, GAP, is_gap, scalar};
use super::dates::{Moment, part};
use super::elements::{element_function, larger, seconds, smaller};
use super::evaluator::{Evaluator, Result, fail};
use super::sums::Sum;
use super::window_calls::window_function;
use crate::histogram::Histogram;
use crate::promql::{Expr, ExprKind, Function};

impl Evaluator<'_> {
    pub(super) fn call(&self, start: usize, function: &Function, args: &[Expr]) -> Result<Vec<Column>> {
        let name = function.name;
        if let Some(function) = window_function(name) {
            return self.window_call(name, function, args);
        }
        if let Some(function) = element_function(name) {
            return Ok(mapped(self.columns(&args[0])?, |_, value| function(value)));
        }
        if let Some(part) = part(name) {
            let of = |value: f64| part(Moment::of(seconds(value))) as f64;
            return match args.first() {
                Some(arg) => Ok(mapped(self.columns(arg)?, |_, value| of(value))),
                None => Ok(scalar(self.grid.times().map(|time| of((time / 1000) as f64)).collect())),
            };
        }
        match name {
            "time" => Ok(scalar(self.grid.times().map(|time| time as f64 / 1000.0).collect())),
            "pi" => Ok(self.constant(std::f64::consts::PI)),
            "start" => Ok(self.constant(self.query.grid.start as f64 / 1000.0)),
            "end" => Ok(self.constant(self.query.end as f64 / 1000.0)),
            "range" => Ok(self.constant(self.query.range_seconds())),
            "step" => Ok(self.constant(self.query.step_seconds)),
            "max_of" => self.of_two(args, larger),
            "min_of" => self.of_two(args, smaller),
            "vector" => Ok(scalar(self.scalar(&args[0])?)),
            "scalar" => Ok(scalar(self.only_value(&self.columns(&args[0])?))),
            "absent" => Ok(self.absent(&args[0], &self.columns(&args[0])?)),
            "round" => self.round(args),
            "clamp" => {
                let (min, max) = (self.scalar(&args[1])?, self.scalar(&args[2])?);
                let columns = self.columns(&args[0])?;
                Ok(present(mapped(columns, |step, value| clamped(value, min[step], max[step]))))
            }
            "clamp_min" => {
                let min = self.scalar(&args[1])?;
                Ok(mapped(self.columns(&args[0])?, |step, value| clamped(value, min[step], f64::INFINITY)))
            }
            "clamp_max" => {
                let max = self.scalar(&args[1])?;
                Ok(mapped(self.columns(&args[0])?, |step, value| clamped(value, f64::NEG_INFINITY, max[step])))
            }
            "timestamp" => self.timestamp(&args[0]),
            // The times at which counters began are not stored.
            "start_timestamp" => Ok(Vec::new()),
            "sort" | "sort_desc" => self.sort(start, &args[0], name == "sort_desc"),
            "sort_by_label" | "sort_by_label_desc" => self.sort_by_label(start, args, name == "sort_by_label_desc"),
            "label_replace" => self.label_replace(args),
            "label_join" => self.label_join(args),
            "histogram_quantile" => self.histogram_quantile(args),
            "histogram_quantiles" => self.histogram_quantiles(args),
            "histogram_fraction" => self.histogram_fraction(args),
            "histogram_avg" => self.of_totals(&args[0], Histogram::average),
            "histogram_count" => self.of_totals(&args[0], |histogram| histogram.count),
            "histogram_sum" => self.of_totals(&args[0], |histogram| histogram.sum),
            "histogram_stddev" => self.of_histograms(&args[0], |histogram| histogram.variance::<Sum>().sqrt()),
            "histogram_stdvar" => self.of_histograms(&args[0], Histogram::variance::<Sum>),
            "info" => self.info(args),
            _ => fail(format!("unknown function {name:?}")),
        }
    }

    fn constant(&self, value: f64) -> Vec<Column> {
        scalar(vec![value; self.grid.count])
    }

    fn of_two(&self, args: &[Expr], choose: fn(f64, f64) -> f64) -> Result<Vec<Column>> {
        let (one, other) = (self.scalar(&args[0])?, self.scalar(&args[1])?);
        Ok(scalar(one.into_iter().zip(other).map(|(one, other)| choose(one, other)).collect()))
    }

    /// The value of the only series with one; NaN if none or several have one.
    fn only_value(&self, columns: &[Column]) -> Vec<f64> {
        let only = |step: usize| {
            let mut values = columns.iter().map(|column| column.values[step]).filter(|value| !is_gap(*value));
            match (values.next(), values.next()) {
                (Some(value), None) => value,
                _ => f64::NAN,
            }
        };
        (0..self.grid.count).map(only).collect()
    }

    fn round(&self, args: &[Expr]) -> Result<Vec<Column>> {
        let nearest = match args.get(1) {
            Some(arg) => self.scalar(arg)?,
            None => vec![1.0; self.grid.count],
        };
        let columns = self.columns(&args[0])?;
        // Multiplying by the inverse loses fewer digits than dividing.
        Ok(mapped(columns, |step, value| {
            let inverse = 1.0 / nearest[step];
            (value * inverse + 0.5).floor() / inverse
        }))
    }

    /// The time of the sample itself for a selector; of the evaluation for every other expression.
    fn timestamp(&self, arg: &Expr) -> Result<Vec<Column>> {
        if let ExprKind::Selector(selector) = &arg.bare().kind {
            return Ok(mapped(self.sample_times(&selector.matchers, self.time_shift(&selector.shift)?)?, |_, time| {
                time / 1000.0
            }));
        }
        let grid = self.grid;
        let mut columns = self.columns(arg)?;
        for column in columns.iter_mut().filter(|column| !column.histograms.is_empty()) {
            let numbers = (0..grid.count).map(|step| if column.has(step) { 0.0 } else { GAP });
            column.values = numbers.collect();
        }
        Ok(mapped(columns, |step, _| grid.at(step) as f64 / 1000.0))
    }
}

/// Applies a function to each number; the name is dropped. Histograms are left out.
fn mapped(mut columns: Vec<Column>, function: impl Fn(usize, f64) -> f64) -> Vec<Column> {
    columns.retain_mut(|column| {
        let histograms = std::mem::take(&mut column.histograms);
        histograms.is_empty() || !column.is_empty()
    });
    for column in &mut columns {
        column.drop_name = true;
        for (step, value) in column.values.iter_mut().enumerate() {
            if !is_gap(*value) {
                *value = function(step, *value);
            }
        }
    }
    columns
}

/// The columns that have a value.
pub(super) fn present(columns: Vec<Column>) -> Vec<Column> {
    columns.into_iter().filter(|column| !column.is_empty()).collect()
}

fn clamped(value: f64, min: f64, max: f64) -> f64 {
    if max < min { GAP } else { larger(min, smaller(max, value)) }
}

/// A text argument.
pub(super) fn text(arg: &Expr) -> &str {
    match &arg.bare().kind {
        ExprKind::Text(text) => text,
        _ => "",
    }
}

/// Text arguments.
pub(super) fn texts(args: &[Expr]) -> Vec<&str> {
    args.iter().map(text).collect()
}
