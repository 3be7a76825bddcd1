//! Functions over ranges of series that have native histograms.

use super::columns::Column;
use super::edges;
use super::evaluator::{Evaluator, Result};
use super::histogram_rates::{Change, change, instant_change};
use super::histogram_totals::{Total, total};
use super::outcome::Sample;
use super::ranges::{Window, WindowFunction};
use super::remarks::Context;
use super::select::{Ranged, Sampled};
use crate::histogram::Histogram;
use crate::promql::Edge;
use std::sync::Arc;

/// A call of a function over a range.
#[derive(Clone, Copy)]
pub(super) struct HistogramCall<'a> {
    pub(super) name: &'a str,
    /// The function for numbers.
    pub(super) function: WindowFunction,
    /// The position of the first argument in the query, for remarks.
    pub(super) first: usize,
}

impl Evaluator<'_> {
    /// The windows of a series that has histograms.
    pub(super) fn windows_with_histograms(
        &self,
        series: &Sampled,
        ranged: &Ranged,
        call: HistogramCall<'_>,
        numbers: &[(usize, Vec<f64>)],
        mut column: Column,
    ) -> Result<Column> {
        let (before, after) = ranged.edge_margins(self.query.limits.lookback_ms);
        let context = Context { query: self.query, offset: call.first, metric: series.labels.metric() };
        for (step, time) in self.grid.times().enumerate() {
            self.query.check()?;
            let end = ranged.time_shift.time(time);
            let begin = end.saturating_sub(ranged.range);
            let (from, to) = (begin.saturating_sub(before), end.saturating_add(after));
            let low = series.times.partition_point(|time| *time <= from);
            let high = series.times.partition_point(|time| *time <= to).max(low);
            let first = series.histograms.partition_point(|sample| sample.0 <= from);
            let last = series.histograms.partition_point(|sample| sample.0 <= to).max(first);
            if low == high && first == last {
                continue;
            }
            let args: Vec<f64> = numbers.iter().map(|(_, values)| values[step]).collect();
            let window = Window {
                times: &series.times[low..high],
                values: &series.values[low..high],
                histograms: &series.histograms[first..last],
                begin,
                end,
                time,
                seconds: ranged.range as f64 / 1000.0,
                edge: ranged.edge,
                args: &args,
            };
            if let Some(sample) = evaluated(context, call, &window) {
                if let Sample::Histogram(histogram) = &sample {
                    self.query.charge_histogram(histogram)?;
                }
                // Each step is set once.
                let _ = column.set(step, sample);
            }
        }
        Ok(column)
    }
}

/// The result of a function for one window.
fn evaluated(context: Context<'_>, call: HistogramCall<'_>, window: &Window<'_>) -> Option<Sample> {
    let number = |window: &Window<'_>| (call.function)(window).map(Sample::Number);
    if window.histograms.is_empty() {
        return number(window);
    }
    let times = || (window.histograms.first(), window.histograms.last());
    let mixed = !window.values.is_empty();
    match call.name {
        "absent_over_time" | "present_over_time" => Some(Sample::Number(1.0)),
        "count_over_time" => Some(Sample::Number((window.values.len() + window.histograms.len()) as f64)),
        "first_over_time" => match (times(), window.times.first()) {
            ((Some(first), _), Some(time)) if *time < first.0 => number(window),
            ((Some(first), _), _) => Some(Sample::Histogram(Arc::clone(&first.1))),
            _ => None,
        },
        "last_over_time" => match (times(), window.times.last()) {
            ((_, Some(last)), Some(time)) if *time > last.0 => number(window),
            ((_, Some(last)), _) => Some(Sample::Histogram(Arc::clone(&last.1))),
            _ => None,
        },
        "ts_of_first_over_time" => {
            let native = window.histograms.first().map(|sample| sample.0);
            let time = window.times.first().copied().into_iter().chain(native).min()?;
            Some(Sample::Number(time as f64 / 1000.0))
        }
        "ts_of_last_over_time" => {
            let native = window.histograms.last().map(|sample| sample.0);
            let time = window.times.last().copied().into_iter().chain(native).max()?;
            Some(Sample::Number(time as f64 / 1000.0))
        }
        "changes" => pairs(window, |one, other| match (one, other) {
            (WindowSample::Number(one), WindowSample::Number(other)) => {
                one != other && !(one.is_nan() && other.is_nan())
            }
            (WindowSample::Histogram(one), WindowSample::Histogram(other)) => !other.same_as(one),
            _ => true,
        }),
        "resets" => pairs(window, |one, other| match (one, other) {
            (WindowSample::Number(one), WindowSample::Number(other)) => other < one,
            (WindowSample::Histogram(one), WindowSample::Histogram(other)) => other.is_reset_after(one),
            _ => true,
        }),
        "irate" => instant_change(context, window, true),
        "idelta" => instant_change(context, window, false),
        "avg_over_time" | "sum_over_time" | "delta" | "increase" | "rate" if mixed => {
            context.query.warn_mixed(context.offset, context.metric);
            None
        }
        "avg_over_time" => totalled(context, window, Total::Mean),
        "sum_over_time" => totalled(context, window, Total::Sum),
        "delta" => change(context, window, Change::Gauge),
        "increase" => change(context, window, Change::Counter),
        "rate" => change(context, window, Change::PerSecond),
        // The others take numbers alone.
        _ => {
            if mixed {
                context.query.inform_ignored_in_range(context.offset, context.metric);
                return number(window);
            }
            None
        }
    }
}

fn totalled(context: Context<'_>, window: &Window<'_>, kind: Total) -> Option<Sample> {
    let histograms: Vec<&Arc<Histogram>> = window.histograms.iter().map(|sample| &sample.1).collect();
    match total(&histograms, kind) {
        Ok(Some((histogram, added))) => {
            context.query.remark_on_total(context.offset, added);
            Some(Sample::Histogram(Arc::new(histogram)))
        }
        Ok(None) => None,
        Err(_) => {
            context.query.warn_incompatible(context.offset, context.metric);
            None
        }
    }
}

/// A sample of a window.
enum WindowSample<'a> {
    Number(f64),
    Histogram(&'a Histogram),
}

/// Counts the pairs of consecutive samples that satisfy a condition. For an anchored range, the samples begin with the
/// last one before it.
fn pairs(window: &Window<'_>, holds: impl Fn(&WindowSample<'_>, &WindowSample<'_>) -> bool) -> Option<Sample> {
    let numbers = window.times.iter().zip(window.values).map(|(time, value)| (*time, WindowSample::Number(*value)));
    let native = window.histograms.iter().map(|(time, histogram)| (*time, WindowSample::Histogram(histogram)));
    let mut samples: Vec<(i64, WindowSample<'_>)> = numbers.chain(native).collect();
    samples.sort_by_key(|sample| sample.0);
    let mut samples = samples.as_slice();
    if window.edge == Edge::Anchored {
        let times: Vec<i64> = samples.iter().map(|sample| sample.0).collect();
        samples = &samples[edges::anchored(&times, window.begin)?..];
    }
    let count = samples.windows(2).filter(|pair| holds(&pair[0].1, &pair[1].1)).count();
    Some(Sample::Number(count as f64))
}
