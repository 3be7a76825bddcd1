//! Adding histograms.
//!
//! Both are brought to one layout first: the lower of both schemas, a zero bucket that contains both zero buckets and
//! cuts no populated bucket, or the boundaries that both sets of custom boundaries have.

use super::bounds::bound;
use super::sample::{Buckets, CUSTOM_SCHEMA, Histogram, ResetHint};

/// A number of observations: a plain number, or a sum that also keeps its rounding error.
pub(crate) trait Count: Copy + Default {
    /// A plain number.
    fn of(value: f64) -> Self;
    /// Adds another.
    fn add(&mut self, other: Self);
    /// Applies a multiplication or a division.
    fn map(&mut self, function: impl Fn(f64) -> f64);
    /// The number.
    fn value(self) -> f64;
}

impl Count for f64 {
    fn of(value: f64) -> Self {
        value
    }

    fn add(&mut self, other: Self) {
        *self += other;
    }

    fn map(&mut self, function: impl Fn(f64) -> f64) {
        *self = function(*self);
    }

    fn value(self) -> f64 {
        self
    }
}

/// A histogram whose buckets are by index, so that it can be calculated with.
#[derive(Debug, Clone)]
pub(crate) struct HistogramParts<C> {
    pub(super) schema: i8,
    pub(super) zero_threshold: f64,
    pub(super) zero_count: C,
    pub(super) count: C,
    pub(super) sum: C,
    pub(super) positive: Vec<(i32, C)>,
    pub(super) negative: Vec<(i32, C)>,
    pub(super) bounds: Vec<f64>,
    hint: ResetHint,
}

/// One of two histograms has custom boundaries, and the other has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Incompatible;

/// The remarks that an addition of two histograms calls for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AdditionRemarks {
    /// One histogram says that the counter was reset, the other that it was not.
    pub resets_conflict: bool,
    /// The custom boundaries differed.
    pub bounds_reconciled: bool,
}

impl<C: Count> From<&Histogram> for HistogramParts<C> {
    fn from(histogram: &Histogram) -> Self {
        let side = |buckets: &Buckets| buckets.indexed().map(|(index, count)| (index, C::of(count))).collect();
        Self {
            schema: histogram.schema,
            zero_threshold: histogram.zero_threshold,
            zero_count: C::of(histogram.zero_count),
            count: C::of(histogram.count),
            sum: C::of(histogram.sum),
            positive: side(&histogram.positive),
            negative: side(&histogram.negative),
            bounds: histogram.custom_bounds.clone(),
            hint: histogram.reset_hint,
        }
    }
}

impl<C: Count> HistogramParts<C> {
    /// The histogram, without empty buckets.
    pub(crate) fn histogram(self) -> Histogram {
        let side = |buckets: Vec<(i32, C)>| {
            let counts = buckets.into_iter().map(|(index, count)| (index, count.value()));
            Buckets::from_indexed(counts.filter(|(_, count)| *count != 0.0))
        };
        Histogram {
            schema: self.schema,
            zero_threshold: self.zero_threshold,
            zero_count: self.zero_count.value(),
            count: self.count.value(),
            sum: self.sum.value(),
            positive: side(self.positive),
            negative: side(self.negative),
            custom_bounds: self.bounds,
            reset_hint: self.hint,
        }
    }

    /// An empty histogram with the layout of another.
    pub(crate) fn empty_like(histogram: &Histogram) -> Self {
        Self {
            schema: histogram.schema,
            zero_threshold: 0.0,
            zero_count: C::default(),
            count: C::default(),
            sum: C::default(),
            positive: Vec::new(),
            negative: Vec::new(),
            bounds: histogram.custom_bounds.clone(),
            hint: ResetHint::Unknown,
        }
    }

    fn is_custom(&self) -> bool {
        self.schema == CUSTOM_SCHEMA
    }

    /// Applies a multiplication or a division to all counts and the sum.
    pub(crate) fn map(&mut self, function: impl Fn(f64) -> f64) {
        let counts = self.positive.iter_mut().chain(&mut self.negative).map(|bucket| &mut bucket.1);
        for count in counts.chain([&mut self.zero_count, &mut self.count, &mut self.sum]) {
            count.map(&function);
        }
    }

    /// Returns whether any number is infinite.
    pub(crate) fn has_overflow(&self) -> bool {
        let counts = self.positive.iter().chain(&self.negative).map(|bucket| bucket.1);
        let mut all = counts.chain([self.zero_count, self.count, self.sum]).map(Count::value);
        all.any(f64::is_infinite)
    }

    /// Adds another histogram.
    pub(crate) fn add(&mut self, mut other: Self) -> Result<AdditionRemarks, Incompatible> {
        if self.is_custom() != other.is_custom() {
            return Err(Incompatible);
        }
        let mut added = AdditionRemarks { resets_conflict: self.merge_hint(other.hint), bounds_reconciled: false };
        if self.is_custom() {
            if self.bounds != other.bounds {
                added.bounds_reconciled = true;
                let common = common_bounds(&self.bounds, &other.bounds);
                self.move_to_bounds(&common);
                other.move_to_bounds(&common);
            }
        } else {
            while self.zero_threshold != other.zero_threshold {
                if self.zero_threshold > other.zero_threshold {
                    other.widen_zero_bucket(self.zero_threshold);
                } else if self.zero_threshold < other.zero_threshold {
                    self.widen_zero_bucket(other.zero_threshold);
                } else {
                    // One of them is not a number.
                    break;
                }
            }
            let schema = self.schema.min(other.schema);
            self.reduce(schema);
            other.reduce(schema);
            self.zero_count.add(other.zero_count);
        }
        self.count.add(other.count);
        self.sum.add(other.sum);
        merge(&mut self.positive, other.positive);
        merge(&mut self.negative, other.negative);
        Ok(added)
    }

    /// Subtracts another histogram.
    pub(crate) fn subtract(&mut self, mut other: Self) -> Result<AdditionRemarks, Incompatible> {
        other.map(|value| -value);
        self.add(other)
    }

    /// The hint for the sum. Whether the hints contradict each other.
    fn merge_hint(&mut self, other: ResetHint) -> bool {
        let (hint, conflict) = match (self.hint, other) {
            (one, other) if one == other => (one, false),
            (ResetHint::Gauge, _) | (_, ResetHint::Gauge) => (ResetHint::Gauge, false),
            (ResetHint::Unknown, _) | (_, ResetHint::Unknown) => (ResetHint::Unknown, false),
            _ => (ResetHint::Unknown, true),
        };
        self.hint = hint;
        conflict
    }

    /// Merges buckets until the schema is that low.
    pub(crate) fn reduce(&mut self, schema: i8) {
        if self.is_custom() || schema >= self.schema {
            return;
        }
        let shift = u32::try_from(i16::from(self.schema) - i16::from(schema)).unwrap_or_default().min(31);
        for side in [&mut self.positive, &mut self.negative] {
            let mut merged: Vec<(i32, C)> = Vec::with_capacity(side.len());
            for (index, count) in side.drain(..) {
                let index = (index.saturating_sub(1) >> shift) + 1;
                match merged.last_mut() {
                    Some(last) if last.0 == index => last.1.add(count),
                    _ => merged.push((index, count)),
                }
            }
            *side = merged;
        }
        self.schema = schema;
    }

    /// Makes the zero bucket at least that large, and larger if it would otherwise end inside a populated bucket.
    pub(super) fn widen_zero_bucket(&mut self, threshold: f64) {
        let (schema, mut threshold) = (self.schema, threshold);
        // Both sides have the same boundaries, so that the second round changes nothing.
        for _ in 0..2 {
            for (index, count) in self.positive.iter().chain(&self.negative) {
                let (lower, upper) = (bound(index.saturating_sub(1), schema, &[]), bound(*index, schema, &[]));
                if lower < threshold && upper > threshold && count.value() != 0.0 {
                    threshold = upper;
                }
            }
        }
        let mut zero_count = self.zero_count;
        for side in [&mut self.positive, &mut self.negative] {
            side.retain(|(index, count)| {
                let outside = bound(index.saturating_sub(1), schema, &[]) >= threshold;
                if !outside {
                    zero_count.add(*count);
                }
                outside
            });
        }
        self.zero_count = zero_count;
        self.zero_threshold = threshold;
    }

    /// Merges custom buckets until they have these boundaries, which they all have.
    pub(super) fn move_to_bounds(&mut self, bounds: &[f64]) {
        let mut merged: Vec<(i32, C)> = Vec::new();
        for (index, count) in self.positive.drain(..) {
            let upper = bound(index, CUSTOM_SCHEMA, &self.bounds);
            let number = bounds.partition_point(|bound| *bound < upper);
            let index = i32::try_from(number).unwrap_or(i32::MAX);
            match merged.last_mut() {
                Some(last) if last.0 == index => last.1.add(count),
                _ => merged.push((index, count)),
            }
        }
        self.positive = merged;
        self.bounds = bounds.to_vec();
    }
}

/// The numbers that are in both of two ascending lists.
pub(super) fn common_bounds(one: &[f64], other: &[f64]) -> Vec<f64> {
    let mut rest = other;
    let mut common = Vec::new();
    for bound in one {
        rest = &rest[rest.partition_point(|other| other < bound)..];
        if rest.first() == Some(bound) {
            common.push(*bound);
        }
    }
    common
}

/// Adds ascending buckets to ascending buckets.
fn merge<C: Count>(buckets: &mut Vec<(i32, C)>, others: Vec<(i32, C)>) {
    if others.is_empty() {
        return;
    }
    let mut merged: Vec<(i32, C)> = Vec::with_capacity(buckets.len() + others.len());
    let mut others = others.into_iter().peekable();
    for (index, mut count) in buckets.drain(..) {
        while let Some(other) = others.next_if(|other| other.0 < index) {
            merged.push(other);
        }
        if let Some(other) = others.next_if(|other| other.0 == index) {
            count.add(other.1);
        }
        merged.push((index, count));
    }
    merged.extend(others);
    *buckets = merged;
}
