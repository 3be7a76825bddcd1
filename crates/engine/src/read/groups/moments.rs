//! Means, and sums of squared and of multiplied deviations from them, for variances and correlations.
//!
//! Sums of squares would lose the digits that values have in common. So single rows are added by Welford's method, and
//! parts are merged by Chan's. With both, equal values have deviations of exactly zero.

use super::bits::nulls;
use super::runs::Spans;
use arrow::array::{Array, ArrayRef, AsArray, Float64Array};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use std::ops::Range;

/// The moments of a group of pairs of numbers (x, y). Without a second number, y is zero.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Moments {
    /// The mean of x.
    pub mean_x: f64,
    /// The mean of y.
    pub mean_y: f64,
    /// The sum of squared deviations of x from its mean.
    pub sum_xx: f64,
    /// The sum of squared deviations of y from its mean.
    pub sum_yy: f64,
    /// The sum of the products of both deviations.
    pub sum_xy: f64,
}

impl Moments {
    /// Adds a pair, which is the pair number `count`, counted from one.
    pub fn push(&mut self, count: u64, x: f64, y: f64) {
        let count = count as f64;
        let (dx, dy) = (x - self.mean_x, y - self.mean_y);
        self.mean_x += dx / count;
        self.mean_y += dy / count;
        let rest_y = y - self.mean_y;
        self.sum_xx += dx * (x - self.mean_x);
        self.sum_yy += dy * rest_y;
        self.sum_xy += dx * rest_y;
    }

    /// The moments of at least one pair.
    fn of(xs: &[f64], ys: Option<&[f64]>) -> Self {
        let mean_x = mean(xs);
        let mut moments = Self { mean_x, ..Self::default() };
        let Some(ys) = ys else {
            moments.sum_xx = xs.iter().map(|x| (x - mean_x) * (x - mean_x)).sum();
            return moments;
        };
        moments.mean_y = mean(ys);
        for (x, y) in xs.iter().zip(ys) {
            let (dx, dy) = (x - moments.mean_x, y - moments.mean_y);
            moments.sum_xx += dx * dx;
            moments.sum_yy += dy * dy;
            moments.sum_xy += dx * dy;
        }
        moments
    }

    /// Merges the moments of `count` pairs with those of at least one other pair.
    pub fn merge(&mut self, count: u64, part: &Self, part_count: u64) {
        if count == 0 {
            *self = *part;
            return;
        }
        let (count, part_count) = (count as f64, part_count as f64);
        let all = count + part_count;
        let (dx, dy) = (part.mean_x - self.mean_x, part.mean_y - self.mean_y);
        let weight = count * part_count / all;
        self.mean_x += dx * part_count / all;
        self.mean_y += dy * part_count / all;
        self.sum_xx += part.sum_xx + dx * dx * weight;
        self.sum_yy += part.sum_yy + dy * dy * weight;
        self.sum_xy += part.sum_xy + dx * dy * weight;
    }
}

/// The mean of at least one number. Relative to the first, so that the mean of equal numbers is exactly that number.
fn mean(values: &[f64]) -> f64 {
    let first = values[0];
    first + values.iter().map(|value| value - first).sum::<f64>() / values.len() as f64
}

/// Returns whether moments can be computed of values of a type.
pub(super) fn has_moments(data_type: &DataType) -> bool {
    data_type.is_integer() || matches!(data_type, DataType::Float32 | DataType::Float64)
}

/// The numbers of a column for which [`has_moments`] holds.
pub(super) fn numbers(column: &ArrayRef) -> Float64Array {
    match column.data_type() {
        DataType::Float64 => column.as_primitive::<Float64Type>().clone(),
        _ => cast(column, &DataType::Float64).expect("every integer is cast to a float").as_primitive().clone(),
    }
}

/// Adds the pairs of spans to their groups. A pair with a NULL does not count.
pub(super) fn add_pairs(
    x: &ArrayRef,
    y: Option<&ArrayRef>,
    spans: Spans<'_>,
    groups: &[u32],
    moments: &mut [Moments],
    counts: &mut [u64],
) {
    let nulls = NullBuffer::union(nulls(x), y.and_then(nulls));
    let (x, y) = (numbers(x), y.map(numbers));
    let (xs, ys) = (x.values().as_ref(), y.as_ref().map(|y| y.values().as_ref()));
    match spans {
        Spans::Rows => {
            let mut add = |row: usize| {
                let at = groups[row] as usize;
                counts[at] += 1;
                moments[at].push(counts[at], xs[row], ys.map_or(0.0, |ys: &[f64]| ys[row]));
            };
            match &nulls {
                None => (0..groups.len()).for_each(add),
                Some(nulls) => nulls.valid_indices().for_each(&mut add),
            }
        }
        Spans::Runs(runs) => {
            let mut add = |group: u32, rows: Range<usize>| {
                let (at, count) = (group as usize, rows.len() as u64);
                let part = Moments::of(&xs[rows.clone()], ys.map(|ys: &[f64]| &ys[rows]));
                moments[at].merge(counts[at], &part, count);
                counts[at] += count;
            };
            for (rows, group) in runs.ranges().zip(groups) {
                match &nulls {
                    None => add(*group, rows),
                    Some(nulls) => {
                        for (start, end) in nulls.slice(rows.start, rows.len()).valid_slices() {
                            add(*group, rows.start + start..rows.start + end);
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pushed(pairs: &[(f64, f64)]) -> Moments {
        let mut moments = Moments::default();
        for (at, (x, y)) in pairs.iter().enumerate() {
            moments.push(at as u64 + 1, *x, *y);
        }
        moments
    }

    fn of(pairs: &[(f64, f64)]) -> Moments {
        let (xs, ys): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        Moments::of(&xs, Some(&ys))
    }

    fn is_close(a: f64, b: f64, scale: f64) -> bool {
        (a - b).abs() <= 1e-9 * scale.max(1e-300)
    }

    #[test]
    fn digits_that_values_have_in_common_cost_no_precision() {
        let pairs: Vec<(f64, f64)> = [4.0, 7.0, 13.0, 16.0].map(|x| (1e9 + x, 1e9 - x)).to_vec();
        for moments in [of(&pairs), pushed(&pairs)] {
            assert_eq!((moments.sum_xx, moments.sum_yy, moments.sum_xy), (90.0, 90.0, -90.0));
        }
    }

    #[test]
    fn equal_values_do_not_deviate() {
        let pairs = [(0.1, 1e300); 7];
        let mut merged = of(&pairs[..3]);
        merged.merge(3, &pushed(&pairs[3..]), 4);
        for moments in [of(&pairs), pushed(&pairs), merged] {
            assert_eq!(moments, Moments { mean_x: 0.1, mean_y: 1e300, ..Moments::default() });
        }
    }

    proptest! {
        #[test]
        fn parts_have_the_moments_of_the_whole(
            pairs in proptest::collection::vec((-1e6..1e6_f64, -1e3..1e3_f64), 2..200),
            cut in any::<prop::sample::Index>(),
        ) {
            let cut = cut.index(pairs.len() - 1) + 1;
            let (whole, count) = (of(&pairs), pairs.len() as f64);
            let mut merged = of(&pairs[..cut]);
            merged.merge(cut as u64, &of(&pairs[cut..]), (pairs.len() - cut) as u64);
            for moments in [merged, pushed(&pairs)] {
                prop_assert!(is_close(moments.mean_x, whole.mean_x, 1e6));
                prop_assert!(is_close(moments.mean_y, whole.mean_y, 1e3));
                prop_assert!(is_close(moments.sum_xx, whole.sum_xx, 1e12 * count));
                prop_assert!(is_close(moments.sum_yy, whole.sum_yy, 1e6 * count));
                prop_assert!(is_close(moments.sum_xy, whole.sum_xy, 1e9 * count));
            }
        }
    }
}
