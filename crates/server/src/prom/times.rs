//! Times and durations in requests.

use atsdb::TimeUnit;
use atsdb::time_text::{TimeForms, parse_time};
use atsdb_prom::promql::{ExprKind, parse};

/// Parses seconds since 1970 or an RFC 3339 time. Returns milliseconds.
pub(crate) fn time(text: &str) -> Option<i64> {
    if let Ok(seconds) = text.parse::<f64>() {
        return milliseconds(seconds);
    }
    rfc3339(text)
}

/// Parses a number of seconds or a duration like `5m`. Returns milliseconds.
pub(crate) fn duration(text: &str) -> Option<i64> {
    if let Ok(seconds) = text.parse::<f64>() {
        return milliseconds(seconds);
    }
    match parse(text).ok()?.kind {
        ExprKind::Number(seconds) => milliseconds(seconds),
        _ => None,
    }
}

fn milliseconds(seconds: f64) -> Option<i64> {
    let milliseconds = (seconds * 1000.0).round();
    // This is twice the range of dates, and small enough that sums do not overflow.
    (milliseconds.abs() < 1e17).then_some(milliseconds as i64)
}

/// `2024-02-29T12:00:00.5+01:00`
fn rfc3339(text: &str) -> Option<i64> {
    let time = parse_time(text.as_bytes(), &TimeForms::RFC_3339)?;
    i64::try_from(time.nearest(TimeUnit::Millisecond)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_durations_are_read() {
        assert_eq!(time("1435781451.781"), Some(1_435_781_451_781));
        assert_eq!(time("2015-07-01T20:10:51.781Z"), Some(1_435_781_451_781));
        assert_eq!(time("2024-02-29T12:00:00+01:00"), time("2024-02-29T11:00:00Z"));
        assert_eq!(time("1970-01-01T00:00:00Z"), Some(0));
        for wrong in ["", "now", "2023-02-29T12:00:00Z", "2024-02-29", "1e30", "NaN", "2024-02-29T12:00:00"] {
            assert_eq!(time(wrong), None, "{wrong}");
        }
        assert_eq!((duration("15"), duration("1h30m"), duration("0.5")), (Some(15_000), Some(5_400_000), Some(500)));
        assert_eq!(duration("soon"), None);
    }
}
