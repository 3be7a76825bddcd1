//! Times in their usual form, which are read faster than the others.

use atsdb_core::time::DAY_SECONDS;
use atsdb_core::time_text::year_first;

/// Remembers the last date, as neighbouring rows mostly share theirs.
#[derive(Debug, Default)]
pub(crate) struct DateMemory {
    text: [u8; 10],
    midnight: i64,
}

/// The usual form, `yyyy-mm-dd hh:mm:ss` with `T` or blank, a fraction, `Z`: seconds and nanoseconds.
#[inline]
pub(crate) fn usual_form(bytes: &[u8], memory: &mut DateMemory) -> Option<(i64, u32)> {
    let (head, tail) = bytes.split_first_chunk::<19>()?;
    if !matches!(head[10], b' ' | b'T') || head[13] != b':' || head[16] != b':' {
        return None;
    }
    if head[..10] != memory.text {
        let (days, 10) = year_first(&head[..10])? else { return None };
        memory.text.copy_from_slice(&head[..10]);
        memory.midnight = days * DAY_SECONDS;
    }
    let (hour, minute, second) = (pair(head[11], head[12])?, pair(head[14], head[15])?, pair(head[17], head[18])?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = memory.midnight + i64::from(hour * 3_600 + minute * 60 + second);
    match tail {
        [] | [b'Z'] => Some((seconds, 0)),
        [b'.', rest @ ..] => {
            let digits = rest.strip_suffix(b"Z").unwrap_or(rest);
            if digits.is_empty() || digits.len() > 9 {
                return None;
            }
            let mut nanoseconds = 0;
            for position in 0..9 {
                let digit = digits.get(position).map_or(0, |byte| byte.wrapping_sub(b'0'));
                if digit > 9 {
                    return None;
                }
                nanoseconds = nanoseconds * 10 + u32::from(digit);
            }
            Some((seconds, nanoseconds))
        }
        _ => None,
    }
}

#[inline]
fn pair(tens: u8, ones: u8) -> Option<u32> {
    let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
    (tens <= 9 && ones <= 9).then_some(u32::from(tens) * 10 + u32::from(ones))
}
