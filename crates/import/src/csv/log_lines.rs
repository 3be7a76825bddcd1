//! Recognises logs: lines of text with times, in which commas and the like separate nothing.

use crate::csv::header::{LOOK_RECORDS, is_of_log, kinds_of};
use crate::csv::separator::{Quoting, Separator};
use crate::facts::kind;
use crate::facts::nulls::NullTexts;
use crate::options::Options;
use crate::records::Field;

/// The separator of lines that are whole: the unit separator of ASCII, which texts do not contain.
const NO_SEPARATOR: u8 = 0x1f;

/// The separator that leaves the lines whole if the text is a log; `first` is its first record, as `separator` splits
/// it. The caller's own separator and format take precedence.
pub(crate) fn whole_lines(
    separator: Separator,
    text: &[u8],
    first: &[Field],
    options: &Options,
    nulls: &NullTexts,
) -> Option<Separator> {
    let is_open = options.delimiter.is_none() && options.format.is_none() && options.names.is_none();
    let has_quotes_as_usual = separator.quoting == Quoting::Quotes;
    let is_log = || has_log_words(separator, text, first, nulls) || has_fractions(text);
    (is_open && has_quotes_as_usual && is_log()).then_some(Separator { byte: NO_SEPARATOR, ..separator })
}

/// Returns whether the first field is a text with a time among its words, and what follows is not separated evenly, or
/// only by signs that texts contain.
fn has_log_words(separator: Separator, text: &[u8], first: &[Field], nulls: &NullTexts) -> bool {
    let Some(field) = first.first().filter(|field| !field.is_quoted()) else { return false };
    let is_text = kinds_of(text, &[*field], nulls) == [kind::TEXT];
    let is_even = || separator.widths(text, LOOK_RECORDS).iter().all(|width| *width == first.len());
    is_text && is_of_log(text, &[*field], nulls) && (matches!(separator.byte, b',' | b';') || !is_even())
}

/// Returns whether the first comma of the lines begins the fraction of a second, with three digits before other words:
/// `2024-03-01 12:30:05,123 INFO start`.
fn has_fractions(text: &[u8]) -> bool {
    let mut lines = text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).take(LOOK_RECORDS);
    lines.next().is_some_and(|line| fraction(line) == Some(true)) && lines.all(|line| fraction(line) != Some(false))
}

/// Returns whether the comma after a line's first time of day begins a fraction; `None` without such a comma.
fn fraction(line: &[u8]) -> Option<bool> {
    let comma = memchr::memchr(b',', line)?;
    let clock = line[..comma].last_chunk::<8>()?;
    let is_clock = clock.iter().enumerate().all(|(place, byte)| match place {
        2 | 5 => *byte == b':',
        _ => byte.is_ascii_digit(),
    });
    let (digits, rest) = line[comma + 1..].split_at_checked(3).unwrap_or((&[], &[]));
    let are_digits = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let has_words = rest.first().is_some_and(|byte| b" \t])".contains(byte)) && !rest.trim_ascii().is_empty();
    is_clock.then_some(are_digits && has_words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_behind_a_time_of_day_may_begin_a_fraction() {
        assert!(has_fractions(b"2024-03-01 12:30:05,123 INFO a, b\n  at line 5, column 3\n[12:30:06,000] x\n"));
        for text in ["12:30:05,123\n", "12:30:05,123 kg\n12:30:06,98 kg\n", "time,v\n12:30:05,123 x\n", "a,123 b\n"] {
            assert!(!has_fractions(text.as_bytes()), "{text:?}");
        }
    }
}
