//! Times and durations in requests.

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
    let bytes = text.as_bytes();
    let number = |from: usize, length: usize| -> Option<i64> {
        let digits = text.get(from..from + length)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let separated = bytes.len() >= 20
        && bytes[4] == b'-'
        && bytes[7] == b'-'
        && matches!(bytes[10], b'T' | b't' | b' ')
        && bytes[13] == b':'
        && bytes[16] == b':';
    if !separated {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 2)?, number(8, 2)?);
    let (hour, minute, second) = (number(11, 2)?, number(14, 2)?, number(17, 2)?);
    let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    let days = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        _ => return None,
    };
    if !(1..=days).contains(&day) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let mut rest = &text[19..];
    let mut fraction = 0.0;
    if let Some(after) = rest.strip_prefix('.') {
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        fraction = format!("0.{}", &after[..digits]).parse().ok().filter(|_| digits > 0)?;
        rest = &after[digits..];
    }
    let offset = match rest {
        "Z" | "z" => 0,
        _ if rest.len() == 6 && rest.as_bytes()[3] == b':' => {
            let at = text.len() - 6;
            let minutes = number(at + 1, 2)? * 60 + number(at + 4, 2)?;
            match rest.as_bytes()[0] {
                b'+' => minutes,
                b'-' => -minutes,
                _ => return None,
            }
        }
        _ => return None,
    };
    // Howard Hinnant's `days_from_civil`.
    let shifted = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (shifted.div_euclid(400), shifted.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    let seconds = days * 86_400 + hour * 3600 + (minute - offset) * 60 + second;
    Some(seconds * 1000 + (fraction * 1000.0_f64).round() as i64)
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
