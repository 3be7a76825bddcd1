//! Retention: how long the rows of a table are kept.

use crate::duration::split_duration;
use crate::error::{Error, Result};
use crate::slice::SliceWidth;
use crate::time::{DAY_SECONDS, TimeUnit, civil_from_days, days_from_civil, days_in_month};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The period for which rows are kept, counted back from now in whole calendar units. As text: `2 years`, `36 hours`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Retention {
    /// The number of units, at least 1.
    pub count: u32,
    /// The unit.
    pub unit: SliceWidth,
}

impl Retention {
    /// Parses a retention: a whole number and a unit from hours to years, such as `2 years`, `90 days` or `90d`.
    /// Everything else is a [`Usage`](crate::ErrorKind::Usage) error.
    pub fn parse(text: &str) -> Result<Self> {
        let parse = || {
            let (count, unit) = split_duration(text)?;
            let unit = SliceWidth::of_unit(unit?)?;
            let count = count.parse().ok().filter(|count| *count > 0)?;
            Some(Self { count, unit })
        };
        parse().ok_or_else(|| {
            Error::usage(format!("cannot read the retention {text:?}"))
                .with_hint("write a whole number and hours, days, weeks, months or years: '90 days'")
        })
    }

    /// The earliest time that is kept, in `unit`. `now_ms` is the current time in milliseconds since the epoch.
    pub fn cutoff(&self, now_ms: i64, unit: TimeUnit) -> i64 {
        let count = i64::from(self.count);
        let now_seconds = now_ms.div_euclid(1_000);
        let seconds = match self.unit {
            SliceWidth::Hour => now_seconds - count * 3_600,
            SliceWidth::Day => now_seconds - count * DAY_SECONDS,
            SliceWidth::Week => now_seconds - count * 7 * DAY_SECONDS,
            SliceWidth::Month => months_before(now_seconds, count),
            SliceWidth::Year => months_before(now_seconds, count * 12),
        };
        seconds.saturating_mul(unit.per_second())
    }
}

fn months_before(seconds: i64, months: i64) -> i64 {
    let (year, month, day) = civil_from_days(seconds.div_euclid(DAY_SECONDS));
    let index = year * 12 + i64::from(month) - 1 - months;
    let (year, month) = (index.div_euclid(12), index.rem_euclid(12) as u32 + 1);
    let days = days_from_civil(year, month, day.min(days_in_month(year, month)));
    days * DAY_SECONDS + seconds.rem_euclid(DAY_SECONDS)
}

impl fmt::Display for Retention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}{}", self.count, self.unit, if self.count == 1 { "" } else { "s" })
    }
}

impl From<Retention> for String {
    fn from(retention: Retention) -> Self {
        retention.to_string()
    }
}

impl TryFrom<String> for Retention {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        Self::parse(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retention_counts_calendar_units_back() {
        let now_ms = 1_709_164_800_000; // 2024-02-29
        let cutoff = |text: &str| Retention::parse(text).unwrap().cutoff(now_ms, TimeUnit::Second);
        assert_eq!(cutoff("1 year"), 1_677_542_400); // 2023-02-28
        assert_eq!(cutoff("36 hours"), 1_709_164_800 - 36 * 3_600);
        assert_eq!(cutoff("90d"), cutoff("90 days"));
        assert_eq!(Retention::parse("1Y").unwrap().to_string(), "1 year");
        for bad in ["", "2", "0 days", "-1 days", "1.5 days", "2 fortnights", "90 minutes", "4 m"] {
            assert!(Retention::parse(bad).is_err(), "{bad}");
        }
    }
}
