//! Formats quantities for people: sizes in bytes, counts, durations. `atsdb::size` and `atsdb::duration` parse them.

pub(crate) use atsdb::count_text::format_count as show_count;
use std::time::Duration;

/// `512 B`, `12.3 MB`: powers of 1,000, three digits.
pub(crate) fn show_bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if bytes < 1_000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1_000.0;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1_000.0;
        unit += 1;
    }
    let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.digits$} {}", UNITS[unit])
}

/// `1 chunk`, `1,234 chunks`.
pub(crate) fn show_many(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", show_count(count), if count == 1 { "" } else { "s" })
}

/// `1 row`, `1,234 rows`.
pub(crate) fn show_rows(count: u64) -> String {
    show_many(count, "row")
}

/// `0.123 s`, `1.23 s`, `2 min 3 s`, `3 h 25 min`.
pub(crate) fn show_duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    match seconds {
        _ if seconds < 1.0 => format!("{seconds:.3} s"),
        _ if seconds < 120.0 => format!("{seconds:.2} s"),
        _ if seconds < 7_200.0 => format!("{} min {} s", duration.as_secs() / 60, duration.as_secs() % 60),
        _ => format!("{} h {} min", duration.as_secs() / 3_600, duration.as_secs() / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well() {
        for (millis, text) in [(123, "0.123 s"), (1_234, "1.23 s"), (123_000, "2 min 3 s"), (12_345_000, "3 h 25 min")]
        {
            assert_eq!(show_duration(Duration::from_millis(millis)), text);
        }
    }

    #[test]
    fn sizes_and_counts_read_well() {
        let shown: Vec<String> = [0, 999, 1_000, 12_345, 999_999, 12_300_000].into_iter().map(show_bytes).collect();
        assert_eq!(shown, ["0 B", "999 B", "1.00 kB", "12.3 kB", "1.00 MB", "12.3 MB"]);
        assert_eq!((show_count(999), show_count(1_234_567)), ("999".to_owned(), "1,234,567".to_owned()));
    }
}
