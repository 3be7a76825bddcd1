//! Ranges whose edges are `anchored` or `smoothed`: the values at both edges are taken or interpolated from samples
//! outside.

use super::columns::GAP;

/// A sample: time and value.
type Point = (i64, f64);

/// The value between two samples. A counter that was reset begins at 0.
pub(super) fn interpolate((one, other): (Point, Point), time: i64, counter: bool) -> f64 {
    let from = if counter && other.1 < one.1 { 0.0 } else { one.1 };
    from + (other.1 - from) * (time - one.0) as f64 / (other.0 - one.0) as f64
}

/// The value at a time: interpolated between samples; after the last one its value.
pub(super) fn smoothed(times: &[i64], values: &[f64], time: i64) -> f64 {
    let next = times.partition_point(|other| *other < time);
    match (next.checked_sub(1), times.get(next)) {
        (_, Some(exact)) if *exact == time => values[next],
        (Some(before), Some(_)) => {
            interpolate(((times[before], values[before]), (times[next], values[next])), time, false)
        }
        (Some(before), None) => values[before],
        (None, _) => GAP,
    }
}

/// The first and the last sample that count for a range, and the values at its edges.
struct Edges {
    first: usize,
    last: usize,
    left: f64,
    right: f64,
}

fn edges(times: &[i64], values: &[f64], (begin, end): (i64, i64), smoothed: bool, counter: bool) -> Option<Edges> {
    let mut last = times.len().checked_sub(1)?;
    let first = times[..last].partition_point(|time| *time <= begin).saturating_sub(1);
    if smoothed {
        last = times[..last].partition_point(|time| *time < end);
    }
    if times[last] <= begin || (smoothed && times[first] > end) {
        return None;
    }
    let point = |index: usize| (times[index], values[index]);
    let left = if smoothed && times[first] < begin {
        interpolate((point(first), point(first + 1)), begin, counter)
    } else {
        values[first]
    };
    let right = if smoothed && last > 0 && times[last] > end {
        interpolate((point(last - 1), point(last)), end, counter)
    } else {
        values[last]
    };
    Some(Edges { first, last, left, right })
}

/// The samples of a range with one at each edge.
pub(super) fn extended(times: &[i64], values: &[f64], range: (i64, i64), smoothed: bool) -> Vec<Point> {
    let Some(edges) = edges(times, values, range, smoothed, false) else { return Vec::new() };
    let mut points = vec![(range.0, edges.left)];
    points.extend(inner(times, range, &edges).map(|index| (times[index], values[index])));
    points.push((range.1, edges.right));
    points
}

/// The samples strictly inside.
fn inner(times: &[i64], (begin, end): (i64, i64), edges: &Edges) -> std::ops::Range<usize> {
    let first = edges.first + usize::from(times[edges.first] <= begin);
    let after = edges.last + usize::from(times[edges.last] < end);
    first..after.max(first)
}

/// The difference between the edges of a range. For a counter, the increments lost by resets are added.
pub(super) fn difference(
    times: &[i64],
    values: &[f64],
    range: (i64, i64),
    smoothed: bool,
    counter: bool,
) -> Option<f64> {
    let edges = edges(times, values, range, smoothed, counter)?;
    let mut result = edges.right - edges.left;
    if counter {
        let mut previous = edges.left;
        for value in values[inner(times, range, &edges)].iter().copied().chain([edges.right]) {
            if value < previous {
                result += previous;
            }
            previous = value;
        }
    }
    Some(result)
}

/// The samples that count for an anchored range: the last one before it and all in it.
pub(super) fn anchored(times: &[i64], begin: i64) -> Option<usize> {
    let after = times.partition_point(|time| *time <= begin);
    (after < times.len()).then(|| after.saturating_sub(1))
}
