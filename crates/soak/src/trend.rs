//! Checks that figures are flat: compares the medians of the last third of a run with those of the second. The first
//! third is a warm-up.

use crate::sample::Sample;
use crate::workers::is_killed;

/// The growth that is allowed in the last third: by a factor, plus some units.
struct AllowedGrowth {
    factor: f64,
    units: f64,
}

/// Returns the allowed growth of a figure, by the first word of its name. Figures without a limit are only drawn.
fn allowed(name: &str) -> Option<AllowedGrowth> {
    let (kind, of) = name.split_once(' ').unwrap_or((name, ""));
    let (factor, units) = match kind {
        // A process that is killed after a minute has no time to leak: its figures show its age.
        "memory" | "files" if is_killed(of) => return None,
        "memory" => (1.2, 8.0),
        "files" => (1.0, 3.0),
        "disk" => (1.3, 16.0),
        "rows" => (1.3, 10_000.0),
        // Other programs share the machine.
        "p50" => (3.0, 5.0),
        "p99" => (4.0, 50.0),
        _ => return None,
    };
    Some(AllowedGrowth { factor, units })
}

/// The medians of a figure.
#[derive(Debug, PartialEq)]
pub(crate) struct Trend {
    pub(crate) name: String,
    pub(crate) before: f64,
    pub(crate) after: f64,
    pub(crate) is_flat: bool,
}

/// Returns the trends of the figures that must be flat.
pub(crate) fn trends(samples: &[Sample]) -> Vec<Trend> {
    let third = samples.len() / 3;
    let names = samples.first().into_iter().flat_map(|sample| sample.0.keys());
    let trend = |name: &String| {
        let AllowedGrowth { factor, units } = allowed(name)?;
        let median_of = |samples: &[Sample]| median(samples.iter().filter_map(|sample| sample.0.get(name)).copied());
        let (before, after) = (median_of(&samples[third..2 * third])?, median_of(&samples[2 * third..])?);
        Some(Trend { name: name.clone(), before, after, is_flat: after <= before * factor + units })
    };
    names.filter_map(trend).collect()
}

/// Returns the median of the values that are numbers.
fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.filter(|value| !value.is_nan()).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(value: impl Fn(usize) -> f64) -> Vec<Sample> {
        let sample = |number| {
            let mut sample = Sample::default();
            sample.put("disk store", value(number));
            sample.put("load", number as f64);
            sample
        };
        (0..300).map(sample).collect()
    }

    #[test]
    fn what_grows_is_not_flat_and_peaks_do_not_count() {
        let is_flat = |value: &dyn Fn(usize) -> f64| trends(&samples(value)).iter().all(|trend| trend.is_flat);
        assert!(is_flat(&|_| 100.0));
        assert!(is_flat(&|number| if number % 5 == 0 { 9_000.0 } else { 100.0 }));
        assert!(is_flat(&|number| number.min(100) as f64));
        assert!(!is_flat(&|number| number as f64));
        assert_eq!(trends(&samples(|_| 1.0)).len(), 1, "load need not be flat");
        assert!(allowed("memory writer-0").is_some() && allowed("memory writer-1").is_none());
    }
}
