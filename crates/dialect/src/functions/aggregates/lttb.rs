//! Downsampling for a chart: keeps the points that a viewer would miss. Sveinn Steinarsson, "Downsampling Time Series
//! for Visual Representation" (2013), the algorithm "largest triangle three buckets".

use super::points::{Number, Point};

/// Chooses from points in the order of time at most `count` that draw nearly the same line, including the first and the
/// last. `count` is at least 2.
pub(crate) fn largest_triangles(points: &[Point], number: Number, count: usize) -> Vec<Point> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Vec::new() };
    if points.len() <= count {
        return points.to_vec();
    }
    let at = |index: usize| {
        let point = points[index];
        ((i128::from(point.time) - i128::from(first.time)) as f64, number.float(point.bits))
    };
    // All but the first and the last, in `count - 2` parts of equal size.
    let inner = points.len() - 2;
    let part = |index: usize| 1 + (inner as u128 * index as u128 / (count as u128 - 2)) as usize;
    let mut chosen = vec![*first];
    let mut before = 0;
    for index in 0..count - 2 {
        let next = if index + 3 == count { points.len() - 1..points.len() } else { part(index + 1)..part(index + 2) };
        let length = next.len() as f64;
        let (time, value) = next.map(at).fold((0.0, 0.0), |sum, point| (sum.0 + point.0, sum.1 + point.1));
        let (next_time, next_value) = (time / length, value / length);
        let (time_before, value_before) = at(before);
        // The first of several equal triangles wins. A triangle with a NaN counts as the smallest.
        let (mut largest, mut largest_area) = (part(index), -1.0);
        for index in part(index)..part(index + 1) {
            let (time, value) = at(index);
            let area =
                (time_before - next_time) * (value - value_before) - (time_before - time) * (next_value - value_before);
            if area.abs() > largest_area {
                (largest, largest_area) = (index, area.abs());
            }
        }
        chosen.push(points[largest]);
        before = largest;
    }
    chosen.push(*last);
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: impl IntoIterator<Item = f64>) -> Vec<Point> {
        values.into_iter().enumerate().map(|(time, value)| Point { time: time as i64, bits: value.to_bits() }).collect()
    }

    fn times(values: impl IntoIterator<Item = f64>, count: usize) -> Vec<i64> {
        largest_triangles(&points(values), Number::Float, count).iter().map(|point| point.time).collect()
    }

    #[test]
    fn a_peak_is_kept() {
        let line = (0..1_000).map(|time| if time == 617 { 50.0 } else { (f64::from(time) / 40.0).sin() });
        let kept = times(line, 40);
        assert_eq!((kept.len(), kept[0], kept[39]), (40, 0, 999));
        assert!(kept.contains(&617), "{kept:?}");
        assert!(kept.is_sorted_by(|a, b| a < b), "{kept:?}");
    }

    #[test]
    fn the_triangles_of_a_small_line() {
        // Parts 1..=2, 3..=4: against the mean (3.5, 2.5) of the second part, point 1 spans the larger triangle.
        assert_eq!(times([0.0, 4.0, 0.0, 0.0, 5.0, 0.0], 4), [0, 1, 4, 5]);
    }

    #[test]
    fn few_points_stay_and_two_are_the_ends() {
        assert_eq!(times([1.0, 2.0, 3.0], 3), [0, 1, 2]);
        assert_eq!(times([1.0, 2.0, 3.0], 2), [0, 2]);
        assert_eq!(times([], 2), Vec::<i64>::new());
        assert_eq!(times([f64::NAN; 9], 4), [0, 1, 4, 8]);
    }
}
