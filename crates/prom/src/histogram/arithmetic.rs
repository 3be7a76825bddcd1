//! Operations on one or two histograms.

use super::parts::{AdditionRemarks, HistogramParts, Incompatible};
use super::sample::{Buckets, Histogram, ResetHint};

impl Histogram {
    /// The sum of two histograms.
    pub fn plus(&self, other: &Self) -> Result<(Self, AdditionRemarks), Incompatible> {
        let mut sum = HistogramParts::<f64>::from(self);
        let added = sum.add(other.into())?;
        Ok((sum.histogram(), added))
    }

    /// The difference of two histograms. It has the hint of a sum.
    pub fn minus(&self, other: &Self) -> Result<(Self, AdditionRemarks), Incompatible> {
        let mut difference = HistogramParts::<f64>::from(self);
        let added = difference.subtract(other.into())?;
        Ok((difference.histogram(), added))
    }

    /// All counts and the sum, multiplied.
    pub(crate) fn times(&self, factor: f64) -> Self {
        let mut product = HistogramParts::<f64>::from(self);
        product.map(|value| value * factor);
        let mut product = product.histogram();
        if factor < 0.0 {
            product.reset_hint = ResetHint::Gauge;
        }
        product
    }

    /// All counts and the sum, divided. No bucket is left after a division by zero.
    pub(crate) fn divided_by(&self, divisor: f64) -> Self {
        let mut quotient = HistogramParts::<f64>::from(self);
        quotient.map(|value| value / divisor);
        let mut quotient = quotient.histogram();
        if divisor == 0.0 {
            (quotient.positive, quotient.negative) = (Buckets::default(), Buckets::default());
        } else if divisor < 0.0 {
            quotient.reset_hint = ResetHint::Gauge;
        }
        quotient
    }

    /// The same histogram with another hint.
    pub(crate) fn with_hint(self, reset_hint: ResetHint) -> Self {
        Self { reset_hint, ..self }
    }

    /// Returns whether both hold the same numbers, bit for bit. Empty buckets and hints do not matter.
    pub(crate) fn same_as(&self, other: &Self) -> bool {
        let bits = |histogram: &Self| {
            let Self { zero_count, count, sum, .. } = histogram;
            [zero_count, count, sum].map(|value| value.to_bits())
        };
        let side = |buckets: &Buckets| -> Vec<(i32, u64)> {
            let counts = buckets.indexed().filter(|(_, count)| *count != 0.0);
            counts.map(|(index, count)| (index, count.to_bits())).collect()
        };
        self.schema == other.schema
            && self.zero_threshold == other.zero_threshold
            && bits(self) == bits(other)
            && (!self.is_custom() || self.custom_bounds == other.custom_bounds)
            && side(&self.positive) == side(&other.positive)
            && side(&self.negative) == side(&other.negative)
    }

    /// Returns whether a counter was reset between a sample and this one: the hint says so, a number fell, or the
    /// layout became finer, which happens only after a reset.
    pub fn is_reset_after(&self, previous: &Self) -> bool {
        match self.reset_hint {
            ResetHint::Reset => return true,
            ResetHint::NoReset => return false,
            ResetHint::Unknown | ResetHint::Gauge => {}
        }
        if self.count < previous.count {
            return true;
        }
        let (mut now, mut before) = (HistogramParts::<f64>::from(self), HistogramParts::<f64>::from(previous));
        if self.is_custom() {
            if !previous.is_custom() {
                return true;
            }
            if self.custom_bounds != previous.custom_bounds {
                let common = super::parts::common_bounds(&self.custom_bounds, &previous.custom_bounds);
                now.move_to_bounds(&common);
                before.move_to_bounds(&common);
            }
            return fell(&now.positive, &before.positive);
        }
        if self.schema > previous.schema || self.zero_threshold < previous.zero_threshold {
            return true;
        }
        if previous.zero_threshold < self.zero_threshold {
            before.widen_zero_bucket(self.zero_threshold);
            if before.zero_threshold != self.zero_threshold {
                // The zero bucket ends inside a bucket that was populated.
                return true;
            }
        }
        if now.zero_count < before.zero_count {
            return true;
        }
        before.reduce(self.schema);
        fell(&now.positive, &before.positive) || fell(&now.negative, &before.negative)
    }
}

/// Returns whether a bucket holds less than before. Both lists are ascending.
fn fell(now: &[(i32, f64)], before: &[(i32, f64)]) -> bool {
    let mut rest = now;
    before.iter().any(|(index, count)| {
        rest = &rest[rest.partition_point(|bucket| bucket.0 < *index)..];
        match rest.first() {
            Some(bucket) if bucket.0 == *index => bucket.1 < *count,
            _ => *count != 0.0,
        }
    })
}
