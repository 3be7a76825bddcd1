//! Calling functions over ranges.

use super::columns::{Column, GAP, is_gap};
use super::evaluator::{Evaluator, Result, fail};
use super::histogram_windows::HistogramCall;
use super::ranges::{Window, WindowFunction};
use super::select::{Ranged, Sampled};
use super::{over_time, rates, trend};
use crate::labels::{Labels, MatchOp};
use crate::promql::{Edge, Expr, ExprKind, ValueType, type_of};

/// The function of a name.
pub(super) fn window_function(name: &str) -> Option<WindowFunction> {
    Some(match name {
        "absent_over_time" | "present_over_time" => over_time::present,
        "avg_over_time" => over_time::avg,
        "changes" => rates::changes,
        "count_over_time" => over_time::count,
        "delta" => rates::delta,
        "deriv" => trend::deriv,
        "double_exponential_smoothing" | "holt_winters" => trend::double_exponential_smoothing,
        "first_over_time" => over_time::first,
        "idelta" => rates::idelta,
        "increase" => rates::increase,
        "irate" => rates::irate,
        "last_over_time" => over_time::last,
        "mad_over_time" => over_time::mad,
        "max_over_time" => over_time::max,
        "min_over_time" => over_time::min,
        "predict_linear" => trend::predict_linear,
        "quantile_over_time" => over_time::quantile_of,
        "rate" => rates::rate,
        "resets" => rates::resets,
        "stddev_over_time" => over_time::stddev,
        "stdvar_over_time" => over_time::stdvar,
        "sum_over_time" => over_time::sum,
        "ts_of_first_over_time" => over_time::time_of_first,
        "ts_of_last_over_time" => over_time::time_of_last,
        "ts_of_max_over_time" => over_time::time_of_max,
        "ts_of_min_over_time" => over_time::time_of_min,
        _ => return None,
    })
}

impl Evaluator<'_> {
    /// Applies a function to each window of each series.
    pub(super) fn window_call(&self, name: &str, function: WindowFunction, args: &[Expr]) -> Result<Vec<Column>> {
        let Some(range) = args.iter().find(|arg| type_of(arg) == ValueType::Matrix) else {
            return fail(format!("{name} has no range"));
        };
        let mut numbers = Vec::new();
        for arg in args.iter().filter(|arg| type_of(arg) == ValueType::Scalar) {
            numbers.push((arg.bare().start, self.scalar(arg)?));
        }
        let ranged = self.ranged(range)?;
        check_edge(name, ranged.edge)?;
        self.check_numbers(name, range.bare().start, &numbers, &ranged)?;
        let keeps_name = matches!(name, "last_over_time" | "first_over_time");
        self.query.charge(ranged.series.len().saturating_mul(self.grid.count))?;
        let mut columns = Vec::with_capacity(ranged.series.len());
        for series in &ranged.series {
            self.query.check()?;
            let (labels, drop_name) = (series.labels.clone(), !keeps_name || series.drop_name);
            let column = if series.histograms.is_empty() {
                Column::new(labels, drop_name, self.windows(series, &ranged, function, &numbers))
            } else {
                let call = HistogramCall { name, function, first: args[0].bare().start };
                let gaps = Column::new(labels, drop_name, vec![GAP; self.grid.count]);
                self.windows_with_histograms(series, &ranged, call, &numbers, gaps)?
            };
            if !column.is_empty() {
                columns.push(column);
            }
        }
        match name {
            "rate" | "increase" => self.inform_about_counters(range.bare().start, &columns),
            "absent_over_time" => return Ok(self.absent(range, &columns)),
            _ => {}
        }
        Ok(columns)
    }

    fn windows(
        &self,
        series: &Sampled,
        ranged: &Ranged,
        function: WindowFunction,
        numbers: &[(usize, Vec<f64>)],
    ) -> Vec<f64> {
        let (before, after) = ranged.edge_margins(self.query.limits.lookback_ms);
        let mut args = Vec::with_capacity(numbers.len());
        let (mut low, mut high) = (0, 0);
        let cells = self.grid.times().enumerate().map(|(step, time)| {
            let end = ranged.time_shift.time(time);
            let begin = end.saturating_sub(ranged.range);
            let (from, to) = (begin.saturating_sub(before), end.saturating_add(after));
            while low < series.times.len() && series.times[low] <= from {
                low += 1;
            }
            high = high.max(low);
            while high < series.times.len() && series.times[high] <= to {
                high += 1;
            }
            if low == high {
                return GAP;
            }
            args.clear();
            args.extend(numbers.iter().map(|(_, values)| values[step]));
            let window = Window {
                times: &series.times[low..high],
                values: &series.values[low..high],
                histograms: &[],
                begin,
                end,
                time,
                seconds: ranged.range as f64 / 1000.0,
                edge: ranged.edge,
                args: &args,
            };
            function(&window).unwrap_or(GAP)
        });
        cells.collect()
    }

    fn check_numbers(&self, name: &str, start: usize, numbers: &[(usize, Vec<f64>)], ranged: &Ranged) -> Result<()> {
        if ranged.series.is_empty() {
            return Ok(());
        }
        match name {
            "quantile_over_time" => {
                // Prometheus also reports the position of the first argument.
                let offset = numbers.first().map_or(start, |number| number.0);
                for q in numbers.iter().flat_map(|number| &number.1) {
                    self.check_quantile(offset, *q);
                }
            }
            "double_exponential_smoothing" | "holt_winters" => {
                for (number, what) in
                    numbers.iter().zip(["smoothing factor. Expected: 0 < sf < 1", "trend factor. Expected: 0 < tf < 1"])
                {
                    if let Some(wrong) = number.1.iter().find(|value| !(**value > 0.0 && **value < 1.0)) {
                        return fail(format!("invalid {what}, got: {wrong:.6}"));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Warns about a quantile that is not between 0 and 1.
    pub(super) fn check_quantile(&self, start: usize, q: f64) {
        if !(0.0..=1.0).contains(&q) {
            let q = super::elements::shown(q);
            self.query.warn(start, format!("quantile value should be between 0 and 1, got {q}"));
        }
    }

    fn inform_about_counters(&self, start: usize, columns: &[Column]) {
        let suffixes = ["_total", "_sum", "_count", "_bucket"];
        for column in columns {
            let metric = column.labels.metric();
            let has_numbers = column.values.iter().any(|value| !is_gap(*value));
            if has_numbers && !metric.is_empty() && !suffixes.iter().any(|suffix| metric.ends_with(suffix)) {
                let message = "metric might not be a counter, name does not end in _total/_sum/_count/_bucket:";
                self.query.inform(start, format!("{message} {metric:?}"));
            }
        }
    }

    /// 1 at each step where no column has a value.
    pub(super) fn absent(&self, expr: &Expr, columns: &[Column]) -> Vec<Column> {
        let values: Vec<f64> = (0..self.grid.count)
            .map(|step| if columns.iter().any(|column| column.has(step)) { GAP } else { 1.0 })
            .collect();
        let column = Column::new(labels_of_absent(expr), false, values);
        if column.is_empty() { Vec::new() } else { vec![column] }
    }
}

/// The labels that an expression fixes: each that is compared once, for equality.
fn labels_of_absent(expr: &Expr) -> Labels {
    let (ExprKind::Selector(selector) | ExprKind::Range { selector, .. }) = &expr.bare().kind else {
        return Labels::default();
    };
    let mut labels = Labels::default();
    let mut seen: Vec<&str> = Vec::new();
    for matcher in &selector.matchers {
        if matcher.name == crate::labels::METRIC_NAME {
            continue;
        }
        if matcher.op == MatchOp::Equal && !seen.contains(&matcher.name.as_str()) {
            labels = labels.with(&matcher.name, &matcher.value);
            seen.push(&matcher.name);
        } else {
            labels = labels.with(&matcher.name, "");
        }
    }
    labels
}

fn check_edge(name: &str, edge: Edge) -> Result<()> {
    let (word, allowed): (&str, &[&str]) = match edge {
        Edge::Inside => return Ok(()),
        Edge::Anchored => ("anchored", &["changes", "delta", "increase", "rate", "resets"]),
        Edge::Smoothed => ("smoothed", &["delta", "increase", "rate"]),
    };
    if allowed.contains(&name) {
        return Ok(());
    }
    fail(format!("{word} modifier can only be used with: {} - not with {name}", allowed.join(", ")))
}
