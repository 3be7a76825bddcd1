//! Times of day in text, as microseconds since midnight.
//!
//! Owned here: reading. Not owned: writing ([`calendar_text`](mod@crate::calendar_text)).

use crate::time::DAY_MICROSECONDS;
use crate::time_text::leading_number;

/// Parses `12:30`, `12:30:15` and `12:30:15.25`, also without colons (`1230`, `123015.25`), with `AM` or `PM` behind
/// it. Digits beyond microseconds are rounded. `None` if the text is not a time of day.
pub fn parse(text: &str) -> Option<i64> {
    let text = text.trim();
    let (digits, half) = match text.len().checked_sub(2).and_then(|at| text.split_at_checked(at)) {
        Some((digits, word)) if word.eq_ignore_ascii_case("am") => (digits.trim_end(), Some(0)),
        Some((digits, word)) if word.eq_ignore_ascii_case("pm") => (digits.trim_end(), Some(12)),
        _ => (text, None),
    };
    let mut rest = digits.as_bytes();
    let hour = number(&mut rest, 23)?;
    let hour = match half {
        Some(from) if (1..=12).contains(&hour) => hour % 12 + from,
        Some(_) => return None,
        None => hour,
    };
    let has_colons = take(&mut rest, b':').is_some();
    if !has_colons && !is_compact(digits.as_bytes()) {
        return None;
    }
    let minute = number(&mut rest, 59)?;
    let has_second =
        if has_colons { take(&mut rest, b':').is_some() } else { rest.first().is_some_and(u8::is_ascii_digit) };
    let second = if has_second { number(&mut rest, 59)? } else { 0 };
    let fraction = if take(&mut rest, b'.').is_some() { microseconds(&mut rest)? } else { 0 };
    let time = (hour * 3_600 + minute * 60 + second) * 1_000_000 + fraction;
    (rest.is_empty() && time < DAY_MICROSECONDS).then_some(time)
}

/// Returns a time of day that is written without colons with them; `None` for another text.
pub fn with_colons(text: &str) -> Option<String> {
    let text = text.trim();
    is_compact(text.as_bytes()).then(|| match text.as_bytes()[4..].first() {
        Some(next) if next.is_ascii_digit() => format!("{}:{}:{}", &text[..2], &text[2..4], &text[4..]),
        _ => format!("{}:{}{}", &text[..2], &text[2..4], &text[4..]),
    })
}

/// Returns a time of day whose minutes or seconds have one digit with two: `1:2:3` becomes `01:02:03`. `None` for
/// another text.
pub fn with_two_digits(text: &str) -> Option<String> {
    let mut rest = text.trim();
    let (mut parts, mut count, mut is_short) = ([0; 3], 0, false);
    loop {
        let (number, digits) = leading_number(rest.as_bytes(), 2)?;
        is_short |= digits == 1 && count > 0;
        parts[count] = number;
        count += 1;
        rest = &rest[digits..];
        match rest.strip_prefix(':') {
            Some(behind) if count < 3 => rest = behind,
            _ => break,
        }
    }
    // A digit more is no time, and a fraction of minutes means something else.
    let is_whole = !rest.starts_with(|next: char| next.is_ascii_digit() || next == '.' && count < 3);
    (is_short && is_whole)
        .then(|| parts[..count].iter().map(|part| format!("{part:02}")).collect::<Vec<_>>().join(":") + rest)
}

/// Returns whether a text begins with four or six digits, and no further one.
fn is_compact(text: &[u8]) -> bool {
    matches!(text.iter().take_while(|byte| byte.is_ascii_digit()).count(), 4 | 6)
}

/// One or two digits that make at most `most`.
fn number(rest: &mut &[u8], most: i64) -> Option<i64> {
    let (value, length) = leading_number(rest, 2)?;
    *rest = &rest[length..];
    (value <= most).then_some(value)
}

fn take(rest: &mut &[u8], byte: u8) -> Option<()> {
    *rest = rest.strip_prefix(&[byte])?;
    Some(())
}

/// The digits after the point, rounded to microseconds.
fn microseconds(rest: &mut &[u8]) -> Option<i64> {
    let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, behind) = rest.split_at(count);
    *rest = behind;
    let digit = |position: usize| digits.get(position).map_or(0, |digit| i64::from(digit - b'0'));
    let rounded = i64::from(digit(6) >= 5);
    (count > 0).then(|| (0..6).fold(0, |value, position| value * 10 + digit(position)) + rounded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar_text;

    #[test]
    fn times_are_read_and_written() {
        for (text, expected) in [
            ("00:00", Some(0)),
            ("4:05", Some(14_700_000_000)),
            ("04:05:06.789", Some(14_706_789_000)),
            ("04:05:06.1234565", Some(14_706_123_457)),
            ("23:59:59.999999", Some(DAY_MICROSECONDS - 1)),
            ("04:05 PM", Some(57_900_000_000)),
            ("12:00 am", Some(0)),
            ("12:30pm", Some(45_000_000_000)),
            ("23:59:59.9999995", None),
            ("0405", Some(14_700_000_000)),
            ("040506.5", Some(14_706_500_000)),
            ("0405 PM", Some(57_900_000_000)),
            ("04050", None),
            ("405", None),
            ("046000", None),
            ("0405:06", None),
            ("24:00", None),
            ("13:00 PM", None),
            ("04:60", None),
            ("04", None),
            ("04:05:06.", None),
            ("04:05x", None),
            ("é", None),
            ("", None),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
        let texts = ["0405", "040506.5+02", "04:05", "04050", "20240102"].map(with_colons);
        let texts = texts.each_ref().map(Option::as_deref);
        assert_eq!(texts, [Some("04:05"), Some("04:05:06.5+02"), None, None, None]);
        let texts = ["1:2:3", "1:2", "4:5:6.5 PM", "4:05", "4:5.5", "4:5:061", "4", "4:", "x"].map(with_two_digits);
        let texts = texts.each_ref().map(Option::as_deref);
        let expected = [Some("01:02:03"), Some("01:02"), Some("04:05:06.5 PM")];
        assert_eq!((&texts[..3], texts[3..].iter().flatten().count()), (&expected[..], 0));
        for text in ["00:00:00", "04:05:06.789", "23:59:59.999999", "12:00:00.1"] {
            assert_eq!(parse(text).map(calendar_text::time).as_deref(), Some(text));
        }
    }
}
