//! The boundaries between buckets on a clock without changes: equal steps, or calendar months.

use crate::functions::times::interval::nanos_of;
use crate::text::errors::sql_error;
use atsdb_core::time::DAY_NANOSECONDS;
use atsdb_core::time::{civil_from_days, days_from_civil, days_in_month};
use atsdb_core::{Error, Result};
use datafusion::arrow::datatypes::IntervalMonthDayNano as Interval;

/// Monday, 2000-01-03: weeks begin on Mondays.
const STEPS_ORIGIN_DAY: i128 = 10_959;

/// 2000-01-01.
const MONTHS_ORIGIN_DAY: i128 = 10_957;

/// Boundaries in ticks since the epoch of a clock. A tick is the unit of the times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    ticks_per_day: i128,
    shape: Shape,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Shape {
    /// Boundaries have the remainder `phase` (0 up to `width`) when divided by `width`.
    Steps {
        width: i64,
        phase: i64,
    },
    Months(Months),
}

/// Boundaries are at `day` (or the month's last day) and `ticks` of every `width`th month, shifted by `shift` ticks.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Months {
    width: i64,
    /// One month that has a boundary, as a number of months since year 0.
    month: i64,
    day: u32,
    ticks: i128,
    shift: i128,
}

impl Grid {
    /// A grid of steps or months; `origin` is a boundary (in ticks), moved by `offset`. An error names the width.
    pub fn new(width: Interval, tick_nanos: i128, origin: Option<i128>, offset: Interval) -> Result<Self> {
        let ticks_per_day = i128::from(DAY_NANOSECONDS) / tick_nanos;
        let ticks_of = |what, interval: Interval| whole_ticks(what, interval, tick_nanos);
        let nanos = nanos_of(width);
        if (width.months < 0 || nanos < 0) || (width.months == 0 && nanos == 0) {
            return Err(bad_width(width, "is not positive"));
        }
        let shape = if width.months == 0 {
            if offset.months != 0 {
                return Err(sql_error("an offset of months needs a width of months"));
            }
            // If the width is finer than the times, each tick is a bucket.
            let finer = tick_nanos % nanos == 0;
            let ticks = if finer { 1 } else { ticks_of("width", width)? };
            let width = i64::try_from(ticks).map_err(|_| bad_width(width, "is out of range"))?;
            let origin = origin.unwrap_or(STEPS_ORIGIN_DAY * ticks_per_day);
            let offset = if finer { 0 } else { ticks_of("offset", offset)? };
            Shape::Steps { width, phase: (origin + offset).rem_euclid(i128::from(width)) as i64 }
        } else {
            if nanos != 0 {
                return Err(bad_width(width, "mixes months with days or shorter"));
            }
            let origin = origin.unwrap_or(MONTHS_ORIGIN_DAY * ticks_per_day);
            let (year, month, day) = civil_from_days(origin.div_euclid(ticks_per_day) as i64);
            Shape::Months(Months {
                width: i64::from(width.months),
                month: year * 12 + i64::from(month) - 1 + i64::from(offset.months),
                day,
                ticks: origin.rem_euclid(ticks_per_day),
                shift: ticks_of("offset", Interval { months: 0, ..offset })?,
            })
        };
        Ok(Self { ticks_per_day, shape })
    }

    /// Returns whether no step is longer than this many ticks.
    pub fn is_within(&self, ticks: i128) -> bool {
        matches!(self.shape, Shape::Steps { width, .. } if i128::from(width) <= ticks)
    }

    /// The last boundary at or before a time.
    pub fn floor(&self, time: i128) -> i128 {
        match &self.shape {
            Shape::Steps { width, phase } => time - past(time, *width, *phase),
            Shape::Months(months) => {
                let (year, month, _) = civil_from_days((time - months.shift).div_euclid(self.ticks_per_day) as i64);
                let passed = year * 12 + i64::from(month) - 1 - months.month;
                let mut count = passed.div_euclid(months.width);
                while self.month_boundary(months, count) > time {
                    count -= 1;
                }
                self.month_boundary(months, count)
            }
        }
    }

    /// The first boundary after a boundary.
    pub fn next(&self, boundary: i128) -> i128 {
        match &self.shape {
            Shape::Steps { width, .. } => boundary + i128::from(*width),
            Shape::Months(months) => {
                let (year, month, _) = civil_from_days((boundary - months.shift).div_euclid(self.ticks_per_day) as i64);
                let count = (year * 12 + i64::from(month) - 1 - months.month).div_euclid(months.width);
                self.month_boundary(months, count + 1)
            }
        }
    }

    /// The width and phase of equal steps, for use without a zone.
    pub fn steps(&self) -> Option<(i64, i64)> {
        match self.shape {
            Shape::Steps { width, phase } => Some((width, phase)),
            Shape::Months(_) => None,
        }
    }

    fn month_boundary(&self, months: &Months, count: i64) -> i128 {
        let month = months.month + count * months.width;
        let (year, month) = (month.div_euclid(12), month.rem_euclid(12) as u32 + 1);
        let day = months.day.min(days_in_month(year, month));
        i128::from(days_from_civil(year, month, day)) * self.ticks_per_day + months.ticks + months.shift
    }
}

/// The distance from the last boundary to a time.
fn past(time: i128, width: i64, phase: i64) -> i128 {
    let rest = match i64::try_from(time) {
        Ok(time) => time.rem_euclid(width),
        Err(_) => time.rem_euclid(i128::from(width)) as i64,
    };
    i128::from(if rest < phase { rest - phase + width } else { rest - phase })
}

fn whole_ticks(what: &str, interval: Interval, tick_nanos: i128) -> Result<i128> {
    let nanos = nanos_of(interval);
    if nanos % tick_nanos == 0 {
        return Ok(nanos / tick_nanos);
    }
    let unit = match tick_nanos {
        1_000 => "microseconds",
        1_000_000 => "milliseconds",
        1_000_000_000 => "seconds",
        _ => "days",
    };
    Err(sql_error(format!("the {what} is not a whole number of {unit}, the unit of the time")))
}

fn bad_width(width: Interval, problem: &str) -> Error {
    let Interval { months, days, nanoseconds } = width;
    let seconds = nanoseconds as f64 / 1e9;
    let parts = [(f64::from(months), "months"), (f64::from(days), "days"), (seconds, "seconds")];
    let mut parts: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count != 0.0)
        .map(|(count, unit)| format!("{count} {}", if *count == 1.0 { unit.trim_end_matches('s') } else { unit }))
        .collect();
    if parts.is_empty() {
        parts.push("0".to_owned());
    }
    sql_error(format!("a width of {} {problem}", parts.join(" ")))
        .with_hint("write '5 minutes', '1 day', '1 month' or '1 year'")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i128 = 1_000_000_000;

    fn interval(months: i32, days: i32, seconds: i64) -> Interval {
        Interval { months, days, nanoseconds: seconds * 1_000_000_000 }
    }

    #[test]
    fn floor_is_the_last_boundary_and_next_the_one_after_for_every_shape() {
        let mut seed = 1_u64;
        let mut random = |bound: i64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            i64::try_from(seed >> 33).unwrap() % bound
        };
        for _ in 0..3_000 {
            let months = random(2) == 0;
            let width = if months {
                interval(1 + random(30) as i32, 0, 0)
            } else {
                interval(0, random(40) as i32, 1 + random(90_000))
            };
            let offset = interval(if months { random(5) as i32 } else { 0 }, random(60) as i32 - 30, random(86_400));
            let origin = Some(i128::from(random(10_000_000_000) - 5_000_000_000));
            let grid = Grid::new(width, SECOND, origin, offset).unwrap();
            let time = i128::from(random(100_000_000_000) - 50_000_000_000);
            let start = grid.floor(time);
            let end = grid.next(start);
            assert!(start <= time && time < end, "{width:?} {offset:?} {origin:?}: {start} {time} {end}");
            assert_eq!((grid.floor(start), grid.floor(end), grid.floor(end - 1)), (start, end, start));
        }
    }

    #[test]
    fn the_origin_moved_by_the_offset_is_a_boundary() {
        let origin = i128::from(days_from_civil(2024, 1, 31)) * 86_400 + 3_600;
        let grid = Grid::new(interval(1, 0, 0), SECOND, Some(origin), interval(0, 0, 60)).unwrap();
        let leap_day = i128::from(days_from_civil(2024, 2, 29)) * 86_400 + 3_660;
        assert_eq!((grid.floor(origin + 60), grid.next(origin + 60)), (origin + 60, leap_day));
    }

    #[test]
    fn widths_that_are_none_are_refused() {
        let day = i128::from(DAY_NANOSECONDS);
        for (width, tick, reason) in [
            (interval(0, 0, 0), SECOND, "width of 0 is not positive"),
            (interval(0, -1, 0), SECOND, "-1 days is not positive"),
            (interval(-1, 40, 0), SECOND, "a width of -1 months 40 days is not positive"),
            (interval(1, 1, 0), SECOND, "1 month 1 day mixes"),
            (interval(0, 1, 43_200), day, "not a whole number of days"),
            (interval(0, i32::MAX, 0), 1, "is out of range"),
        ] {
            let error = Grid::new(width, tick, None, interval(0, 0, 0)).unwrap_err();
            assert!(error.to_string().contains(reason), "{error}");
        }
        let each_day = Grid::new(interval(0, 0, 3_600), day, None, interval(0, 0, 0)).unwrap();
        assert_eq!(each_day.steps(), Some((1, 0)));
    }
}
