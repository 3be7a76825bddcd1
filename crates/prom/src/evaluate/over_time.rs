//! The functions `*_over_time`.

use super::ranges::Window;
use super::sums::{Mean, Sum, quantile};

pub(super) fn avg(window: &Window<'_>) -> Option<f64> {
    let (first, rest) = window.values.split_first()?;
    let mut mean = Mean::of(*first);
    rest.iter().for_each(|value| mean.add(*value));
    Some(mean.value())
}

pub(super) fn sum(window: &Window<'_>) -> Option<f64> {
    let mut sum = Sum::default();
    window.values.iter().for_each(|value| sum.add(*value));
    Some(sum.total())
}

pub(super) fn count(window: &Window<'_>) -> Option<f64> {
    Some(window.values.len() as f64)
}

pub(super) fn present(_: &Window<'_>) -> Option<f64> {
    Some(1.0)
}

pub(super) fn first(window: &Window<'_>) -> Option<f64> {
    window.values.first().copied()
}

pub(super) fn last(window: &Window<'_>) -> Option<f64> {
    window.values.last().copied()
}

pub(super) fn time_of_first(window: &Window<'_>) -> Option<f64> {
    window.times.first().map(|time| *time as f64 / 1000.0)
}

pub(super) fn time_of_last(window: &Window<'_>) -> Option<f64> {
    window.times.last().map(|time| *time as f64 / 1000.0)
}

/// The position of the best value. Every value is better than a NaN.
fn best(window: &Window<'_>, beats: impl Fn(f64, f64) -> bool) -> Option<usize> {
    let mut best = 0;
    for (index, value) in window.values.iter().enumerate() {
        if beats(*value, window.values[best]) || window.values[best].is_nan() {
            best = index;
        }
    }
    (!window.values.is_empty()).then_some(best)
}

pub(super) fn max(window: &Window<'_>) -> Option<f64> {
    best(window, |value, best| value > best).map(|index| window.values[index])
}

pub(super) fn min(window: &Window<'_>) -> Option<f64> {
    best(window, |value, best| value < best).map(|index| window.values[index])
}

pub(super) fn time_of_max(window: &Window<'_>) -> Option<f64> {
    best(window, |value, best| value >= best).map(|index| window.times[index] as f64 / 1000.0)
}

pub(super) fn time_of_min(window: &Window<'_>) -> Option<f64> {
    best(window, |value, best| value <= best).map(|index| window.times[index] as f64 / 1000.0)
}

pub(super) fn stdvar(window: &Window<'_>) -> Option<f64> {
    let (mut mean, mut squares, mut count) = (Sum::default(), Sum::default(), 0.0);
    for value in window.values {
        count += 1.0;
        let difference = value - (mean.sum + mean.lost);
        mean.add(difference / count);
        squares.add(difference * (value - (mean.sum + mean.lost)));
    }
    Some((squares.sum + squares.lost) / count)
}

pub(super) fn stddev(window: &Window<'_>) -> Option<f64> {
    stdvar(window).map(f64::sqrt)
}

/// The median distance from the median.
pub(super) fn mad(window: &Window<'_>) -> Option<f64> {
    let mut values = window.values.to_vec();
    if values.iter().any(|value| value.is_nan()) {
        return Some(f64::NAN);
    }
    let median = quantile(0.5, &mut values);
    values.iter_mut().for_each(|value| *value = (*value - median).abs());
    Some(quantile(0.5, &mut values))
}

pub(super) fn quantile_of(window: &Window<'_>) -> Option<f64> {
    Some(quantile(*window.args.first()?, &mut window.values.to_vec()))
}
