//! Separated values: where fields and records begin and end. Values are not parsed here.
//!
//! The splitting is written by hand: it finds separators with SIMD and copies no field. `docs/figures.md` compares the
//! import of CSV with DuckDB's.

use crate::records::{BadRecord, Cut, Field, Records};

/// The meaning of quotes and backslashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quoting {
    /// A quoted field may contain anything; `""` in it means a quote.
    Quotes,
    /// Quotes are ordinary characters, `\t` and similar are escapes, and `\N` is NULL, as in the text formats of
    /// PostgreSQL and ClickHouse.
    Escapes,
    /// Quotes are ordinary characters, and `\t` and similar are escapes, in the text of a sheet. NULL and numbers are
    /// as in fields without quotes, and a field with an escape is text.
    Cells,
    /// Quotes and backslashes are text.
    Nothing,
}

/// The separator of fields, and the quoting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Separator {
    /// The byte between fields.
    pub(crate) byte: u8,
    /// The meaning of quotes and backslashes.
    pub(crate) quoting: Quoting,
    /// The byte that encloses fields.
    pub(crate) quote: u8,
    /// Whether lines that begin with `#` and have other fields are comments.
    pub(crate) has_comments: bool,
    /// Whether an empty line is a record with one empty field.
    pub(crate) has_empty_records: bool,
    /// Whether any number of separators counts as one, and those around a line as none.
    pub(crate) has_runs: bool,
}

/// The longest field in brackets between blanks. It bounds the search for the closing bracket.
const BRACKETS_BYTES_MAX: usize = 256;

const ONES: u64 = u64::from_ne_bytes([1; 8]);
const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);

impl Separator {
    /// Fields between these bytes, which may be quoted.
    pub(crate) fn new(byte: u8) -> Self {
        Self {
            byte,
            quoting: Quoting::Quotes,
            quote: b'"',
            has_comments: false,
            has_empty_records: false,
            has_runs: false,
        }
    }

    /// Fields between blanks, of which any number separates.
    pub(crate) fn blanks() -> Self {
        Self { has_runs: true, ..Self::new(b' ') }
    }

    /// Returns the byte at which the next record starts at or after `from`: behind blanks and empty lines, if any
    /// number of blanks separates.
    #[inline]
    fn record_start(self, text: &[u8], from: usize) -> usize {
        if !self.has_runs || from >= text.len() {
            return from;
        }
        let is_between = |byte: &&u8| **byte == self.byte || matches!(**byte, b'\n' | b'\r');
        from + text[from..].iter().take_while(is_between).count()
    }

    /// Returns whether the record has a field after the one that ends at `end`, and where that field or the next line
    /// starts.
    #[inline]
    fn after_field(self, text: &[u8], end: usize) -> (bool, usize) {
        if text.get(end) != Some(&self.byte) {
            return (false, end + 1);
        }
        if !self.has_runs {
            return (true, end + 1);
        }
        let next = end + text[end..].iter().take_while(|byte| **byte == self.byte).count();
        match &text[next..] {
            [] | [b'\r'] => (false, text.len()),
            [b'\n', ..] => (false, next + 1),
            [b'\r', b'\n', ..] => (false, next + 2),
            _ => (true, next),
        }
    }

    /// The end of an unquoted field: the next separator or line end, or the end of the text.
    #[inline]
    fn field_end(self, text: &[u8], from: usize) -> usize {
        let separators = u64::from_ne_bytes([self.byte; 8]);
        let line_ends = u64::from_ne_bytes([b'\n'; 8]);
        let mut position = from;
        // Eight bytes at once: a byte that equals becomes zero, and the lowest zero is found by borrowing.
        while let Some(chunk) = text.get(position..).and_then(|rest| rest.first_chunk::<8>()) {
            let word = u64::from_le_bytes(*chunk);
            let (a, b) = (word ^ separators, word ^ line_ends);
            let found = ((a.wrapping_sub(ONES) & !a) | (b.wrapping_sub(ONES) & !b)) & HIGHS;
            if found != 0 {
                return position + found.trailing_zeros() as usize / 8;
            }
            position += 8;
        }
        while position < text.len() && text[position] != self.byte && text[position] != b'\n' {
            position += 1;
        }
        position
    }

    /// Reads one field at `from`. Returns the field, the position of the separator or line end after it, and an error
    /// if there is one.
    #[inline]
    fn field(self, text: &[u8], from: usize) -> (Field, usize, Option<&'static str>) {
        match text.get(from) {
            _ if self.quoting != Quoting::Quotes => self.unquoted_field(text, from),
            Some(byte) if *byte == self.quote => self.quoted_field(text, from),
            Some(byte) if *byte == self.lead() => self.led_field(text, from),
            _ => {
                let end = self.field_end(text, from);
                (Field::plain(from, end), end, None)
            }
        }
    }

    /// The byte besides the quote that may make a field end elsewhere than at the next separator: a blank, which may be
    /// before a quote, or between blanks a bracket. It is one byte, so that each field is compared with it once.
    #[inline]
    fn lead(self) -> u8 {
        if self.byte == b' ' { b'[' } else { b' ' }
    }

    /// Reads a field that begins with [`lead`](Self::lead).
    fn led_field(self, text: &[u8], from: usize) -> (Field, usize, Option<&'static str>) {
        let mut end = None;
        if self.byte == b' ' {
            end = self.bracket_end(text, from);
        } else {
            let blanks = text[from..].iter().take_while(|byte| **byte == b' ').count();
            if text.get(from + blanks) == Some(&self.quote) {
                return self.quoted_field(text, from + blanks);
            }
        }
        let end = end.unwrap_or_else(|| self.field_end(text, from));
        (Field::plain(from, end), end, None)
    }

    /// The end of a field in brackets, as web servers write times between blanks: `[01/Mar/2024:12:30:05 +0100]`. The
    /// bracket must be closed in the same line, not far away, and end the field.
    fn bracket_end(self, text: &[u8], from: usize) -> Option<usize> {
        let near = &text[from..text.len().min(from + BRACKETS_BYTES_MAX)];
        let close = from + memchr::memchr2(b']', b'\n', near)?;
        let end = self.field_end(text, close + 1);
        (text[close] == b']' && matches!(&text[close + 1..end], [] | [b'\r'])).then_some(end)
    }

    fn unquoted_field(self, text: &[u8], from: usize) -> (Field, usize, Option<&'static str>) {
        let end = self.field_end(text, from);
        if self.quoting == Quoting::Nothing {
            return (Field::plain(from, end), end, None);
        }
        let is_last = text.get(end) != Some(&self.byte);
        let bytes = &text[from..end];
        let bytes = if is_last && self.quoting == Quoting::Escapes {
            bytes.strip_suffix(b"\r").unwrap_or(bytes)
        } else {
            bytes
        };
        let field = match bytes {
            // The format's own NULL.
            b"\\N" if self.quoting == Quoting::Escapes => Field::plain(from, from),
            bytes if self.quoting == Quoting::Cells && memchr::memchr(b'\\', bytes).is_none() => {
                Field::plain(from, from + bytes.len())
            }
            bytes => Field::literal(from, from + bytes.len(), memchr::memchr(b'\\', bytes).is_some()),
        };
        (field, end, None)
    }

    fn quoted_field(self, text: &[u8], quote: usize) -> (Field, usize, Option<&'static str>) {
        let Some((close, is_doubled)) = closing_quote(text, quote, self.quote) else {
            return (Field::plain(quote, text.len()), text.len(), Some("opens a quote that is never closed"));
        };
        let field = match self.quote {
            b'\'' => Field::single_quoted(quote + 1, close, is_doubled),
            _ => Field::quoted(quote + 1, close, is_doubled),
        };
        let end = self.field_end(text, close + 1);
        let after = text[close + 1..end].trim_ascii();
        if after.is_empty() {
            (field, end, None)
        } else {
            (Field::plain(quote, end), end, Some("has text after its closing quote"))
        }
    }

    /// The records of a block. With `width`, every record has that many fields, or is bad; without, whatever they have,
    /// and `width` of the result is the first one's (fields of records of other widths are left out and counted as
    /// bad). Empty lines are not records, unless the file [has such records](Self::has_empty_records).
    pub(crate) fn records(self, text: &[u8], width: Option<usize>) -> (Records, Vec<BadRecord>) {
        self.records_from(text, 0, width)
    }

    /// Like [`records`](Self::records), from a position on.
    pub(crate) fn records_from(self, text: &[u8], start: usize, width: Option<usize>) -> (Records, Vec<BadRecord>) {
        let (mut bad, mut position) = (Vec::new(), start);
        let mut records = Records { width: width.unwrap_or(0), ..Records::default() };
        records.fields.reserve(text.len() / 6);
        while position < text.len() {
            position = self.record_start(text, position);
            if position == text.len() {
                break;
            }
            let is_empty = text[position] == b'\n' || text[position..].starts_with(b"\r\n");
            if is_empty && !self.has_empty_records {
                position += if text[position] == b'\n' { 1 } else { 2 };
                continue;
            }
            let (start, first) = (position, records.fields.len());
            let mut record_error = None;
            loop {
                let (field, end, wrong) = self.field(text, position);
                if let Some(reason) = wrong
                    && record_error.is_none()
                {
                    record_error = Some((reason, field));
                }
                records.fields.push(field);
                let (has_next, next) = self.after_field(text, end);
                position = next;
                if !has_next {
                    break;
                }
                if position >= text.len() {
                    records.fields.push(Field::plain(end + 1, end + 1));
                    break;
                }
            }
            trim_line_end(text, &mut records.fields);
            let count = records.fields.len() - first;
            if records.width == 0 {
                records.width = count;
            }
            if count == records.width && record_error.is_none() {
                records.starts.push(start as u32);
                continue;
            }
            let is_blank = count == 1 && records.fields[first].bytes(text).trim_ascii().is_empty();
            if self.has_comments && text[start] == b'#' {
                records.comment_count += 1;
                // A quote in a comment encloses nothing, so that the comment ends with its line.
                position = memchr::memchr(b'\n', &text[start..]).map_or(text.len(), |end| start + end + 1);
            } else if !is_blank {
                bad.push(match record_error {
                    Some((reason, field)) => BadRecord {
                        start,
                        reason: reason.to_owned(),
                        value: String::from_utf8_lossy(field.bytes(text)).into_owned(),
                    },
                    None => BadRecord {
                        start,
                        reason: format!(
                            "has {}, the file has {}",
                            counted(count, "field"),
                            counted(records.width, "column")
                        ),
                        value: String::new(),
                    },
                });
            }
            records.fields.truncate(first);
        }
        (records, bad)
    }

    /// The number of fields of each of the first records.
    pub(crate) fn widths(self, text: &[u8], record_count_max: usize) -> Vec<usize> {
        self.starts_and_widths(text, record_count_max).into_iter().map(|(_, width)| width).collect()
    }

    /// The start and the number of fields of each of the first records.
    pub(crate) fn starts_and_widths(self, text: &[u8], record_count_max: usize) -> Vec<(usize, usize)> {
        let (mut records, mut position) = (Vec::new(), self.record_start(text, 0));
        while position < text.len() && records.len() < record_count_max {
            if text[position] == b'\n' || text[position..].starts_with(b"\r\n") {
                position += if text[position] == b'\n' { 1 } else { 2 };
                continue;
            }
            let (start, mut width) = (position, 0);
            loop {
                let (_, end, _) = self.field(text, position);
                width += 1;
                let (has_next, next) = self.after_field(text, end);
                position = next;
                if !has_next {
                    break;
                }
            }
            records.push((start, width));
            position = self.record_start(text, position);
        }
        records
    }

    /// The end of the first record: after its line end, or at the end of the text.
    pub(crate) fn first_end(self, text: &[u8]) -> usize {
        let mut position = self.record_start(text, 0);
        loop {
            let (_, end, _) = self.field(text, position);
            let (has_next, next) = self.after_field(text, end);
            if !has_next {
                return next.min(text.len());
            }
            position = next;
        }
    }

    /// The end of the last whole record, after its line end. The error is the position of an opening quote that is
    /// never closed, if no record before it is whole.
    pub(crate) fn last_end(self, text: &[u8]) -> Cut {
        if self.quoting != Quoting::Quotes {
            return Cut { end: memchr::memrchr(b'\n', text).map_or(0, |end| end + 1), open: None };
        }
        let (mut position, mut end, mut open) = (0, 0, None);
        while let Some(offset) = memchr::memchr(self.quote, &text[position..]) {
            let quote = position + offset;
            if let Some(line_end) = memchr::memrchr(b'\n', &text[position..quote]) {
                end = position + line_end + 1;
            }
            if !self.opens(text, quote) {
                position = quote + 1;
                continue;
            }
            match closing_quote(text, quote, self.quote) {
                Some((close, _)) => position = close + 1,
                None => {
                    open = Some(quote);
                    position = text.len();
                    break;
                }
            }
        }
        if let Some(line_end) = memchr::memrchr(b'\n', &text[position..]) {
            end = position + line_end + 1;
        }
        Cut { end, open }
    }

    /// Returns whether a quote outside of quotes opens a field: it is the field's first byte but for blanks.
    fn opens(self, text: &[u8], quote: usize) -> bool {
        let before = &text[..quote];
        let before = if self.byte == b' ' { before } else { &before[..before.len() - trailing_blanks(before)] };
        before.last().is_none_or(|byte| *byte == self.byte || *byte == b'\n')
    }
}

fn trailing_blanks(bytes: &[u8]) -> usize {
    bytes.iter().rev().take_while(|byte| **byte == b' ').count()
}

fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// The position of the quote that closes the one at `quote`, and whether there are doubled quotes in between.
fn closing_quote(text: &[u8], quote: usize, byte: u8) -> Option<(usize, bool)> {
    let (mut position, mut is_doubled) = (quote + 1, false);
    loop {
        let close = position + memchr::memchr(byte, text.get(position..)?)?;
        if text.get(close + 1) != Some(&byte) {
            return Some((close, is_doubled));
        }
        (position, is_doubled) = (close + 2, true);
    }
}

/// Removes the `\r` of a `\r\n` from the last field.
fn trim_line_end(text: &[u8], fields: &mut [Field]) {
    if let Some(last) = fields.last_mut()
        && !last.is_quoted()
        && last.bytes(text).last() == Some(&b'\r')
    {
        *last = last.without_last_byte();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<Vec<String>>, Vec<String>) {
        let (records, bad) = Separator::new(b',').records(text.as_bytes(), None);
        let rows = records.fields.chunks(records.width.max(1));
        let rows = rows.map(|row| row.iter().map(|field| field.unescaped(text)).collect()).collect();
        (rows, bad.into_iter().map(|bad| bad.reason).collect())
    }

    #[test]
    fn quotes_hold_separators_line_ends_and_doubled_quotes() {
        let (rows, bad) = read("a,\"b,\n\"\"c\"\"\" , \"d\"\r\n\r\n1,5\" pipe,\n,,");
        assert_eq!(rows, [["a", "b,\n\"c\"", "d"], ["1", "5\" pipe", ""], ["", "", ""]]);
        assert!(bad.is_empty());
    }

    #[test]
    fn single_quotes_enclose_where_they_are_the_quotes() {
        let separator = Separator { quote: b'\'', ..Separator::new(b',') };
        let text = "a,'b,\n''c'''\n5\" pipe,'d'\n";
        let (records, bad) = separator.records(text.as_bytes(), None);
        let fields: Vec<String> = records.fields.iter().map(|field| field.unescaped(text)).collect();
        assert_eq!((fields.join("|").as_str(), bad.len()), ("a|b,\n'c'|5\" pipe|d", 0));
        assert_eq!(separator.last_end(b"a\n1,'x\ny"), Cut { end: 2, open: Some(4) });
    }

    #[test]
    fn records_of_another_width_are_bad_and_leave_no_fields() {
        let (rows, bad) = read("a,b\n1\n1,2,3\n\"x\"y,2\n3,4\n");
        assert_eq!(rows, [["a", "b"], ["3", "4"]]);
        let width = |fields: &str| format!("has {fields}, the file has 2 columns");
        assert_eq!(bad, [width("1 field"), width("3 fields"), "has text after its closing quote".to_owned()]);
    }

    #[test]
    fn a_cut_never_falls_into_quotes() {
        let cut = |text: &str| Separator::new(b',').last_end(text.as_bytes());
        assert_eq!(cut("a,b\n1,\"x\ny\"\n2"), Cut { end: 12, open: None });
        assert_eq!(cut("a,b\n1,\"x\ny"), Cut { end: 4, open: Some(6) });
        assert_eq!(cut("a,5\" pipe\nb"), Cut { end: 10, open: None });
        assert_eq!(cut("a"), Cut { end: 0, open: None });
    }

    #[test]
    fn backslashes_escape_and_quotes_are_text_where_the_format_says_so() {
        let separator = Separator { quoting: Quoting::Escapes, ..Separator::new(b'\t') };
        let text = "a\t\"b\" c\t\\N\r\nx\\ty\t\t\\\\N\n";
        let (records, bad) = separator.records(text.as_bytes(), None);
        assert!(bad.is_empty());
        let fields: Vec<String> = records.fields.iter().map(|field| field.unescaped(text)).collect();
        assert_eq!(fields, ["a", "\"b\" c", "", "x\ty", "", "\\N"]);
        assert_eq!(records.fields.iter().map(|field| field.is_quoted()).collect::<Vec<_>>()[2..5], [false, true, true]);
        assert_eq!(separator.last_end(b"a\t\"b\nc"), Cut { end: 5, open: None });
    }

    #[test]
    fn an_empty_line_may_be_a_record() {
        let separator = Separator { has_empty_records: true, ..Separator::new(b',') };
        let (records, bad) = separator.records(b"1\n\n3\r\n\r\n", Some(1));
        let lengths: Vec<usize> = records.fields.iter().map(|field| field.end() - field.start()).collect();
        assert_eq!((lengths.as_slice(), records.count(), bad.len()), (&[1, 0, 1, 0][..], 4, 0));
    }

    #[test]
    fn any_number_of_blanks_separates_where_they_are_the_separator() {
        let text = "  a   b  \r\n\n   \n 1  \"x  y\"\n2 3 4\n  [a  b]   c ";
        let (records, bad) = Separator::blanks().records(text.as_bytes(), None);
        let fields: Vec<String> = records.fields.iter().map(|field| field.unescaped(text)).collect();
        assert_eq!((fields.join("|").as_str(), bad.len()), ("a|b|1|x  y|[a  b]|c", 1));
        assert_eq!(Separator::blanks().widths(text.as_bytes(), 9), [2, 2, 3, 2]);
        assert_eq!(Separator::blanks().first_end(text.as_bytes()), 11);
        let (plain, _) = Separator::new(b' ').records(b"a  b \n", None);
        assert_eq!(plain.width, 4);
    }

    #[test]
    fn comments_between_records_are_none() {
        let separator = Separator { has_comments: true, ..Separator::new(b',') };
        let (records, bad) = separator.records(b"a,b\n# a note\n1,2\n#3,4\n", None);
        assert_eq!((records.count(), records.comment_count, bad.len()), (3, 1, 0));
        let (records, bad) = separator.records(b"a,b\n# 5,\"x\n1,2\n3,\"4\"\n", None);
        assert_eq!((records.count(), records.comment_count, bad.len()), (3, 1, 0));
    }
}
