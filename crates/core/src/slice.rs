//! Slices: the calendar intervals into which a table is divided.

use crate::duration::{DurationUnit, parse_duration, split_duration};
use crate::error::Result;
use crate::name::parse_name;
use crate::time::{DAY_SECONDS, TimeUnit, civil_from_days, days_from_civil, format_time};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;
use strum::{IntoStaticStr, VariantArray};

/// The width of a table's slices: a calendar interval in UTC. A week starts on Monday.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, IntoStaticStr, VariantArray,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum SliceWidth {
    /// An hour.
    Hour,
    /// A day.
    Day,
    /// A week, from Monday.
    Week,
    /// A month.
    Month,
    /// A year.
    Year,
}

/// One interval of a table, from `start` to `last` inclusive, in the table's unit. Bounds that i64 cannot hold are
/// clamped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slice {
    /// The first time inside. It identifies the slice.
    pub start: i64,
    /// The last time inside.
    pub last: i64,
}

impl Slice {
    /// The only slice of a plain table.
    pub const PLAIN: Self = Self { start: 0, last: 0 };

    /// Returns whether the slice contains a time.
    pub fn contains(&self, time: i64) -> bool {
        self.start <= time && time <= self.last
    }
}

impl SliceWidth {
    /// All widths, narrowest first.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// `hour`, `day`, `week`, `month` or `year`.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Parses a [`name`](Self::name) in either case, or a duration of the same length, such as `1 day`, `1d` or `24h`.
    /// Everything else is a [`Usage`](crate::ErrorKind::Usage) error.
    pub fn parse(text: &str) -> Result<Self> {
        Self::of_duration(text).map_or_else(|| parse_name("slice width", text), Ok)
    }

    /// The width of a unit of durations; `None` if it is shorter than an hour.
    pub(crate) fn of_unit(unit: DurationUnit) -> Option<Self> {
        match unit {
            DurationUnit::Hour => Some(Self::Hour),
            DurationUnit::Day => Some(Self::Day),
            DurationUnit::Week => Some(Self::Week),
            DurationUnit::Month => Some(Self::Month),
            DurationUnit::Year => Some(Self::Year),
            DurationUnit::Millisecond | DurationUnit::Second | DurationUnit::Minute => None,
        }
    }

    /// The width that is as long as a duration with a unit.
    fn of_duration(text: &str) -> Option<Self> {
        const HOUR: Duration = Duration::from_secs(3_600);
        let fixed = [(Self::Hour, HOUR), (Self::Day, HOUR * 24), (Self::Week, HOUR * 24 * 7)];
        match split_duration(text)? {
            ("1", Some(unit)) => Self::of_unit(unit),
            ("12", Some(DurationUnit::Month)) => Some(Self::Year),
            (_, Some(_)) => {
                let length = parse_duration(text).ok()?;
                fixed.into_iter().find(|(_, duration)| *duration == length).map(|(width, _)| width)
            }
            (_, None) => None,
        }
    }

    /// Returns the slice that contains a time, which counts `unit`.
    pub fn slice_of(self, time: i64, unit: TimeUnit) -> Slice {
        let per_second = unit.per_second();
        let seconds = time.div_euclid(per_second);
        let (start, end) = match self {
            Self::Hour => fixed(seconds, 0, 3_600),
            Self::Day => fixed(seconds, 0, DAY_SECONDS),
            // 1970-01-01 was a Thursday, so weeks start four days after multiples of seven.
            Self::Week => fixed(seconds, 4 * DAY_SECONDS, 7 * DAY_SECONDS),
            Self::Month | Self::Year => self.calendar(seconds),
        };
        Slice { start: clamp(start * i128::from(per_second)), last: clamp(end * i128::from(per_second) - 1) }
    }

    fn calendar(self, seconds: i64) -> (i128, i128) {
        let (year, month, _) = civil_from_days(seconds.div_euclid(DAY_SECONDS));
        let (first, next) = match (self, month) {
            (Self::Year, _) => ((year, 1), (year + 1, 1)),
            (_, 12) => ((year, 12), (year + 1, 1)),
            (_, month) => ((year, month), (year, month + 1)),
        };
        let start_of = |(year, month)| i128::from(days_from_civil(year, month, 1)) * i128::from(DAY_SECONDS);
        (start_of(first), start_of(next))
    }

    /// Returns the slice's name for people: `2024-03-01`, `2024-03-01T12`, `2024-03` or `2024`.
    pub fn label(self, slice: Slice, unit: TimeUnit) -> String {
        let text = format_time(slice.start, unit);
        let date_end = text.rfind('T').unwrap_or(text.len());
        let end = match self {
            Self::Hour => date_end + 3,
            Self::Day | Self::Week => date_end,
            Self::Month => date_end - 3,
            Self::Year => date_end - 6,
        };
        text[..end].to_owned()
    }
}

impl fmt::Display for SliceWidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn fixed(seconds: i64, offset: i64, width: i64) -> (i128, i128) {
    let (seconds, offset, width) = (i128::from(seconds), i128::from(offset), i128::from(width));
    let start = (seconds - offset).div_euclid(width) * width + offset;
    (start, start + width)
}

fn clamp(time: i128) -> i64 {
    time.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_lies_in_its_slice_and_its_neighbours_do_not() {
        let times = [i64::MIN, i64::MIN + 1, -86_401, -1, 0, 1, 951_782_400, 1_709_294_400, i64::MAX];
        for &width in SliceWidth::ALL {
            for &unit in TimeUnit::ALL {
                for time in times {
                    let slice = width.slice_of(time, unit);
                    assert!(slice.contains(time), "{width} {unit} {time}: {slice:?}");
                    assert_eq!(width.slice_of(slice.start, unit), slice);
                    assert_eq!(width.slice_of(slice.last, unit), slice);
                    if slice.last < i64::MAX {
                        assert_eq!(width.slice_of(slice.last + 1, unit).start, slice.last + 1);
                    }
                }
            }
        }
    }

    #[test]
    fn a_width_is_a_name_or_a_duration_of_its_length() {
        for &width in SliceWidth::ALL {
            for text in [width.name().to_owned(), format!("1 {width}"), format!("1{}", width.name().to_uppercase())] {
                assert_eq!(SliceWidth::parse(&text).unwrap(), width, "{text}");
            }
        }
        for (text, width) in [("60min", "hour"), ("24h", "day"), ("7 days", "week"), ("1mo", "month"), ("12mo", "year")]
        {
            assert_eq!(SliceWidth::parse(text).unwrap().name(), width, "{text}");
        }
        for bad in ["", "1", "86400", "2 days", "1s", "30 days", "365 days", "0d", "days"] {
            assert!(SliceWidth::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn labels_are_as_long_as_the_width_needs() {
        let time = 1_709_294_400; // 2024-03-01T12:00:00Z, a Friday
        let label = |width: SliceWidth| width.label(width.slice_of(time, TimeUnit::Second), TimeUnit::Second);
        let labels: Vec<String> = SliceWidth::ALL.iter().map(|width| label(*width)).collect();
        assert_eq!(labels, ["2024-03-01T12", "2024-03-01", "2024-02-26", "2024-03", "2024"]);
    }
}
