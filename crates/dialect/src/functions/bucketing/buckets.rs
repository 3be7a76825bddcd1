//! Buckets: the intervals into which times are divided, in a time zone whose clocks may change. The boundaries are
//! those of a [`Grid`] in the local time of a time zone. If clocks skip a boundary, it is at the instant of their
//! change. If clocks show it twice, it counts once, the first time; but for buckets of up to an hour it counts twice,
//! so that the two hours are two buckets. The bucket of a time extends from the last boundary at or before it to the
//! next one. So buckets never overlap and leave no gap.

use super::grid::Grid;
use crate::text::zone::Zone;
use std::sync::Arc;

/// Assigns times of one unit to buckets.
#[derive(Debug, Clone)]
pub struct Buckets {
    grid: Grid,
    /// `None` for UTC.
    clocks: Option<Clocks>,
}

#[derive(Debug, Clone)]
struct Clocks {
    zone: Arc<Zone>,
    ticks_per_second: i128,
    /// Whether a boundary that clocks show twice counts twice.
    repeats: bool,
}

/// A bucket from `start` to `last`, both inclusive, clamped to the range of i64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// The start of the bucket.
    pub start: i64,
    /// The last moment of the bucket.
    pub last: i64,
}

impl Buckets {
    /// Creates buckets. The grid is one of local time if there is a zone. `ticks_per_second` is the number of time
    /// units in a second.
    pub fn new(grid: Grid, zone: Option<Arc<Zone>>, ticks_per_second: i64) -> Self {
        let ticks_per_second = i128::from(ticks_per_second);
        let repeats = grid.is_within(3_600 * ticks_per_second);
        let clocks = zone.filter(|zone| !zone.is_utc());
        Self { grid, clocks: clocks.map(|zone| Clocks { zone, ticks_per_second, repeats }) }
    }

    /// The bucket of a time; `None` if its start is below the range of i64.
    pub fn bucket(&self, time: i64) -> Option<Bucket> {
        if let (None, Some((width, phase))) = (&self.clocks, self.grid.steps()) {
            let rest = time.rem_euclid(width);
            let past = if rest < phase { rest - phase + width } else { rest - phase };
            let start = time.checked_sub(past)?;
            return Some(Bucket { start, last: start.saturating_add(width - 1) });
        }
        let (start, end) = match &self.clocks {
            None => {
                let start = self.grid.floor(time.into());
                (start, self.grid.next(start))
            }
            Some(clocks) => {
                let start = clocks.start(&self.grid, time.into());
                (start, clocks.next(&self.grid, start))
            }
        };
        let last = i64::try_from(end - 1).unwrap_or(i64::MAX);
        Some(Bucket { start: i64::try_from(start).ok()?, last })
    }

    /// Returns the start of the bucket of each time. `Err` has the first time without a bucket.
    pub fn starts(&self, times: &[i64], is_null: impl Fn(usize) -> bool) -> Result<Vec<i64>, i64> {
        let mut starts = Vec::with_capacity(times.len());
        // Times are usually in order, so many consecutive ones are in the same bucket.
        let mut current = Bucket { start: 1, last: 0 };
        for (row, time) in times.iter().enumerate() {
            if *time < current.start || *time > current.last {
                current = match self.bucket(*time) {
                    Some(bucket) => bucket,
                    None if is_null(row) => Bucket { start: *time, last: *time },
                    None => return Err(*time),
                };
            }
            starts.push(current.start);
        }
        Ok(starts)
    }
}

/// A span of a zone, in ticks.
struct Span {
    start: i128,
    ahead: i128,
    /// The offset before the change; in the first span the same as its own.
    ahead_before: i128,
}

impl Clocks {
    fn span(&self, index: usize) -> Span {
        let spans = self.zone.spans();
        let before = spans[index.saturating_sub(1)];
        Span {
            start: i128::from(spans[index].start) * self.ticks_per_second,
            ahead: i128::from(spans[index].ahead) * self.ticks_per_second,
            ahead_before: i128::from(before.ahead) * self.ticks_per_second,
        }
    }

    fn span_at(&self, time: i128) -> usize {
        let seconds = time.div_euclid(self.ticks_per_second);
        self.zone.span_at(i64::try_from(seconds).unwrap_or(if seconds < 0 { i64::MIN } else { i64::MAX }))
    }

    /// The last boundary at or before a time.
    fn start(&self, grid: &Grid, time: i128) -> i128 {
        let (mut time, mut index) = (time, self.span_at(time));
        loop {
            let Span { start, ahead, ahead_before } = self.span(index);
            let shown = grid.floor(time + ahead);
            let instant = shown - ahead;
            if index == 0 {
                return instant;
            }
            if instant >= start {
                let shown_before = shown < start + ahead_before;
                if self.repeats || !shown_before {
                    return instant;
                }
            } else if shown >= start + ahead_before {
                return start;
            }
            (time, index) = (start - 1, index - 1);
        }
    }

    /// The first boundary after a boundary.
    fn next(&self, grid: &Grid, boundary: i128) -> i128 {
        let mut index = self.span_at(boundary);
        let mut shown = grid.next(grid.floor(boundary + self.span(index).ahead));
        loop {
            let ahead = self.span(index).ahead;
            if index + 1 == self.zone.spans().len() {
                return shown - ahead;
            }
            let change = self.span(index + 1);
            if shown - ahead < change.start {
                return shown - ahead;
            }
            let first = change.start + change.ahead;
            if shown < first {
                return change.start;
            }
            // Local times that clocks show again after the change are boundaries again only if boundaries repeat.
            let from = if self.repeats { first } else { first.max(change.start + ahead) };
            let floor = grid.floor(from);
            shown = if floor == from { floor } else { grid.next(floor) };
            index += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::times::interval::parse_interval;
    use crate::text::time_text::parse_time;
    use atsdb_core::TimeUnit;
    use atsdb_core::time::format_time;
    use datafusion::arrow::datatypes::IntervalMonthDayNano as Interval;

    fn buckets(width: &str, zone: &str, offset: &str) -> Buckets {
        let (width, offset) = (parse_interval(width).unwrap(), parse_interval(offset).unwrap());
        let grid = Grid::new(width, 1_000_000_000, None, offset).unwrap();
        Buckets::new(grid, Some(Zone::named(zone).unwrap()), 1)
    }

    fn bucket(width: &str, zone: &str, time: &str) -> (String, String) {
        let bucket = buckets(width, zone, "0 days").bucket(parse_time(time, TimeUnit::Second).unwrap()).unwrap();
        let text = |time| format_time(time, TimeUnit::Second).trim_end_matches(":00Z").to_owned();
        (text(bucket.start), text(bucket.last + 1))
    }

    #[test]
    fn days_have_23_or_25_hours_and_hours_are_told_apart() {
        for (width, zone, time, start, end) in [
            ("1 day", "Europe/Berlin", "2024-03-31 12:00", "2024-03-30T23:00", "2024-03-31T22:00"),
            ("1 day", "Europe/Berlin", "2024-10-27 12:00", "2024-10-26T22:00", "2024-10-27T23:00"),
            ("1 week", "Europe/Berlin", "2024-10-27 12:00", "2024-10-20T22:00", "2024-10-27T23:00"),
            ("1 month", "Europe/Berlin", "2024-03-01 12:00", "2024-02-29T23:00", "2024-03-31T22:00"),
            ("1 hour", "Europe/Berlin", "2024-10-27 00:30", "2024-10-27T00:00", "2024-10-27T01:00"),
            ("1 hour", "Europe/Berlin", "2024-10-27 01:30", "2024-10-27T01:00", "2024-10-27T02:00"),
            ("2 hours", "Europe/Berlin", "2024-10-27 01:30", "2024-10-27T00:00", "2024-10-27T03:00"),
            ("2 hours", "Europe/Berlin", "2024-03-31 01:30", "2024-03-31T01:00", "2024-03-31T02:00"),
            ("15 minutes", "Europe/Berlin", "2024-10-27 01:14", "2024-10-27T01:00", "2024-10-27T01:15"),
            // Midnight is skipped once, and shown twice once.
            ("1 day", "America/Sao_Paulo", "2018-11-04 12:00", "2018-11-04T03:00", "2018-11-05T02:00"),
            ("1 day", "America/Havana", "2024-11-03 05:30", "2024-11-03T04:00", "2024-11-04T05:00"),
            // Clocks went back from 00:01 to 23:01.
            ("1 day", "America/St_Johns", "2010-11-07 02:30:30", "2010-11-07T02:30", "2010-11-08T03:30"),
            ("1 day", "America/St_Johns", "2010-11-07 02:50", "2010-11-07T02:30", "2010-11-08T03:30"),
            // A date that did not exist there.
            ("1 day", "Pacific/Apia", "2011-12-30 12:00", "2011-12-30T10:00", "2011-12-31T10:00"),
        ] {
            assert_eq!(bucket(width, zone, time), (start.to_owned(), end.to_owned()), "{width} {zone} {time}");
        }
    }

    #[test]
    fn buckets_follow_each_other_without_gap_or_overlap() {
        let zones = ["Europe/Berlin", "America/Havana", "Australia/Lord_Howe", "Africa/Casablanca", "America/St_Johns"];
        let widths = ["7 minutes", "1 hour", "90 minutes", "6 hours", "1 day", "1 week", "1 month", "1 year"];
        for zone in zones {
            for width in widths {
                for offset in ["0 days", "2 hours 30 minutes"] {
                    let buckets = buckets(width, zone, offset);
                    let mut time = 1_270_000_000;
                    for _ in 0..500 {
                        let bucket = buckets.bucket(time).unwrap();
                        let place = format!("{zone} {width} {offset} {time}");
                        assert!(bucket.start <= time && time <= bucket.last, "{place}");
                        for inside in [bucket.start, bucket.last, bucket.start + (bucket.last - bucket.start) / 2] {
                            assert_eq!(buckets.bucket(inside), Some(bucket), "{place}");
                        }
                        assert_eq!(buckets.bucket(bucket.last + 1).unwrap().start, bucket.last + 1, "{place}");
                        time = bucket.last + 1;
                    }
                }
            }
        }
    }

    #[test]
    fn a_vector_of_times_is_cut_like_each_of_them() {
        let buckets = buckets("6 hours", "Europe/Berlin", "0 days");
        let times: Vec<i64> = (0..5_000).map(|count| 1_700_000_000 + (count * 7_919_000) % 40_000_000).collect();
        let each: Vec<i64> = times.iter().map(|time| buckets.bucket(*time).unwrap().start).collect();
        assert_eq!(buckets.starts(&times, |_| false), Ok(each));
    }

    #[test]
    fn the_ends_of_i64_have_buckets_or_say_that_they_have_none() {
        let day = Interval { months: 0, days: 1, nanoseconds: 0 };
        let none = Interval { months: 0, days: 0, nanoseconds: 0 };
        for zone in [None, Some(Zone::named("Europe/Berlin").unwrap())] {
            let grid = Grid::new(day, 1_000_000_000, None, none).unwrap();
            let buckets = Buckets::new(grid, zone, 1);
            assert_eq!(buckets.bucket(i64::MAX).unwrap().last, i64::MAX);
            assert_eq!(buckets.starts(&[0, i64::MIN], |_| false), Err(i64::MIN));
            assert!(buckets.starts(&[0, i64::MIN], |row| row == 1).is_ok());
        }
    }
}
