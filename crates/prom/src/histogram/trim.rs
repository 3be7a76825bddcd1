//! Removing the observations above or below a value: the operators `</` and `>/`.

use super::bounds::Bucket;
use super::sample::{Buckets, Histogram};

/// The observations that are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trim {
    /// Keeps the observations below the value: `</`.
    Above,
    /// Keeps the observations above the value: `>/`.
    Below,
}

/// The part of a bucket that is kept: the number of its observations, and their average.
type BucketRest = (f64, f64);

impl Histogram {
    /// The histogram without the observations on one side of a value. Count and sum are estimated from the buckets if
    /// any bucket loses observations.
    pub(crate) fn trimmed(&self, value: f64, trim: Trim) -> Self {
        let mut totals = (0.0, 0.0);
        let mut changed = false;
        let mut account = |before: f64, (count, middle): BucketRest| {
            totals.0 += count;
            totals.1 += middle * count;
            changed |= before != count;
            count
        };
        let custom = self.is_custom();
        let mut side = |buckets: &Buckets, is_positive: bool| -> (Buckets, bool) {
            let mut populated = false;
            let kept: Vec<(i32, f64)> = buckets
                .indexed()
                .filter(|(_, count)| *count != 0.0)
                .map(|(index, count)| {
                    populated = true;
                    let of = if is_positive { Bucket::positive } else { Bucket::negative };
                    (index, account(count, left_of(&of(self, index, count), value, trim, is_positive, custom)))
                })
                .collect();
            (Buckets::from_indexed(kept.into_iter().filter(|(_, count)| *count != 0.0)), populated)
        };
        let (positive, has_positive) = side(&self.positive, true);
        let (negative, has_negative) = side(&self.negative, false);
        let mut zero_count = self.zero_count;
        if zero_count > 0.0 {
            let mut zero = Bucket::zero(self);
            match (has_negative, has_positive) {
                (true, false) => zero.upper = 0.0,
                (false, true) => zero.lower = 0.0,
                _ => {}
            }
            zero_count = account(zero_count, left_of_zero(&zero, value, trim));
        }
        if !changed {
            return self.clone();
        }
        Self { zero_count, count: totals.0, sum: totals.1, positive, negative, ..self.clone() }
    }
}

fn left_of(bucket: &Bucket, value: f64, trim: Trim, is_positive: bool, linear: bool) -> BucketRest {
    let Bucket { lower, upper, count, .. } = *bucket;
    let (whole, cut) = match trim {
        Trim::Above => (upper <= value, lower < value),
        Trim::Below => (lower >= value, upper > value),
    };
    if whole {
        return (count, middle(lower, upper, is_positive, linear));
    }
    if !cut {
        return (0.0, 0.0);
    }
    if lower == f64::NEG_INFINITY || upper == f64::INFINITY {
        return left_of_infinite(bucket, value, trim);
    }
    let below = count * bucket.share_below(value, linear);
    match trim {
        Trim::Above => (below, middle(lower, value, is_positive, linear)),
        Trim::Below => (count - below, middle(value, upper, is_positive, linear)),
    }
}

/// A bucket without a bound that the value cuts. Where its observations are is not known: they are kept or removed
/// together, unless the lowest bucket can be taken to begin at 0.
fn left_of_infinite(bucket: &Bucket, value: f64, trim: Trim) -> BucketRest {
    let Bucket { lower, upper, count, .. } = *bucket;
    if lower == f64::NEG_INFINITY {
        let ends = upper > 0.0 && upper != f64::INFINITY;
        return match trim {
            Trim::Above if value > 0.0 && ends => (count * value / upper, value / 2.0),
            Trim::Above if upper <= 0.0 => (count, value),
            Trim::Below if value >= 0.0 && ends => (count * (1.0 - value / upper), f64::midpoint(value, upper)),
            Trim::Below if value == lower => (count, 0.0),
            _ => (0.0, 0.0),
        };
    }
    match trim {
        Trim::Below if value >= lower => (count, value),
        _ => (0.0, 0.0),
    }
}

fn left_of_zero(bucket: &Bucket, value: f64, trim: Trim) -> BucketRest {
    let Bucket { lower, upper, count, .. } = *bucket;
    let all = (count, f64::midpoint(lower, upper));
    match trim {
        Trim::Above if value <= lower => (0.0, 0.0),
        Trim::Above if value >= upper => all,
        Trim::Above => (count * ((value - lower) / (upper - lower)), f64::midpoint(lower, value)),
        Trim::Below if value <= lower => all,
        Trim::Below if value >= upper => (0.0, 0.0),
        Trim::Below => (count * ((upper - value) / (upper - lower)), f64::midpoint(value, upper)),
    }
}

/// The middle of an interval: the geometric mean where boundaries grow exponentially.
fn middle(lower: f64, upper: f64, is_positive: bool, linear: bool) -> f64 {
    match (lower.is_infinite(), upper.is_infinite()) {
        (true, true) => 0.0,
        (true, false) => {
            if upper > 0.0 {
                upper / 2.0
            } else {
                upper
            }
        }
        (false, true) => lower,
        (false, false) if linear => f64::midpoint(lower, upper),
        (false, false) => {
            let mean = (lower * upper).abs().sqrt();
            if is_positive { mean } else { -mean }
        }
    }
}
