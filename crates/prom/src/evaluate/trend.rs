//! Regression and smoothing over a range.

use super::ranges::Window;
use super::sums::Sum;

/// Slope a second and value at a time, by least squares.
fn regression(times: &[i64], values: &[f64], at: i64) -> (f64, f64) {
    let first = values[0];
    if values.iter().all(|value| *value == first) {
        return if first.is_infinite() { (f64::NAN, f64::NAN) } else { (0.0, first) };
    }
    let (mut x_sum, mut y_sum, mut xy_sum, mut xx_sum) =
        (Sum::default(), Sum::default(), Sum::default(), Sum::default());
    for (time, y) in times.iter().zip(values) {
        let x = (time - at) as f64 / 1000.0;
        x_sum.add(x);
        y_sum.add(*y);
        xy_sum.add(x * y);
        xx_sum.add(x * x);
    }
    let count = times.len() as f64;
    let whole = |sum: Sum| sum.sum + sum.lost;
    let (x_sum, y_sum, xy_sum, xx_sum) = (whole(x_sum), whole(y_sum), whole(xy_sum), whole(xx_sum));
    let slope = (xy_sum - x_sum * y_sum / count) / (xx_sum - x_sum * x_sum / count);
    (slope, y_sum / count - slope * x_sum / count)
}

pub(super) fn deriv(window: &Window<'_>) -> Option<f64> {
    // A time near the samples keeps the digits.
    (window.values.len() > 1).then(|| regression(window.times, window.values, window.times[0]).0)
}

pub(super) fn predict_linear(window: &Window<'_>) -> Option<f64> {
    let ahead = *window.args.first()?;
    (window.values.len() > 1).then(|| {
        let (slope, value) = regression(window.times, window.values, window.time);
        slope * ahead + value
    })
}

/// Holt's linear method: a smoothed level and a smoothed trend.
pub(super) fn double_exponential_smoothing(window: &Window<'_>) -> Option<f64> {
    let [smoothing, trending] = *window.args else { return None };
    let [first, second, ..] = *window.values else { return None };
    let (mut before, mut level, mut trend) = (0.0, first, second - first);
    for (index, value) in window.values.iter().enumerate().skip(1) {
        if index > 1 {
            trend = trending * (level - before) + (1.0 - trending) * trend;
        }
        let next = smoothing * value + (1.0 - smoothing) * (level + trend);
        (before, level) = (level, next);
    }
    Some(level)
}
