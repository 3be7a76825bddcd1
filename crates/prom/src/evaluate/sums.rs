//! Sums and means with compensated rounding: Kahan's summation as improved by Neumaier.

use crate::histogram::Count;

/// A sum and its accumulated rounding error.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sum {
    pub(super) sum: f64,
    pub(super) lost: f64,
}

impl Sum {
    pub(super) fn add(&mut self, value: f64) {
        let total = self.sum + value;
        if total.is_infinite() {
            self.lost = 0.0;
        } else if self.sum.abs() >= value.abs() {
            self.lost += (self.sum - total) + value;
        } else {
            self.lost += (value - total) + self.sum;
        }
        self.sum = total;
    }

    pub(super) fn total(self) -> f64 {
        if self.sum.is_infinite() { self.sum } else { self.sum + self.lost }
    }
}

impl Count for Sum {
    fn of(value: f64) -> Self {
        Self { sum: value, lost: 0.0 }
    }

    fn add(&mut self, other: Self) {
        Self::add(self, other.sum);
        if other.lost != 0.0 {
            Self::add(self, other.lost);
        }
    }

    fn map(&mut self, function: impl Fn(f64) -> f64) {
        (self.sum, self.lost) = (function(self.sum), function(self.lost));
    }

    fn value(self) -> f64 {
        self.total()
    }
}

/// A mean. It switches to an incremental calculation only when the sum would overflow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mean {
    sum: Sum,
    count: f64,
    incremental: bool,
}

impl Mean {
    pub(super) fn of(first: f64) -> Self {
        Self { sum: Sum { sum: first, lost: 0.0 }, count: 1.0, incremental: false }
    }

    pub(super) fn add(&mut self, value: f64) {
        self.count += 1.0;
        if !self.incremental {
            let mut sum = self.sum;
            sum.add(value);
            if !sum.sum.is_infinite() {
                self.sum = sum;
                return;
            }
            self.incremental = true;
            self.sum.sum /= self.count - 1.0;
            self.sum.lost /= self.count - 1.0;
        }
        let share = (self.count - 1.0) / self.count;
        self.sum.sum *= share;
        self.sum.lost *= share;
        self.sum.add(value / self.count);
    }

    pub(super) fn value(self) -> f64 {
        if self.incremental {
            self.sum.sum + self.sum.lost
        } else {
            self.sum.sum / self.count + self.sum.lost / self.count
        }
    }
}

/// The quantile of some values, which are sorted for it. NaN counts as the smallest.
pub(super) fn quantile(q: f64, values: &mut [f64]) -> f64 {
    if values.is_empty() || q.is_nan() {
        return f64::NAN;
    }
    if q < 0.0 {
        return f64::NEG_INFINITY;
    }
    if q > 1.0 {
        return f64::INFINITY;
    }
    values.sort_unstable_by(|one, other| match (one.is_nan(), other.is_nan()) {
        (false, false) => one.total_cmp(other),
        (one, other) => other.cmp(&one),
    });
    let last = (values.len() - 1) as f64;
    let rank = q * last;
    let lower = rank.floor().max(0.0);
    let upper = (lower + 1.0).min(last);
    let weight = rank - rank.floor();
    values[lower as usize] * (1.0 - weight) + values[upper as usize] * weight
}
