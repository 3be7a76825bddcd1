//! How native histograms change over a range.

use super::edges_of_histograms;
use super::outcome::Sample;
use super::ranges::Window;
use super::rates::{extrapolation, idelta, irate};
use super::remarks::{Context, Purpose};
use crate::histogram::{Histogram, HistogramParts, ResetHint};
use crate::promql::Edge;
use std::sync::Arc;

/// The function that is applied to the histograms of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// `delta`
    Gauge,
    /// `increase`
    Counter,
    /// `rate`
    PerSecond,
}

/// The difference between the last and the first histogram of a range, extrapolated to its edges.
pub(super) fn change(context: Context<'_>, window: &Window<'_>, change: Change) -> Option<Sample> {
    let histograms = window.histograms;
    let counter = change != Change::Gauge;
    let result = if window.edge == Edge::Inside {
        let [first, .., last] = histograms else { return None };
        let result = difference(context, histograms, counter)?;
        let zero = counter.then_some((first.1.count, result.count));
        let times = (first.0, last.0);
        result.times(extrapolation(window, times, histograms.len(), zero, change == Change::PerSecond))
    } else {
        let result = edges_of_histograms::difference(context, window, counter)?;
        if change == Change::PerSecond { result.divided_by(window.seconds) } else { result }
    };
    Some(Sample::Histogram(Arc::new(result.with_hint(ResetHint::Gauge))))
}

/// The difference between the last and the first of at least two histograms. For a counter, what was lost by resets is
/// added.
fn difference(context: Context<'_>, histograms: &[(i64, Arc<Histogram>)], counter: bool) -> Option<Histogram> {
    let Context { query, offset, metric } = context;
    let (first, last) = (&histograms.first()?.1, &histograms.last()?.1);
    let second = &histograms.get(1)?.1;
    let is_gauge = |histogram: &Arc<Histogram>| histogram.reset_hint == ResetHint::Gauge;
    if counter && histograms.iter().any(|sample| is_gauge(&sample.1)) {
        query.warn_not_counter(offset, metric);
    }
    // The layout of the first histogram does not matter if the counter was reset after it.
    let nothing = Arc::new(HistogramParts::<f64>::empty_like(second).histogram());
    let start = if counter && second.is_reset_after(first) { &nothing } else { first };
    let inner = &histograms[1..histograms.len() - 1];
    let custom = start.is_custom();
    if last.is_custom() != custom || (counter && inner.iter().any(|sample| sample.1.is_custom() != custom)) {
        query.warn_incompatible(offset, metric);
        return None;
    }
    let mut result = HistogramParts::<f64>::from(last.as_ref());
    if counter {
        // All samples are seen in the coarsest resolution.
        let schemas = inner.iter().map(|sample| sample.1.schema).chain([start.schema]);
        result.reduce(schemas.min().unwrap_or(last.schema));
    }
    let mut reconciled = (false, false);
    match result.subtract(start.as_ref().into()) {
        Ok(added) => reconciled.0 = added.bounds_reconciled,
        Err(_) => {
            query.warn_incompatible(offset, metric);
            return None;
        }
    }
    if counter {
        let mut previous = start;
        for (_, histogram) in &histograms[1..] {
            if histogram.is_reset_after(previous) {
                match result.add(previous.as_ref().into()) {
                    Ok(added) => reconciled.1 |= added.bounds_reconciled,
                    Err(_) => {
                        query.warn_incompatible(offset, metric);
                        return None;
                    }
                }
            }
            previous = histogram;
        }
    } else if !is_gauge(first) || !is_gauge(last) {
        query.warn_not_gauge(offset, metric);
    }
    if reconciled.0 {
        query.inform_reconciled(offset, Purpose::Subtraction);
    }
    if reconciled.1 {
        query.inform_reconciled(offset, Purpose::Addition);
    }
    Some(result.histogram())
}

/// `irate` and `idelta`: the difference between the last two samples.
pub(super) fn instant_change(context: Context<'_>, window: &Window<'_>, counter: bool) -> Option<Sample> {
    let Context { query, offset, metric } = context;
    let native = window.histograms.iter().map(|sample| (sample.0, Some(&sample.1)));
    let numbers = window.times.iter().map(|time| (*time, None));
    let mut newest: Vec<(i64, Option<&Arc<Histogram>>)> = native.rev().take(2).chain(numbers.rev().take(2)).collect();
    newest.sort_by_key(|sample| std::cmp::Reverse(sample.0));
    let [last, before, ..] = *newest else { return None };
    if last.0 == before.0 {
        return None;
    }
    let (last, before) = match (last, before) {
        ((last, Some(histogram)), (before, Some(other))) => ((last, histogram), (before, other)),
        ((_, None), (_, None)) => return if counter { irate(window) } else { idelta(window) }.map(Sample::Number),
        _ => {
            query.warn_mixed(offset, metric);
            return None;
        }
    };
    let seconds = (last.0 - before.0) as f64 / 1000.0;
    let gauges = [last.1, before.1].map(|histogram| histogram.reset_hint == ResetHint::Gauge);
    if counter && gauges.contains(&true) {
        query.warn_not_counter(offset, metric);
    }
    if !counter && gauges.contains(&false) {
        query.warn_not_gauge(offset, metric);
    }
    let mut result = last.1.as_ref().clone();
    if !counter || !last.1.is_reset_after(before.1) {
        match last.1.minus(before.1) {
            Ok((difference, added)) => {
                result = difference;
                if added.bounds_reconciled {
                    query.inform_reconciled(offset, Purpose::Subtraction);
                }
            }
            Err(_) => {
                query.warn_incompatible(offset, metric);
                return None;
            }
        }
    }
    let result = if counter { result.divided_by(seconds) } else { result };
    Some(Sample::Histogram(Arc::new(result.with_hint(ResetHint::Gauge))))
}
