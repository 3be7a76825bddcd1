//! The boundaries of buckets.

use super::sample::{Buckets, CUSTOM_SCHEMA, Histogram, Span};

/// Two to the power of a whole number, also where that is subnormal.
fn power_of_two(exponent: i64) -> f64 {
    match exponent {
        1024.. => f64::INFINITY,
        -1022..1024 => f64::from_bits(u64::try_from(exponent + 1023).unwrap_or_default() << 52),
        -1074..-1022 => f64::from_bits(1 << (exponent + 1074)),
        _ => 0.0,
    }
}

/// The upper bound of a bucket of an exponential schema. The bucket that ends at the first power of two beyond the
/// largest number ends at the largest number instead, because the one after it holds infinite observations.
fn exponential(index: i32, schema: i8) -> f64 {
    let schema = schema.clamp(-4, 8);
    let index = i64::from(index);
    let (exponent, fraction) =
        if schema < 0 { (index << -schema, 0) } else { (index >> schema, index & ((1 << schema) - 1)) };
    if fraction == 0 {
        return if exponent == 1024 { f64::MAX } else { power_of_two(exponent) };
    }
    // The fraction is the same number for each schema that has this bound.
    let fraction = (fraction as f64 / power_of_two(i64::from(schema))).exp2();
    if exponent >= 1024 { f64::INFINITY } else { fraction * power_of_two(exponent) }
}

/// The upper bound of a bucket; the lower one of the bucket after it.
pub(super) fn bound(index: i32, schema: i8, custom: &[f64]) -> f64 {
    if schema != CUSTOM_SCHEMA {
        return exponential(index, schema);
    }
    match usize::try_from(index) {
        Ok(index) => custom.get(index).copied().unwrap_or(f64::INFINITY),
        Err(_) => f64::NEG_INFINITY,
    }
}

/// A bucket with its boundaries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bucket {
    /// The lower bound.
    pub lower: f64,
    /// The upper bound.
    pub upper: f64,
    /// Whether the lower bound is inside.
    pub lower_inclusive: bool,
    /// Whether the upper bound is inside.
    pub upper_inclusive: bool,
    /// The number of observations.
    pub count: f64,
}

impl Bucket {
    pub(super) fn positive(histogram: &Histogram, index: i32, count: f64) -> Self {
        let custom = histogram.is_custom();
        let upper = bound(index, histogram.schema, &histogram.custom_bounds);
        let lower = bound(index.saturating_sub(1), histogram.schema, &histogram.custom_bounds);
        let lower_inclusive = if custom { index == 0 } else { lower < 0.0 };
        Self { lower, upper, lower_inclusive, upper_inclusive: custom || upper > 0.0, count }
    }

    pub(super) fn negative(histogram: &Histogram, index: i32, count: f64) -> Self {
        let mirrored = Self::positive(histogram, index, count);
        let (lower, upper) = (-mirrored.upper, -mirrored.lower);
        Self { lower, upper, lower_inclusive: lower < 0.0, upper_inclusive: upper > 0.0, count }
    }

    pub(super) fn zero(histogram: &Histogram) -> Self {
        let (lower, upper) = (-histogram.zero_threshold, histogram.zero_threshold);
        Self { lower, upper, lower_inclusive: true, upper_inclusive: true, count: histogram.zero_count }
    }

    /// The share of the bucket below a value inside its finite bounds: by the distance of the numbers, or, if the
    /// bounds grow exponentially, of their logarithms.
    pub(super) fn share_below(&self, value: f64, linear: bool) -> f64 {
        if linear {
            return (value - self.lower) / (self.upper - self.lower);
        }
        let (lower, upper, value_log) = (self.lower.abs().log2(), self.upper.abs().log2(), value.abs().log2());
        if value > 0.0 { (value_log - lower) / (upper - lower) } else { 1.0 - (value_log - upper) / (lower - upper) }
    }

    /// Returns whether zero is inside or at a bound.
    pub(super) fn touches_zero(&self) -> bool {
        self.lower <= 0.0 && self.upper >= 0.0
    }
}

impl Histogram {
    /// Returns whether the boundaries are custom.
    pub fn is_custom(&self) -> bool {
        self.schema == CUSTOM_SCHEMA
    }

    /// All buckets that the histogram has, from the lowest, also empty ones. Buckets that overlap the zero bucket end
    /// where it begins.
    pub fn buckets(&self) -> Vec<Bucket> {
        let threshold = self.zero_threshold;
        let negative: Vec<(i32, f64)> = self.negative.indexed().collect();
        let mut buckets: Vec<Bucket> = Vec::with_capacity(negative.len() + 1 + self.positive.counts.len());
        for (index, count) in negative.into_iter().rev() {
            let mut bucket = Bucket::negative(self, index, count);
            if bucket.upper < 0.0 && bucket.upper > -threshold {
                bucket.upper = -threshold;
            }
            buckets.push(bucket);
        }
        if self.zero_count > 0.0 {
            buckets.push(Bucket::zero(self));
        }
        for (index, count) in self.positive.indexed() {
            let mut bucket = Bucket::positive(self, index, count);
            if bucket.lower > 0.0 && bucket.lower < threshold {
                bucket.lower = threshold;
            }
            buckets.push(bucket);
        }
        buckets
    }
}

impl Buckets {
    /// The index and the count of each bucket. Spans without counts are left out.
    pub fn indexed(&self) -> impl Iterator<Item = (i32, f64)> {
        let mut end = 0_i64;
        let mut counts = self.counts.iter();
        self.spans.iter().flat_map(move |span| {
            let begin = end.saturating_add(i64::from(span.offset));
            end = begin.saturating_add(i64::from(span.length));
            let length = usize::try_from(span.length).unwrap_or(usize::MAX);
            let found: Vec<f64> = counts.by_ref().take(length).copied().collect();
            (begin..).zip(found).filter_map(|(index, count)| Some((i32::try_from(index).ok()?, count)))
        })
    }

    /// Buckets from indices, ascending, and counts. Consecutive ones become a span.
    pub fn from_indexed(buckets: impl IntoIterator<Item = (i32, f64)>) -> Self {
        let mut made = Self::default();
        let mut end = 0_i32;
        for (index, count) in buckets {
            match made.spans.last_mut() {
                Some(span) if index == end => span.length += 1,
                _ => made.spans.push(Span { offset: index.saturating_sub(end), length: 1 }),
            }
            made.counts.push(count);
            end = index.saturating_add(1);
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_coarse_schemas_are_bounds_of_fine_ones() {
        for schema in -4..8_i8 {
            for index in [-700, -17, -1, 0, 1, 2, 3, 64, 255, 1000] {
                assert_eq!(exponential(index, schema).to_bits(), exponential(index * 2, schema + 1).to_bits());
            }
        }
        assert_eq!((exponential(0, 0), exponential(-1, -1), exponential(1, -4)), (1.0, 0.25, 65536.0));
        assert_eq!((exponential(1024, 0), exponential(1025, 0)), (f64::MAX, f64::INFINITY));
        assert_eq!((exponential(i32::MAX, 8), exponential(i32::MIN, 8)), (f64::INFINITY, 0.0));
        assert_eq!((exponential(i32::MAX, -128), exponential(-1074, 0)), (f64::INFINITY, f64::from_bits(1)));
    }

    #[test]
    fn spans_that_do_not_fit_the_counts_are_read_as_far_as_they_do() {
        let span = |offset, length| Span { offset, length };
        let buckets = Buckets {
            spans: vec![span(-2, 2), span(i32::MAX, u32::MAX), span(i32::MAX, 1)],
            counts: vec![1.0, 2.0, 3.0],
        };
        assert_eq!(buckets.indexed().collect::<Vec<_>>(), [(-2, 1.0), (-1, 2.0), (i32::MAX, 3.0)]);
        let made = Buckets::from_indexed([(-1, 1.0), (0, 2.0), (5, 3.0)]);
        assert_eq!(made.spans, [span(-1, 2), span(4, 1)]);
        assert_eq!(made.indexed().collect::<Vec<_>>(), [(-1, 1.0), (0, 2.0), (5, 3.0)]);
    }
}
