//! Times of fields, and what they say about their column. UTC where no zone is written.

use crate::values::clocks::nanoseconds_of;
use crate::values::zones::{Instant, Zone};
use atsdb_core::TimeUnit;
use atsdb_core::time::DAY_SECONDS;
use atsdb_core::time_text::{DateReading, OrderSeen, TimeForms, parse_time};

/// A time read from text. With the name of a zone, it is what clocks showed there, counted as if it were UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeText {
    /// Seconds since the Unix epoch.
    pub(crate) seconds: i64,
    /// Nanoseconds after that.
    pub(crate) nanoseconds: u32,
    /// The number of fractional digits that are needed to write it.
    pub(crate) fraction_digits: u8,
    /// Whether there was no time of day.
    pub(crate) is_date: bool,
    /// Whether a zone was written: an offset, or a name.
    pub(crate) is_zoned: bool,
    /// The zone that is named.
    zone: Option<Zone>,
    /// Whether the text gives only the last two digits of the year.
    pub(crate) is_short_year: bool,
    /// Whether the text names a month, a quarter or a week, which stands for its first day.
    pub(crate) is_period: bool,
    /// The evidence of the text about the order of day and month.
    pub(crate) order: OrderSeen,
}

impl TimeText {
    /// The instant of the time. `zone` is that of times without one. `None` if clocks never showed it.
    pub(crate) fn instant(&self, zone: Option<Zone>) -> Option<Instant> {
        match self.zone.or(zone.filter(|_| !self.is_zoned)) {
            Some(zone) => zone.instant(self.seconds),
            None => Some(Instant { seconds: self.seconds, is_first_of_two: false }),
        }
    }

    /// The time as a count of a unit, in UTC if it has no zone. `None` if it is more precise than the unit or out of
    /// range, or if clocks never showed it.
    pub(crate) fn count(&self, unit: TimeUnit) -> Option<i64> {
        count(self.instant(None)?.seconds, self.nanoseconds, unit)
    }

    /// Days since the epoch, for a date or a midnight without the name of a zone.
    pub(crate) fn days(&self) -> Option<i32> {
        let midnight = self.zone.is_none() && self.nanoseconds == 0 && self.seconds.rem_euclid(DAY_SECONDS) == 0;
        i32::try_from(self.seconds.div_euclid(DAY_SECONDS)).ok().filter(|_| midnight)
    }
}

/// Seconds and nanoseconds as a count of a unit; `None` when they are finer or farther than that.
#[inline]
pub(crate) fn count(seconds: i64, nanoseconds: u32, unit: TimeUnit) -> Option<i64> {
    let per_second = unit.per_second();
    let step = 1_000_000_000 / per_second as u32;
    if !nanoseconds.is_multiple_of(step) {
        return None;
    }
    let count = i128::from(seconds) * i128::from(per_second) + i128::from(nanoseconds / step);
    i64::try_from(count).ok()
}

/// A date and, if there is one, the time of day, in any known form. The name of a zone may stand behind a time of day.
pub(crate) fn parse(bytes: &[u8], reading: DateReading) -> Option<TimeText> {
    // This excludes most texts that are not times: the shortest time is `1/1/24`, and every date starts with a digit, a
    // sign or a month's letter.
    if bytes.len() < 6 || bytes.len() > 64 {
        return None;
    }
    parse_unnamed(bytes, reading).or_else(|| {
        let (local, zone) = Zone::behind(bytes)?;
        let time = parse_unnamed(local, reading).filter(|time| !time.is_date && !time.is_zoned)?;
        Some(TimeText { is_zoned: true, zone: Some(zone), ..time })
    })
}

/// Returns whether a month may be two successive years as well, as fiscal years and seasons are written: `2010-11`.
pub(crate) fn may_be_two_years(month: &[u8]) -> bool {
    let number = |digits: &[u8]| std::str::from_utf8(digits).ok()?.parse::<u32>().ok();
    let [_, _, year @ .., b'-', tens, ones] = month else { return false };
    number(year).zip(number(&[*tens, *ones])).is_some_and(|(year, next)| (year + 1) % 100 == next)
}

/// A time without the name of a zone.
fn parse_unnamed(bytes: &[u8], reading: DateReading) -> Option<TimeText> {
    let time = parse_time(bytes, &TimeForms::files(reading))?;
    let (nanoseconds, fraction_digits) = nanoseconds_of(time.fraction())?;
    Some(TimeText {
        seconds: i64::try_from(time.seconds()).ok()?,
        nanoseconds,
        fraction_digits,
        is_date: time.clock.is_none(),
        is_zoned: time.has_offset,
        zone: None,
        is_short_year: time.is_short_year,
        is_period: time.is_period,
        order: time.order,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::usual_times::{DateMemory, usual_form};
    use atsdb_core::time::format_time;
    use atsdb_core::time_text::DateOrder;

    const READING: DateReading = DateReading { order: None, until: None };

    fn text_of(text: &str) -> Option<String> {
        let time = parse(text.as_bytes(), READING)?;
        if let Some((seconds, nanoseconds)) = usual_form(text.as_bytes(), &mut DateMemory::default()) {
            assert_eq!((seconds, nanoseconds), (time.seconds, time.nanoseconds), "{text}");
        }
        Some(format_time(time.count(TimeUnit::Nanosecond)?, TimeUnit::Nanosecond).replace(".000000000", ""))
    }

    #[test]
    fn times_are_read_in_all_their_forms() {
        for (text, meant) in [
            ("2016-10-14 21:17:05", "2016-10-14T21:17:05Z"),
            ("2016-10-14T21:17:05Z", "2016-10-14T21:17:05Z"),
            ("2016-10-14T21:17", "2016-10-14T21:17:00Z"),
            ("2016/10/14 21:17", "2016-10-14T21:17:00Z"),
            ("2016-10-14", "2016-10-14T00:00:00Z"),
            ("14/10/2016 21:17", "2016-10-14T21:17:00Z"),
            ("10/14/2016 9:17:00 PM", "2016-10-14T21:17:00Z"),
            ("14.10.2016 21:17", "2016-10-14T21:17:00Z"),
            ("05.10.2016", "2016-10-05T00:00:00Z"),
            ("14/10/16 21:17", "2016-10-14T21:17:00Z"),
            ("10/14/69", "2069-10-14T00:00:00Z"),
            ("5/10/70", "1970-10-05T00:00:00Z"),
            ("05.10.16 21:17", "2016-10-05T21:17:00Z"),
            ("14-Oct-16", "2016-10-14T00:00:00Z"),
            ("14-Oct-2016 21:17:05", "2016-10-14T21:17:05Z"),
            ("14 October 2016", "2016-10-14T00:00:00Z"),
            ("Oct 14, 2016 21:17", "2016-10-14T21:17:00Z"),
            ("2025-08-31T21:00:00-04:00", "2025-09-01T01:00:00Z"),
            ("2025-08-31 21:00:00+0530", "2025-08-31T15:30:00Z"),
            ("2025-08-31 21:00:00 UTC", "2025-08-31T21:00:00Z"),
            ("2016-12-31 24:00", "2017-01-01T00:00:00Z"),
            ("2016-10-14 21:17:05.1234567", "2016-10-14T21:17:05.123456700Z"),
            ("2016-10-14T21:17:05,5Z", "2016-10-14T21:17:05.500000000Z"),
            ("1969-12-31T23:59:59.999", "1969-12-31T23:59:59.999000000Z"),
            ("2024-07-01 12:00 Europe/Berlin", "2024-07-01T10:00:00Z"),
            ("2024-01-01T12:00:00.5 America/New_York", "2024-01-01T17:00:00.500000000Z"),
            ("01.07.2024 12:00  Asia/Kolkata ", "2024-07-01T06:30:00Z"),
            ("2024-10-27 02:30 Europe/Berlin", "2024-10-27T00:30:00Z"),
        ] {
            assert_eq!(text_of(text).as_deref(), Some(meant), "{text}");
        }
    }

    #[test]
    fn times_of_logs_are_read() {
        for (text, meant) in [
            ("[10/Oct/2000:13:55:36 -0700]", "2000-10-10T20:55:36Z"),
            ("10/Oct/2000:13:55:36 -0700", "2000-10-10T20:55:36Z"),
            ("Mon, 23 Nov 2026 04:10:50 GMT", "2026-11-23T04:10:50Z"),
            ("Monday, 23 Nov 2026 04:10:50 +0100", "2026-11-23T03:10:50Z"),
            ("Mon Nov 23 04:10:50 UTC 2026", "2026-11-23T04:10:50Z"),
            ("Mon Nov  2 04:10:50 2026", "2026-11-02T04:10:50Z"),
            ("Nov 23 04:10:50 UTC 2026", "2026-11-23T04:10:50Z"),
            ("20240101T000000Z", "2024-01-01T00:00:00Z"),
            ("20240101T0930+0100", "2024-01-01T08:30:00Z"),
            ("20240101T000000.5", "2024-01-01T00:00:00.500000000Z"),
        ] {
            assert_eq!(text_of(text).as_deref(), Some(meant), "{text}");
        }
    }

    #[test]
    fn a_time_without_a_year_is_the_last_one_before_another_time() {
        let of = |text: &str, until: &str| {
            let until = parse(until.as_bytes(), READING).unwrap().seconds;
            let time = parse(text.as_bytes(), DateReading { until: Some(until), ..READING })?;
            Some(format_time(time.seconds, TimeUnit::Second))
        };
        assert_eq!(of("Nov 23 04:10:50", "2026-11-23 05:00:00").as_deref(), Some("2026-11-23T04:10:50Z"));
        assert_eq!(of("Nov 24 04:10:50", "2026-11-23 05:00:00").as_deref(), Some("2026-11-24T04:10:50Z"));
        assert_eq!(of("Nov 25 04:10:50", "2026-11-23 05:00:00").as_deref(), Some("2025-11-25T04:10:50Z"));
        assert_eq!(of("Jan  1 00:00:01", "2026-12-31 23:59:59").as_deref(), Some("2027-01-01T00:00:01Z"));
        assert_eq!(of("Feb 29 12:00:00", "2026-11-23 05:00:00").as_deref(), Some("2024-02-29T12:00:00Z"));
        assert_eq!(of("Feb 30 12:00:00", "2026-11-23 05:00:00"), None);
        assert_eq!(parse(b"Nov 23 04:10:50", READING), None);
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "2016",
            "20161014",
            "2016-13-01",
            "2016-02-30",
            "2016-10-14x",
            "2016-10-14 25:00",
            "13/13/2016",
            "1-2-16",
            "10.15.07",
            "1/2/165",
            "2016-10-14 21:17:05.",
            "2016-10-14 21:60",
            "192.168.10.2016",
            "1.2.3.4",
            "12:30:00",
            "may be 1",
            "1-2-20163",
            "[note 7]",
            "Mon 5 apples",
            "Mon Nov 23 04:10:50 CETX 2026",
            "20241301T000000Z",
            "2024-07-01 Europe/Berlin",
            "2024-07-01 12:00:00Z Europe/Berlin",
            "2024-07-01 12:00 Europe/Berlim",
            "2024-07-01 12:00 CET",
            "Europe/Berlin",
            "20240101T",
        ] {
            assert_eq!(parse(text.as_bytes(), READING), None, "{text}");
            assert_eq!(usual_form(text.as_bytes(), &mut DateMemory::default()), None, "{text}");
        }
    }

    #[test]
    fn the_order_of_day_and_month_is_seen_or_given() {
        let seen = |text: &str| parse(text.as_bytes(), READING).unwrap().order;
        assert_eq!(seen("13/01/2016"), OrderSeen::DayFirst);
        assert_eq!(seen("01/13/2016"), OrderSeen::MonthFirst);
        assert_eq!(seen("01/02/2016"), OrderSeen::Either);
        assert_eq!(seen("01.02.2016"), OrderSeen::Fixed);
        assert_eq!(parse(b"13/01/2016", DateReading { order: Some(DateOrder::MonthFirst), ..READING }), None);
    }

    #[test]
    fn far_years_come_back() {
        for time in [i64::MIN, -62_135_596_800_000_001, i64::MAX] {
            let text = format_time(time, TimeUnit::Microsecond);
            assert_eq!(parse(text.as_bytes(), READING).unwrap().count(TimeUnit::Microsecond), Some(time), "{text}");
        }
    }
}
