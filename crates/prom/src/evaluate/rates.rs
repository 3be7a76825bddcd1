//! Functions about how values change over a range: rates, differences, resets, changes.

use super::edges;
use super::ranges::Window;
use crate::promql::Edge;

pub(super) fn rate(window: &Window<'_>) -> Option<f64> {
    extrapolated(window, true, true)
}

pub(super) fn increase(window: &Window<'_>) -> Option<f64> {
    extrapolated(window, true, false)
}

pub(super) fn delta(window: &Window<'_>) -> Option<f64> {
    extrapolated(window, false, false)
}

pub(super) fn irate(window: &Window<'_>) -> Option<f64> {
    last_two(window, true)
}

pub(super) fn idelta(window: &Window<'_>) -> Option<f64> {
    last_two(window, false)
}

/// The difference between the last and the first sample, extrapolated to the edges of the range if the samples come
/// close to them, by half the distance between samples otherwise. A counter is not extrapolated below 0, and the
/// amounts lost by its resets are added.
fn extrapolated(window: &Window<'_>, counter: bool, per_second: bool) -> Option<f64> {
    let (times, values) = (window.times, window.values);
    if window.edge != Edge::Inside {
        let smoothed = window.edge == Edge::Smoothed;
        let result = edges::difference(times, values, (window.begin, window.end), smoothed, counter)?;
        return Some(if per_second { result / window.seconds } else { result });
    }
    let [first, .., last] = *times else { return None };
    let mut result = values[values.len() - 1] - values[0];
    if counter {
        for pair in values.windows(2) {
            if pair[1] < pair[0] {
                result += pair[0];
            }
        }
    }
    let zero = counter.then_some((values[0], result));
    Some(result * extrapolation(window, (first, last), times.len(), zero, per_second))
}

/// Returns the factor by which the difference between the first and the last sample is multiplied. For a counter, the
/// value of the first sample and the difference show when it was 0.
pub(super) fn extrapolation(
    window: &Window<'_>,
    (first, last): (i64, i64),
    count: usize,
    zero: Option<(f64, f64)>,
    per_second: bool,
) -> f64 {
    let mut to_begin = (first - window.begin) as f64 / 1000.0;
    let mut to_end = (window.end - last) as f64 / 1000.0;
    let sampled = (last - first) as f64 / 1000.0;
    let between = sampled / count.saturating_sub(1) as f64;
    let close = between * 1.1;
    if to_begin >= close {
        to_begin = between / 2.0;
    }
    if let Some((value, difference)) = zero
        && difference > 0.0
        && value >= 0.0
    {
        to_begin = to_begin.min(sampled * (value / difference));
    }
    if to_end >= close {
        to_end = between / 2.0;
    }
    let mut factor = if sampled == 0.0 { 1.0 } else { (sampled + to_begin + to_end) / sampled };
    if per_second {
        factor /= window.seconds;
    }
    factor
}

fn last_two(window: &Window<'_>, per_second: bool) -> Option<f64> {
    let ([.., before, time], [.., previous, value]) = (window.times, window.values) else { return None };
    let reset = per_second && value < previous;
    let result = if reset { *value } else { value - previous };
    Some(if per_second { result / ((time - before) as f64 / 1000.0) } else { result })
}

/// The relevant samples. For an anchored range they include the last one before the range.
fn counted<'a>(window: &Window<'a>) -> Option<&'a [f64]> {
    match window.edge {
        Edge::Anchored => edges::anchored(window.times, window.begin).map(|first| &window.values[first..]),
        _ => Some(window.values),
    }
}

pub(super) fn resets(window: &Window<'_>) -> Option<f64> {
    let values = counted(window)?;
    Some(values.windows(2).filter(|pair| pair[1] < pair[0]).count() as f64)
}

pub(super) fn changes(window: &Window<'_>) -> Option<f64> {
    let values = counted(window)?;
    let changed = |pair: &&[f64]| pair[1] != pair[0] && !(pair[1].is_nan() && pair[0].is_nan());
    Some(values.windows(2).filter(changed).count() as f64)
}
