//! Estimates of what was observed: quantiles, fractions, the variance.

use super::bounds::Bucket;
use super::parts::Count;
use super::sample::Histogram;

/// The remark on an estimate some of whose observations are NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NanObservations {
    /// The quantile is among them, so that the result is NaN.
    AreResult,
    /// The quantile is too high, because they count as the highest.
    SkewResult,
    /// The fraction leaves them out.
    AreExcluded,
}

impl Histogram {
    /// The mean of the observations.
    pub(crate) fn average(&self) -> f64 {
        self.sum / self.count
    }

    /// The mean square distance of the observations from their mean, if each is in the middle of its bucket.
    pub(crate) fn variance<C: Count>(&self) -> f64 {
        let mean = self.average();
        let mut total = C::default();
        for bucket in self.buckets().into_iter().filter(|bucket| bucket.count != 0.0) {
            let middle = if self.is_custom() {
                f64::midpoint(bucket.upper, bucket.lower)
            } else if bucket.touches_zero() {
                0.0
            } else {
                let root = (bucket.upper * bucket.lower).sqrt();
                if bucket.upper < 0.0 { -root } else { root }
            };
            let distance = middle - mean;
            total.add(C::of(bucket.count * distance * distance));
        }
        total.value() / self.count
    }

    /// The bounds of the zero bucket end at 0 on a side where there are no observations.
    fn narrowed(&self, mut bucket: Bucket) -> Bucket {
        match (self.negative.counts.is_empty(), self.positive.counts.is_empty()) {
            (true, false) => bucket.lower = 0.0,
            (false, true) => bucket.upper = 0.0,
            _ => {}
        }
        bucket
    }

    /// The value below which a share of the observations is.
    pub(crate) fn quantile(&self, q: f64) -> (f64, Option<NanObservations>) {
        if q < 0.0 {
            return (f64::NEG_INFINITY, None);
        }
        if q > 1.0 {
            return (f64::INFINITY, None);
        }
        if self.count == 0.0 || q.is_nan() {
            return (f64::NAN, None);
        }
        // Counted from the nearer end. Observations that are not numbers are missing at the upper one.
        let forward = self.sum.is_nan() || q < 0.5;
        let mut rank = if forward { q * self.count } else { (1.0 - q) * self.count };
        let mut buckets = self.buckets();
        if !forward {
            buckets.reverse();
        }
        let none = Bucket { lower: 0.0, upper: 0.0, lower_inclusive: false, upper_inclusive: false, count: 0.0 };
        let (mut bucket, mut count) = (none, 0.0);
        let mut rest = buckets.iter();
        for next in rest.by_ref() {
            bucket = *next;
            count += bucket.count;
            if bucket.count != 0.0 && count >= rank {
                break;
            }
        }
        if self.is_custom() {
            if bucket.lower == f64::NEG_INFINITY {
                if bucket.upper <= 0.0 {
                    return (bucket.upper, None);
                }
                bucket.lower = 0.0;
            } else if bucket.upper == f64::INFINITY {
                return (bucket.lower, None);
            }
        } else if bucket.lower < 0.0 && bucket.upper > 0.0 {
            bucket = self.narrowed(bucket);
        }
        // Rounding may yield more observations than all.
        if count > self.count {
            count = self.count;
        }
        if count < rank {
            if self.sum.is_nan() {
                return (f64::NAN, Some(NanObservations::AreResult));
            }
            return (bucket.upper, None);
        }
        rank = if forward { rank - (count - bucket.count) } else { count - rank };
        // The sum is also not a number if both infinities were observed.
        let all = count + rest.map(|bucket| bucket.count).sum::<f64>();
        let remark = (self.sum.is_nan() && all < self.count).then_some(NanObservations::SkewResult);
        let share = rank / bucket.count;
        if self.is_custom() || bucket.touches_zero() {
            return (bucket.lower + (bucket.upper - bucket.lower) * share, remark);
        }
        let (lower, upper) = (bucket.lower.abs().log2(), bucket.upper.abs().log2());
        if bucket.lower > 0.0 {
            return ((lower + (upper - lower) * share).exp2(), remark);
        }
        (-(upper + (lower - upper) * (1.0 - share)).exp2(), remark)
    }

    /// The share of observations between two values.
    pub(crate) fn fraction(&self, lower: f64, upper: f64) -> (f64, Option<NanObservations>) {
        if self.count == 0.0 || lower.is_nan() || upper.is_nan() {
            return (f64::NAN, None);
        }
        if lower >= upper {
            return (0.0, None);
        }
        let buckets = self.buckets();
        let (lower, upper) = (self.rank(&buckets, lower), self.rank(&buckets, upper));
        let (mut count, mut remark) = (self.count, None);
        if self.sum.is_nan() {
            count = buckets.iter().map(|bucket| bucket.count).sum();
            remark = (count < self.count).then_some(NanObservations::AreExcluded);
        }
        let capped = |rank: Option<f64>| rank.filter(|rank| *rank <= count).unwrap_or(count);
        ((capped(upper) - capped(lower)) / self.count, remark)
    }

    /// The number of observations below a value; `None` if it is above all buckets.
    fn rank(&self, buckets: &[Bucket], value: f64) -> Option<f64> {
        let mut rank = 0.0;
        for bucket in buckets {
            let touches_zero = bucket.touches_zero();
            let bucket = if touches_zero { self.narrowed(*bucket) } else { *bucket };
            if bucket.lower >= value {
                return Some(rank);
            }
            if bucket.upper > value {
                if (self.is_custom() || touches_zero) && bucket.lower == f64::NEG_INFINITY {
                    return Some(bucket.count);
                }
                return Some(rank + bucket.count * bucket.share_below(value, self.is_custom() || touches_zero));
            }
            rank += bucket.count;
        }
        None
    }
}
