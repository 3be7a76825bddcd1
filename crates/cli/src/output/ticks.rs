//! Round places on the scales of a chart.

use atsdb::time::{DAY_SECONDS, civil_from_days, days_from_civil};

/// Steps between times, in seconds: up to days, which all begin at the epoch.
const SECONDS: [i64; 18] = [
    1,
    2,
    5,
    10,
    15,
    30,
    60,
    120,
    300,
    600,
    900,
    1_800,
    3_600,
    2 * 3_600,
    3 * 3_600,
    6 * 3_600,
    12 * 3_600,
    DAY_SECONDS,
];

/// Steps of several days, which begin with each month.
const DAYS: [u32; 4] = [2, 5, 10, 15];

/// Steps between months.
const MONTHS: [i64; 5] = [1, 2, 3, 6, 12];

/// Multiples of a round step that is as long as a part of the range: those in the range.
pub(super) fn numbers((low, high): (f64, f64), parts: usize) -> Vec<f64> {
    let step = round_step((high - low) / parts as f64);
    let (first, last) = ((low / step).ceil(), (high / step).floor());
    if !(step.is_normal() && first.is_finite() && last - first < 100.0) {
        return Vec::new();
    }
    // Added up, small errors would grow.
    (0_u32..)
        .map(f64::from)
        .take_while(|number| *number <= last - first)
        .map(|number| (first + number) * step + 0.0)
        .collect()
}

/// The range, wide enough to begin and end with such a multiple.
pub(super) fn rounded((low, high): (f64, f64), parts: usize) -> (f64, f64) {
    let step = round_step((high - low) / parts as f64);
    let (from, to) = ((low / step).floor() * step, (high / step).ceil() * step);
    if from.is_finite() && to.is_finite() && from < to { (from, to) } else { (low, high) }
}

/// The smallest one, two or five with zeros, or after zeros, that is not below a number.
fn round_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= least * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

/// Times in a range, in seconds since the epoch, at which a second, an hour, a day, a month or a year begins.
pub(super) fn times((low, high): (f64, f64), parts: usize) -> Vec<f64> {
    let least = (high - low) / parts as f64;
    if least < 1.0 {
        return numbers((low, high), parts);
    }
    let (from, to) = (low.ceil() as i64, high.floor() as i64);
    let in_range = |times: Vec<i64>| -> Vec<f64> {
        times.into_iter().filter(|time| (from..=to).contains(time)).map(|time| time as f64).collect()
    };
    if let Some(step) = SECONDS.into_iter().find(|step| *step as f64 >= least) {
        let first = from.div_euclid(step);
        return in_range((first..).map_while(|count| Some(count * step).filter(|time| *time <= to)).collect());
    }
    let month_of = |time: i64| {
        let (year, month, _) = civil_from_days(time.div_euclid(DAY_SECONDS));
        year * 12 + i64::from(month) - 1
    };
    let begin = |month: i64, day: u32| {
        days_from_civil(month.div_euclid(12), u32::try_from(month.rem_euclid(12)).unwrap_or_default() + 1, day)
            * DAY_SECONDS
    };
    let (first, last) = (month_of(from), month_of(to));
    if let Some(step) = DAYS.into_iter().find(|step| (*step as i64 * DAY_SECONDS) as f64 >= least) {
        // The last days of a month are too near to the next one.
        let days = |month: i64| (1..=31 - step).step_by(step as usize).map(move |day| begin(month, day));
        return in_range((first..=last).flat_map(days).collect());
    }
    let month_seconds = 30.5 * DAY_SECONDS as f64;
    let step = MONTHS.into_iter().find(|step| *step as f64 * month_seconds >= least);
    let step = step.unwrap_or_else(|| round_step((least / month_seconds / 12.0).max(1.0)) as i64 * 12);
    let months = (first.div_euclid(step)..=last.div_euclid(step)).map(|count| begin(count * step, 1));
    in_range(months.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb::TimeUnit;

    #[test]
    fn numbers_are_round_and_in_the_range() {
        assert_eq!(numbers((15.7, 90.2), 5), [20.0, 40.0, 60.0, 80.0]);
        assert_eq!(numbers((0.0, 1.0), 5), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        assert_eq!(numbers((-0.5, 0.5), 4), [-0.5, 0.0, 0.5]);
        assert_eq!(rounded((15.7, 90.2), 5), (0.0, 100.0));
        assert_eq!(rounded((0.0, 8_706.0), 5), (0.0, 10_000.0));
        assert!(numbers((f64::MIN, f64::MAX), 5).is_empty());
    }

    #[test]
    fn times_begin_hours_days_months_or_years() {
        let shown = |days: i64, seconds: f64| -> Vec<String> {
            let low = (days * DAY_SECONDS) as f64;
            let text = |time: f64| atsdb::time::format_time(time as i64, TimeUnit::Second).replace("T00:00:00Z", "");
            times((low + 1.0, low + seconds), 5).into_iter().map(text).collect()
        };
        let day = DAY_SECONDS as f64;
        assert_eq!(
            shown(19_723, 250.0),
            ["2024-01-01T00:01:00Z", "2024-01-01T00:02:00Z", "2024-01-01T00:03:00Z", "2024-01-01T00:04:00Z"]
        );
        assert_eq!(shown(19_723, 4.0 * day), ["2024-01-02", "2024-01-03", "2024-01-04", "2024-01-05"]);
        assert_eq!(shown(19_723, 40.0 * day), ["2024-01-11", "2024-01-21", "2024-02-01"]);
        assert_eq!(shown(19_723, 365.0 * day), ["2024-04-01", "2024-07-01", "2024-10-01"]);
        assert_eq!(
            shown(19_723, 9_000.0 * day),
            ["2025-01-01", "2030-01-01", "2035-01-01", "2040-01-01", "2045-01-01"]
        );
        assert_eq!(shown(-7_000, 3.0 * 365.0 * day), ["1951-01-01", "1952-01-01", "1953-01-01"]);
    }
}
