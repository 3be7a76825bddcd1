//! Detects the separator of a file, and the meaning of quotes and backslashes.

use crate::csv::aligned::is_aligned;
use crate::csv::header::LOOK_RECORDS;
use crate::csv::separator::{Quoting, Separator};
use crate::options::{Format, Options};
use crate::records::BadRecord;

/// A quote that opens this near to the end of the inspected text may be closed after it.
const OPEN_BYTES_MAX: usize = 64 << 10;

/// The separator of the records: the requested one, or else the one detected from the text.
pub(crate) fn separator_for(text: &[u8], options: &Options) -> Separator {
    let asked = options.delimiter.map(|byte| match byte {
        // If the caller names a format, each blank separates.
        b' ' if options.format.is_none() => Separator::blanks(),
        byte => Separator::new(byte),
    });
    match options.format {
        Some(Format::Sheet) => Separator { quoting: Quoting::Cells, ..Separator::new(b'\t') },
        Some(Format::Text) => Separator { quoting: Quoting::Escapes, ..asked.unwrap_or(Separator::new(b'\t')) },
        _ if options.no_quotes => {
            let unquoted = |separator: Separator| Separator { quoting: Quoting::Nothing, ..separator };
            asked.map_or_else(|| separator_of(text, options, unquoted), unquoted)
        }
        _ => {
            let is_open = options.names.is_none() && options.format != Some(Format::Csv);
            let is_single = is_open && has_single_quotes(text, options.delimiter);
            let with_quote =
                |separator: Separator| Separator { quote: if is_single { b'\'' } else { b'"' }, ..separator };
            let separator = asked.map_or_else(|| separator_of(text, options, with_quote), with_quote);
            let is_tabs = is_open && !is_single && separator.byte == b'\t';
            if is_tabs { with_quoting(separator, text) } else { separator }
        }
    }
}

/// Returns whether fields are enclosed in single quotes: several open with one, all of these close with one, and none
/// opens with a double quote.
fn has_single_quotes(text: &[u8], delimiter: Option<u8>) -> bool {
    let is_end = |byte: Option<&u8>| match (byte, delimiter) {
        (None | Some(b'\n' | b'\r'), _) => true,
        (Some(byte), Some(delimiter)) => *byte == delimiter,
        (Some(byte), None) => matches!(byte, b',' | b';' | b'\t' | b'|'),
    };
    let (mut enclosed, mut position) = (0, 0);
    while let Some(offset) = memchr::memchr2(b'\'', b'"', &text[position..]) {
        let quote = position + offset;
        position = quote + 1;
        if !is_end(quote.checked_sub(1).and_then(|before| text.get(before))) {
            continue;
        }
        if text[quote] == b'"' {
            return false;
        }
        let closing = |from: usize| memchr::memchr(b'\'', text.get(from..)?).map(|offset| from + offset);
        let mut close = closing(position);
        // A doubled quote is part of the field.
        while let Some(first) = close.filter(|at| text.get(at + 1) == Some(&b'\'')) {
            close = closing(first + 2);
        }
        match close {
            Some(close) if is_end(text.get(close + 1)) => (enclosed, position) = (enclosed + 1, close + 1),
            // The text may be cut off within the last field.
            None if enclosed > 1 => break,
            _ => return false,
        }
    }
    enclosed > 1
}

/// The meaning of quotes and backslashes in a file separated by tabs. `\N` in a field, or backslashes that all begin
/// escapes, among them `\\` or `\'`, indicate the format of PostgreSQL and ClickHouse. Quotes that would not be closed,
/// or have text after them, are text.
fn with_quoting(separator: Separator, text: &[u8]) -> Separator {
    let as_it_is = |quoting: Quoting| Separator { quoting, ..separator };
    let plain = as_it_is(Quoting::Nothing);
    let is_null = |line: &[u8]| line.split(|byte| *byte == b'\t').any(|field| field.trim_ascii_end() == b"\\N");
    if text.split(|byte| *byte == b'\n').any(is_null) {
        return as_it_is(Quoting::Escapes);
    }
    let has_escapes = [br"\\", br"\'"].iter().any(|escape| memchr::memmem::find(text, *escape).is_some());
    let escapes = if has_escapes && are_escapes(text) { Quoting::Escapes } else { Quoting::Nothing };
    let (_, bad) = separator.records(text, None);
    let is_misread = |bad: &BadRecord| {
        let is_far = text.len() - bad.start > OPEN_BYTES_MAX.min(text.len() / 2);
        bad.reason.contains("closing quote")
            || (bad.reason.contains("never closed") && (is_far || escapes == Quoting::Escapes))
    };
    if bad.iter().any(is_misread) {
        let widths = plain.widths(text, LOOK_RECORDS);
        let is_even = widths.first().is_some_and(|first| widths.iter().all(|width| width == first));
        return if is_even { as_it_is(escapes) } else { separator };
    }
    let has_quotes = text.split(|byte| matches!(byte, b'\t' | b'\n')).any(|field| field.starts_with(b"\""));
    if escapes == Quoting::Escapes && !has_quotes { as_it_is(escapes) } else { separator }
}

/// The separator that splits the records, including the header, most evenly. Blanks count only if nothing else does and
/// the caller names no format.
fn separator_of(text: &[u8], options: &Options, with: impl Fn(Separator) -> Separator) -> Separator {
    let mut best = (with(Separator::new(b',')), (0, 0, 1));
    for candidate in separators(text).into_iter().map(|byte| with(Separator::new(byte))) {
        let widths = candidate.widths(text, LOOK_RECORDS);
        let data = if widths.len() > 1 { &widths[1..] } else { &widths[..] };
        let Some(width) = most_frequent(data).filter(|width| *width > 1) else { continue };
        let first_width = widths.first().copied().unwrap_or(0);
        let even = data.iter().filter(|other| **other == width).count() * 100 / data.len();
        // A header with one name too few counts less: the separator of `time;v` above `10:00;1,5` is not a comma.
        let fit = match first_width {
            _ if first_width == width => 2,
            _ if first_width + 1 == width => 1,
            _ => 0,
        };
        let score = (fit, even / 5, width);
        if score > best.1 {
            best = (candidate, score);
        }
    }
    let may_be_aligned = best.1.2 == 1 && options.format.is_none();
    let blanks = with(Separator::blanks());
    if may_be_aligned && is_aligned(blanks, text) { blanks } else { best.0 }
}

/// The bytes that may separate the fields of a text.
pub(crate) fn separators(text: &[u8]) -> Vec<u8> {
    let mut separators = vec![b',', b';', b'\t', b'|'];
    separators.retain(|byte| *byte != b',' || !has_decimal_commas(text));
    separators
}

/// Returns whether commas are decimal ones, in numbers between semicolons: `1,5;2,5`. Most lines with a comma have
/// semicolons, and there each comma is between two digits, and is the only one of its field. The line above the first
/// of them is no header with commas, as above numbers and lists: `time,list`, `5,1;2`.
fn has_decimal_commas(text: &[u8]) -> bool {
    let is_decimal = |field: &[u8]| {
        let Some(comma) = memchr::memchr(b',', field) else { return true };
        let (whole, fraction) = (&field[..comma], &field[comma + 1..]);
        let are_digits =
            whole.last().is_some_and(u8::is_ascii_digit) && fraction.first().is_some_and(u8::is_ascii_digit);
        are_digits && memchr::memchr(b',', fraction).is_none()
    };
    let has = |line: &[u8], byte: u8| memchr::memchr(byte, line).is_some();
    let (mut comma_count, mut decimal_count, mut above) = (0, 0, &text[..0]);
    // The last line may be cut off.
    let lines = memchr::memrchr(b'\n', text).map_or(text, |end| &text[..end]);
    for line in lines.split(|byte| *byte == b'\n').take(LOOK_RECORDS) {
        if has(line, b',') {
            comma_count += 1;
            if has(line, b';') {
                let is_below_header = decimal_count == 0 && has(above, b',') && !has(above, b';');
                if is_below_header || !line.split(|byte| *byte == b';').all(is_decimal) {
                    return false;
                }
                decimal_count += 1;
            }
        }
        above = line;
    }
    decimal_count * 2 > comma_count
}

pub(crate) fn most_frequent(widths: &[usize]) -> Option<usize> {
    let mut sorted = widths.to_vec();
    sorted.sort_unstable();
    sorted.chunk_by(|a, b| a == b).max_by_key(|run| run.len()).map(|run| run[0])
}

/// Returns whether every backslash of a text begins an escape that is in use.
fn are_escapes(text: &[u8]) -> bool {
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        if !rest.get(at + 1).is_some_and(|letter| b"\\ntrbfvN0'\"/".contains(letter)) {
            return false;
        }
        rest = &rest[at + 2..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_numbers_between_semicolons_are_decimal() {
        for text in [
            "1,5;2,5\n",
            "\"2024-03-01 10:00\";1,5\n",
            "1,5;2\n3,",
            "Report, of 2024\nTime;v\n10:00;-0,5\n11:00;1.234,5\n",
        ] {
            assert!(has_decimal_commas(text.as_bytes()), "{text:?}");
        }
        for text in
            ["1;2\n", "a,1;2\n", "1,2,3;4\n", "x,y;z\n1,5;2,5\n", "1,2\n1,2\n1,5;2\n", "time,a;b\n", "v,list\n5,1;2\n"]
        {
            assert!(!has_decimal_commas(text.as_bytes()), "{text:?}");
        }
    }

    #[test]
    fn a_path_of_windows_has_no_escapes() {
        assert!(are_escapes(b"a\\nb\\\\c") && !are_escapes(b"C:\\Users") && !are_escapes(b"end\\"));
    }
}
