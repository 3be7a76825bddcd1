//! Quantities for people, and back: sizes in bytes, counts, rates, durations.

use atsdb::{Error, Result};
use std::time::Duration;

/// The bytes that a text such as `256MiB`, `1.5 GB` or `65536` names. KB, MB and GB are powers of 1,000; KiB, MiB,
/// GiB and the bare letters K, M and G of 1,024.
pub(crate) fn parse_bytes(text: &str) -> Result<usize> {
    let refuse =
        || Error::usage(format!("cannot read the size {text:?}")).with_hint("write it as 256MiB, 1GB or 65536");
    let text = text.trim();
    let end = text.find(|character: char| !character.is_ascii_digit() && character != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().map_err(|_| refuse())?;
    let factor: u64 = match text[end..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        _ => return Err(refuse()),
    };
    let bytes = number * factor as f64;
    if bytes > (1_u64 << 50) as f64 {
        return Err(refuse());
    }
    Ok(bytes as usize)
}

/// The time that a text such as `30s`, `500ms`, `1.5 min`, `2h` or `45` (seconds) names. Nothing is no time.
pub(crate) fn parse_duration(text: &str) -> Result<Duration> {
    let refuse =
        || Error::usage(format!("cannot read the time {text:?}")).with_hint("write it as 500ms, 30s, 5min or 1h");
    let text = text.trim();
    let end = text.find(|character: char| !character.is_ascii_digit() && character != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().map_err(|_| refuse())?;
    let factor = match text[end..].trim().to_ascii_lowercase().as_str() {
        "ms" => 0.001,
        "" | "s" | "sec" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3_600.0,
        _ => return Err(refuse()),
    };
    match Duration::try_from_secs_f64(number * factor) {
        Ok(duration) if !duration.is_zero() => Ok(duration),
        _ => Err(refuse()),
    }
}

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

/// `1,234,567`.
pub(crate) fn show_count(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
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
    fn sizes_are_read_with_and_without_a_unit() {
        for (text, bytes) in [("0", 0), ("65536", 65_536), ("256MiB", 256 << 20), ("1.5 kb", 1_500), ("2G", 2 << 30)] {
            assert_eq!(parse_bytes(text).unwrap(), bytes, "{text}");
        }
        for bad in ["", "MB", "-1", "1 XB", "1e9", "1..2", "99999999999GB"] {
            assert!(parse_bytes(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn times_are_read_with_and_without_a_unit() {
        for (text, millis) in [("30s", 30_000), ("500 ms", 500), ("1.5min", 90_000), ("2H", 7_200_000), ("45", 45_000)]
        {
            assert_eq!(parse_duration(text).unwrap(), Duration::from_millis(millis), "{text}");
        }
        for bad in ["", "s", "-1s", "0", "1 day", "1..2s", "99999999999999999999h"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }

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
