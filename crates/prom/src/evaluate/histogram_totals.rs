//! Sums and means of native histograms, with compensated rounding.

use super::sums::Sum;
use crate::histogram::{AdditionRemarks, Histogram, HistogramParts, Incompatible, ResetHint};
use std::sync::Arc;

/// The function that is applied to a set of histograms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Total {
    Sum,
    Mean,
}

/// The running sum or mean of some histograms.
struct Running {
    parts: HistogramParts<Sum>,
    count: f64,
    /// The parts are a mean, because the sum would overflow.
    incremental: bool,
}

impl Running {
    fn add(&mut self, histogram: &Histogram, total: Total) -> Result<AdditionRemarks, Incompatible> {
        self.count += 1.0;
        if total == Total::Sum {
            return self.parts.add(histogram.into());
        }
        let count = self.count;
        if !self.incremental {
            let mut parts = self.parts.clone();
            let added = parts.add(histogram.into())?;
            if !parts.has_overflow() {
                self.parts = parts;
                return Ok(added);
            }
            self.incremental = true;
            self.parts.map(|value| value / (count - 1.0));
        }
        let share = (count - 1.0) / count;
        self.parts.map(|value| value * share);
        let mut next = HistogramParts::from(histogram);
        next.map(|value| value / count);
        self.parts.add(next)
    }
}

/// The sum or the mean of histograms, at least one, and what is to be remarked. The error is the number of the first
/// histogram that cannot be added to the ones before it.
pub(super) fn total(
    histograms: &[&Arc<Histogram>],
    total: Total,
) -> Result<Option<(Histogram, AdditionRemarks)>, usize> {
    let Some((first, rest)) = histograms.split_first() else { return Ok(None) };
    let mut running = Running { parts: HistogramParts::from(first.as_ref()), count: 1.0, incremental: false };
    let mut bounds_reconciled = false;
    for (number, histogram) in rest.iter().enumerate() {
        bounds_reconciled |= running.add(histogram, total).map_err(|_| number + 1)?.bounds_reconciled;
    }
    if total == Total::Mean && !running.incremental {
        running.parts.map(|value| value / running.count);
    }
    let has = |hint: ResetHint| histograms.iter().any(|histogram| histogram.reset_hint == hint);
    let resets_conflict = has(ResetHint::Reset) && has(ResetHint::NoReset);
    Ok(Some((running.parts.histogram(), AdditionRemarks { resets_conflict, bounds_reconciled })))
}
