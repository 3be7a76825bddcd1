//! Time zones: local times, and the instants when clocks were changed. The rules come from the IANA database in
//! `chrono-tz`.

use super::errors::sql_error;
use super::zone_names::{ABBREVIATIONS, fixed_offset, is_zone, zone_named};
use atsdb_core::name::nearest_name;
use atsdb_core::time::DAY_SECONDS;
use atsdb_core::{Error, Result};
use chrono::{DateTime, Offset, TimeZone};
use chrono_tz::{OffsetComponents, OffsetName, TZ_VARIANTS, Tz};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// Changes of clocks are searched for between these instants. Before and after, zones keep their offset.
const CHANGES_FROM: i64 = -4_733_510_400;
const CHANGES_TO: i64 = 4_449_513_600;

/// The offset is sampled once in this many seconds. No zone changed its clocks twice and back within that time.
const STEP: i64 = 2 * DAY_SECONDS;

/// Returns whether a text is the name of a time zone, as in `AT TIME ZONE`: `Europe/Berlin`, `+02:00`, `PST`.
pub fn is_time_zone(name: &str) -> bool {
    is_zone(name)
}

/// A zone at an instant: its abbreviation and offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ZoneAtInstant {
    /// The zone's name, or its abbreviation.
    pub name: &'static str,
    /// The abbreviation, or the offset if there is none: `CEST`, `-03`.
    pub abbreviation: String,
    /// The offset from UTC in seconds. It is positive where clocks are ahead of UTC.
    pub ahead: i64,
    /// Whether it is summer time.
    pub is_summer: bool,
}

/// The zones of the IANA database at an instant, in seconds since the epoch.
pub fn zones_at(seconds: i64) -> Vec<ZoneAtInstant> {
    let instant = DateTime::from_timestamp(seconds, 0).unwrap_or_default().naive_utc();
    let at_instant = |zone: &Tz| {
        let offset = zone.offset_from_utc_datetime(&instant);
        let ahead = i64::from(offset.fix().local_minus_utc());
        let abbreviation = offset.abbreviation().map_or_else(|| offset_text(ahead), str::to_owned);
        ZoneAtInstant { name: zone.name(), abbreviation, ahead, is_summer: !offset.dst_offset().is_zero() }
    };
    TZ_VARIANTS.iter().map(at_instant).collect()
}

/// The abbreviations whose offset is fixed.
pub fn zone_abbreviations() -> Vec<ZoneAtInstant> {
    let of = |(name, minutes): &(&'static str, i64)| {
        let is_summer = name.ends_with("DT") || name.ends_with("DST") || SUMMER.contains(name);
        ZoneAtInstant { name, abbreviation: (*name).to_owned(), ahead: minutes * 60, is_summer }
    };
    ABBREVIATIONS.iter().map(of).collect()
}

/// The abbreviations of summer time that do not end with its letters.
const SUMMER: [&str; 5] = ["BST", "CEST", "EEST", "MEST", "MESZ"];

/// An offset as zones without an abbreviation show it: `-03`, `+0545`.
fn offset_text(ahead: i64) -> String {
    let (sign, minutes) = (if ahead < 0 { '-' } else { '+' }, ahead.abs() / 60);
    match minutes % 60 {
        0 => format!("{sign}{:02}", minutes / 60),
        rest => format!("{sign}{:02}{rest:02}", minutes / 60),
    }
}

/// A time zone: consecutive spans of time, each with a constant offset from UTC in seconds.
#[derive(Debug, PartialEq, Eq)]
pub struct Zone {
    spans: Vec<Span>,
}

/// A span from `start` (in seconds since the epoch; the first span has no beginning) up to the next span's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first second of the span, since the epoch.
    pub start: i64,
    /// The seconds by which local time is ahead of UTC.
    pub ahead: i64,
}

impl Zone {
    /// The zone with a name such as `Europe/Berlin`, in any case, `+02:00`, `UTC` or `PST`. As in PostgreSQL, an
    /// abbreviation such as `CET` keeps its offset in summer.
    pub fn named(name: &str) -> Result<Arc<Self>> {
        static KNOWN: Mutex<Option<HashMap<Tz, Arc<Zone>>>> = Mutex::new(None);
        if let Some(ahead) = fixed_offset(name) {
            return Ok(Arc::new(Self::always_ahead(ahead)));
        }
        let zone = zone_named(name).ok_or_else(|| unknown(name))?;
        let mut known = KNOWN.lock();
        let known = known.get_or_insert_with(HashMap::new);
        Ok(Arc::clone(known.entry(zone).or_insert_with(|| Arc::new(Self::of(zone, STEP)))))
    }

    /// The zone whose clocks are always this many seconds ahead of UTC.
    pub fn always_ahead(ahead: i64) -> Self {
        Self { spans: vec![Span { start: i64::MIN, ahead }] }
    }

    /// Returns whether a text is the name of a zone.
    pub fn is_name(name: &str) -> bool {
        is_zone(name)
    }

    /// Returns whether clocks always show UTC.
    pub fn is_utc(&self) -> bool {
        self.spans.iter().all(|span| span.ahead == 0)
    }

    /// Returns the spans in which local time is equally far ahead of UTC.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// The span in which an instant (seconds) lies.
    pub fn span_at(&self, seconds: i64) -> usize {
        self.spans.partition_point(|span| span.start <= seconds).max(1) - 1
    }

    /// The offset from UTC at an instant, in seconds.
    pub fn ahead_at(&self, seconds: i64) -> i64 {
        self.spans[self.span_at(seconds)].ahead
    }

    /// The offset from UTC of a local time. A repeated local time is the later one, and a skipped one is counted from
    /// before the change, as in PostgreSQL.
    pub fn ahead_of_local(&self, seconds: i64) -> i64 {
        let after = self.spans.partition_point(|span| span.start.saturating_add(span.ahead) <= seconds);
        self.spans[after.max(1) - 1].ahead
    }

    fn of(zone: Tz, step: i64) -> Self {
        let mut spans = vec![Span { start: i64::MIN, ahead: ahead(zone, CHANGES_FROM) }];
        let (mut low, mut before) = (CHANGES_FROM, spans[0].ahead);
        while low < CHANGES_TO {
            let (mut high, after) = (low + step, ahead(zone, low + step));
            if after != before {
                while high - low > 1 {
                    let middle = low + (high - low) / 2;
                    if ahead(zone, middle) == before { low = middle } else { high = middle }
                }
                before = ahead(zone, high);
                spans.push(Span { start: high, ahead: before });
            }
            low = high;
        }
        Self { spans }
    }
}

fn ahead(zone: Tz, seconds: i64) -> i64 {
    let instant = DateTime::from_timestamp(seconds, 0).unwrap_or_default();
    i64::from(zone.offset_from_utc_datetime(&instant.naive_utc()).fix().local_minus_utc())
}

fn unknown(name: &str) -> Error {
    // Users often remember only the city.
    let last = |full: &'static str| full.rsplit('/').next().unwrap_or(full);
    let names = || TZ_VARIANTS.iter().map(|zone| zone.name());
    let near = nearest_name(name, names()).or_else(|| {
        let city = nearest_name(name.rsplit('/').next().unwrap_or(name), names().map(last))?;
        names().find(|full| last(full) == city)
    });
    let error = sql_error(format!("no time zone named {name}"));
    match near {
        Some(near) => error.with_hint(format!("did you mean {near}?")),
        None => error.with_hint("write a name as 'Europe/Berlin', or '+02:00'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn berlin_changes_its_clocks_twice_a_year() {
        let zone = Zone::named("europe/berlin").unwrap();
        let ahead = |seconds| zone.spans()[zone.span_at(seconds)].ahead;
        assert_eq!((ahead(1_711_846_799), ahead(1_711_846_800)), (3_600, 7_200));
        assert_eq!((ahead(1_729_990_799), ahead(1_729_990_800)), (7_200, 3_600));
        assert_eq!((ahead(i64::MIN), ahead(i64::MAX)), (3_208, 3_600));
    }

    #[test]
    fn zones_have_their_offsets_of_an_instant() {
        let at = |seconds, name: &str| {
            let zone = zones_at(seconds).into_iter().find(|zone| zone.name == name).unwrap();
            (zone.abbreviation, zone.ahead, zone.is_summer)
        };
        assert_eq!(at(1_720_000_000, "Europe/Berlin"), ("CEST".to_owned(), 7_200, true));
        assert_eq!(at(1_705_000_000, "Europe/Berlin"), ("CET".to_owned(), 3_600, false));
        assert_eq!(at(1_705_000_000, "America/Denver"), ("MST".to_owned(), -25_200, false));
        assert_eq!(at(1_705_000_000, "Asia/Kathmandu"), ("+0545".to_owned(), 20_700, false));
        assert_eq!(offset_text(-10_800), "-03");
        let summer: Vec<&str> =
            zone_abbreviations().iter().filter(|zone| zone.is_summer).map(|zone| zone.name).collect();
        assert!(summer.contains(&"CETDST") && summer.contains(&"EDT") && !summer.contains(&"IST"), "{summer:?}");
    }

    #[test]
    fn local_times_at_a_change_of_clocks() {
        let zone = Zone::named("europe/berlin").unwrap();
        // 2024-03-31 02:30 does not exist; 2024-10-27 02:30 exists twice.
        assert_eq!(zone.ahead_of_local(1_711_852_200), 3_600);
        assert_eq!(zone.ahead_of_local(1_729_996_200), 3_600);
        assert_eq!(zone.ahead_of_local(1_720_000_000), 7_200);
    }

    #[test]
    fn a_finer_look_finds_no_further_changes() {
        for name in
            ["Africa/Casablanca", "America/Argentina/San_Luis", "Asia/Gaza", "Europe/Warsaw", "Antarctica/Troll"]
        {
            let zone = zone_named(name).unwrap();
            assert_eq!(Zone::of(zone, STEP), Zone::of(zone, 6 * 3_600), "{name}");
        }
    }

    #[test]
    fn an_unknown_zone_is_an_error_with_the_nearest_name() {
        for (name, near) in [("Europe/Berln", "Europe/Berlin"), ("tokio", "Asia/Tokyo"), ("+25:00", "'+02:00'")] {
            let error = Zone::named(name).unwrap_err().to_string();
            assert!(error.contains(near), "{error}");
        }
        assert!(Zone::named("Z").unwrap().is_utc() && Zone::named("UTC").unwrap().is_utc());
        assert_eq!(Zone::named("-05:30").unwrap().spans()[0].ahead, -19_800);
        assert_eq!(Zone::named("cet").unwrap().ahead_at(1_720_000_000), 3_600);
    }
}
