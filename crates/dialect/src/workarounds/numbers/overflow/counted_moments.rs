//! The number and the moments of some values, or of pairs of values.
//!
//! Part of [`overflow`](super).

use atsdb_engine::Moments;

/// The moments of pairs of values. Without a second value, y is zero.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CountedMoments {
    pub(super) count: u64,
    pub(super) moments: Moments,
}

impl CountedMoments {
    pub(super) fn of(x: f64, y: f64) -> Self {
        let mut part = Self::default();
        part.push(x, y);
        part
    }

    pub(super) fn push(&mut self, x: f64, y: f64) {
        self.count += 1;
        self.moments.push(self.count, x, y);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        if other.count > 0 {
            self.moments.merge(self.count, &other.moments, other.count);
            self.count += other.count;
        }
    }

    pub(super) fn with(mut self, other: Self) -> Self {
        self.merge(&other);
        self
    }
}
