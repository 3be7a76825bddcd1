//! The zone of times that name none.

use atsdb_core::name::nearest_name;
use atsdb_core::time_text::utc_offset;
use atsdb_core::{Error, Result};
use chrono::{DateTime, LocalResult, Offset, TimeZone};
use chrono_tz::{TZ_VARIANTS, Tz};

/// A time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zone(ZoneRule);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ZoneRule {
    /// A fixed offset in seconds ahead of UTC.
    Fixed(i64),
    /// A named zone, with its rules.
    Named(Tz),
}

/// An instant at which clocks showed a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Instant {
    /// Seconds since the epoch.
    pub(crate) seconds: i64,
    /// Whether clocks showed the time twice; this is the earlier instant.
    pub(crate) is_first_of_two: bool,
}

impl Zone {
    /// Reads `Europe/Berlin`, `UTC` or `+02:00`.
    ///
    /// # Errors
    ///
    /// Any other name is a `Usage` error, which suggests the nearest name.
    pub fn parse(name: &str) -> Result<Self> {
        if let Some(ahead) = utc_offset(name.as_bytes(), &["Z", "UTC", "GMT"]) {
            return Ok(Self(ZoneRule::Fixed(ahead)));
        }
        match TZ_VARIANTS.iter().find(|zone| zone.name().eq_ignore_ascii_case(name)) {
            Some(zone) => Ok(Self(ZoneRule::Named(*zone))),
            None => {
                let error = Error::usage(format!("no time zone named {name}"));
                // The zones Etc/GMT+1 and the like have the other sign.
                let is_offset = ["GMT", "UTC"].iter().any(|start| {
                    let rest = name.get(start.len()..).filter(|_| name.to_ascii_uppercase().starts_with(*start));
                    rest.is_some_and(|rest| rest.starts_with(['+', '-']))
                });
                if is_offset {
                    return Err(error.with_hint("write the offset alone: +01:00 is one hour ahead of UTC"));
                }
                Err(match nearest_name(name, TZ_VARIANTS.iter().map(|zone| zone.name())) {
                    Some(near) => error.with_hint(format!("did you mean {near}?")),
                    None => error.with_hint("write it as Europe/Berlin, UTC or +02:00"),
                })
            }
        }
    }

    /// The zone whose name with a slash, such as `Europe/Berlin`, ends a text, and the text before it.
    pub(crate) fn behind(text: &[u8]) -> Option<(&[u8], Self)> {
        // This excludes numbers: the shortest such text is `1/1/24 1:00 Etc/UTC`.
        let text = text.trim_ascii_end();
        if text.len() < 19 {
            return None;
        }
        let (before, name) = text.split_at(memchr::memrchr(b' ', text)?);
        let name = std::str::from_utf8(name).ok()?.trim_start();
        let zone = name.contains('/').then(|| name.parse().ok()).flatten()?;
        Some((before.trim_ascii_end(), Self(ZoneRule::Named(zone))))
    }

    /// The instant at which clocks showed a time, counted in seconds as if it were UTC; `None` if they never did,
    /// because they were set forward.
    pub(crate) fn instant(self, local: i64) -> Option<Instant> {
        let zone = match self.0 {
            ZoneRule::Fixed(ahead) => return Some(Instant { seconds: local - ahead, is_first_of_two: false }),
            ZoneRule::Named(zone) => zone,
        };
        let local_time = DateTime::from_timestamp(local, 0)?.naive_utc();
        let seconds = |offset: &<Tz as TimeZone>::Offset| local - i64::from(offset.fix().local_minus_utc());
        match zone.offset_from_local_datetime(&local_time) {
            LocalResult::Single(offset) => Some(Instant { seconds: seconds(&offset), is_first_of_two: false }),
            LocalResult::Ambiguous(first, second) => {
                Some(Instant { seconds: seconds(&first).min(seconds(&second)), is_first_of_two: true })
            }
            LocalResult::None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb_core::time::days_from_civil;

    #[test]
    fn clocks_that_are_changed_show_no_time_or_one_twice() {
        let berlin = Zone::parse("europe/berlin").unwrap();
        let local = |month, day, hour: i64| days_from_civil(2024, month, day) * 86_400 + hour * 3_600 + 1_800;
        assert_eq!(berlin.instant(local(7, 1, 12)).unwrap().seconds, local(7, 1, 10));
        assert_eq!(berlin.instant(local(3, 31, 2)), None);
        let twice = berlin.instant(local(10, 27, 2)).unwrap();
        assert_eq!((twice.seconds, twice.is_first_of_two), (local(10, 27, 0), true));
        assert_eq!(Zone::parse("+02:00").unwrap().instant(7_200).unwrap().seconds, 0);
        assert_eq!(Zone::parse("Europe/Berlim").unwrap_err().hint(), Some("did you mean Europe/Berlin?"));
        for offset in ["GMT+1", "utc-05:30"] {
            let error = Zone::parse(offset).unwrap_err();
            assert!(error.hint().is_some_and(|hint| hint.contains("+01:00 is one hour ahead")), "{offset}: {error}");
        }
    }
}
