//! Records: the locations of fields in a block's text. Values are not parsed here.
//!
//! The splitting is written by hand: it finds separators with SIMD and copies no field. `docs/figures.md` compares the
//! import of CSV with DuckDB's.

const HIGH: u32 = 1 << 31;
const LOW: u32 = 1 << 30;

/// The location of a field in a text of less than 2^30 bytes, and how it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field {
    /// Bit 31: quoted. Bit 30: a JSON string.
    start: u32,
    /// Bit 31: `""` stands for a quote. Bit 30: JSON escapes.
    end: u32,
}

impl Field {
    /// No field: NULL.
    pub(crate) const ABSENT: Self = Self { start: 0, end: 0 };

    pub(crate) fn plain(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }

    pub(crate) fn quoted(start: usize, end: usize, is_doubled: bool) -> Self {
        Self { start: start as u32 | HIGH, end: end as u32 | if is_doubled { HIGH } else { 0 } }
    }

    pub(crate) fn json_string(start: usize, end: usize, is_escaped: bool) -> Self {
        Self { start: start as u32 | HIGH | LOW, end: end as u32 | if is_escaped { LOW } else { 0 } }
    }

    pub(crate) fn start(self) -> usize {
        (self.start & (LOW - 1)) as usize
    }

    pub(crate) fn end(self) -> usize {
        (self.end & (LOW - 1)) as usize
    }

    #[inline]
    pub(crate) fn bytes(self, text: &[u8]) -> &[u8] {
        &text[self.start()..self.end()]
    }

    pub(crate) fn is_quoted(self) -> bool {
        self.start & HIGH != 0
    }

    /// Whether it is text because its writer said so, even where it looks like a number.
    pub(crate) fn is_json_string(self) -> bool {
        self.start & LOW != 0
    }

    pub(crate) fn is_escaped(self) -> bool {
        self.end & (HIGH | LOW) != 0
    }

    /// The text meant, escapes undone.
    pub(crate) fn unescaped(self, text: &str) -> String {
        let raw = &text[self.start()..self.end()];
        if self.end & LOW != 0 {
            crate::json_text::unescape(raw)
        } else if self.end & HIGH != 0 {
            raw.replace("\"\"", "\"")
        } else {
            raw.to_owned()
        }
    }
}

/// The records of a block, all of one width.
#[derive(Debug, Default)]
pub(crate) struct Records {
    /// Fields, record by record.
    pub(crate) fields: Vec<Field>,
    /// Where each record starts.
    pub(crate) starts: Vec<u32>,
    /// Fields of a record.
    pub(crate) width: usize,
}

impl Records {
    pub(crate) fn count(&self) -> usize {
        self.starts.len()
    }

    /// One field of every record.
    pub(crate) fn column(&self, position: usize) -> impl ExactSizeIterator<Item = Field> + '_ {
        let skip = position.min(self.fields.len());
        self.fields[skip..].iter().step_by(self.width.max(1)).copied()
    }
}

/// A malformed record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BadRecord {
    /// Where it starts.
    pub(crate) start: usize,
    /// What is wrong.
    pub(crate) reason: String,
    /// The field at fault, shortened by who shows it.
    pub(crate) value: String,
}

/// How separated values are separated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Separator(pub(crate) u8);

const ONES: u64 = u64::from_ne_bytes([1; 8]);
const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);

impl Separator {
    /// The end of an unquoted field: the next separator or line end, or the end of the text.
    #[inline]
    fn field_end(self, text: &[u8], from: usize) -> usize {
        let separators = u64::from_ne_bytes([self.0; 8]);
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
        while position < text.len() && text[position] != self.0 && text[position] != b'\n' {
            position += 1;
        }
        position
    }

    /// Reads one field at `from`: the field, where the separator or line end after it is, and what is wrong.
    #[inline]
    fn field(self, text: &[u8], from: usize) -> (Field, usize, Option<&'static str>) {
        match text.get(from) {
            Some(b'"') => self.quoted_field(text, from),
            Some(b' ') if self.0 != b' ' => {
                let blanks = text[from..].iter().take_while(|byte| **byte == b' ').count();
                if text.get(from + blanks) == Some(&b'"') {
                    return self.quoted_field(text, from + blanks);
                }
                let end = self.field_end(text, from);
                (Field::plain(from, end), end, None)
            }
            _ => {
                let end = self.field_end(text, from);
                (Field::plain(from, end), end, None)
            }
        }
    }

    fn quoted_field(self, text: &[u8], quote: usize) -> (Field, usize, Option<&'static str>) {
        let Some((close, is_doubled)) = closing_quote(text, quote) else {
            return (Field::plain(quote, text.len()), text.len(), Some("opens a quote that is never closed"));
        };
        let field = Field::quoted(quote + 1, close, is_doubled);
        let end = self.field_end(text, close + 1);
        let after = text[close + 1..end].trim_ascii();
        if after.is_empty() {
            (field, end, None)
        } else {
            (Field::plain(quote, end), end, Some("has text after its closing quote"))
        }
    }

    /// The records of a block. With `width`, every record has that many fields, or is bad; without, whatever they
    /// have, and `width` of the result is the first one's (fields of records of other widths are left out and
    /// counted as bad). Empty lines are no records.
    pub(crate) fn records(self, text: &[u8], width: Option<usize>) -> (Records, Vec<BadRecord>) {
        self.records_from(text, 0, width)
    }

    /// The same from a position on.
    pub(crate) fn records_from(self, text: &[u8], start: usize, width: Option<usize>) -> (Records, Vec<BadRecord>) {
        let (mut bad, mut position) = (Vec::new(), start);
        let mut records = Records { width: width.unwrap_or(0), ..Records::default() };
        records.fields.reserve(text.len() / 6);
        while position < text.len() {
            if text[position] == b'\n' || text[position..].starts_with(b"\r\n") {
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
                position = end + 1;
                if text.get(end) != Some(&self.0) {
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
            if !is_blank {
                bad.push(match record_error {
                    Some((reason, field)) => BadRecord {
                        start,
                        reason: reason.to_owned(),
                        value: String::from_utf8_lossy(field.bytes(text)).into_owned(),
                    },
                    None => BadRecord {
                        start,
                        reason: format!("{} instead of {}", fields(count), records.width),
                        value: String::new(),
                    },
                });
            }
            records.fields.truncate(first);
        }
        (records, bad)
    }

    /// How many fields each of the first records has.
    pub(crate) fn widths(self, text: &[u8], record_count_max: usize) -> Vec<usize> {
        let (mut widths, mut position) = (Vec::new(), 0);
        while position < text.len() && widths.len() < record_count_max {
            if text[position] == b'\n' || text[position..].starts_with(b"\r\n") {
                position += if text[position] == b'\n' { 1 } else { 2 };
                continue;
            }
            let mut width = 0;
            loop {
                let (_, end, _) = self.field(text, position);
                width += 1;
                position = end + 1;
                if text.get(end) != Some(&self.0) {
                    break;
                }
            }
            widths.push(width);
        }
        widths
    }

    /// Where the first record ends: after its line end, or at the text's end.
    pub(crate) fn first_end(self, text: &[u8]) -> usize {
        let mut position = 0;
        loop {
            let (_, end, _) = self.field(text, position);
            position = end + 1;
            if text.get(end) != Some(&self.0) {
                return position.min(text.len());
            }
        }
    }

    /// Where the last whole record ends: after its line end. `Err` is where a quote opens that is not closed, if
    /// nothing before it is whole.
    pub(crate) fn last_end(self, text: &[u8]) -> Cut {
        let (mut position, mut end, mut open) = (0, 0, None);
        while let Some(offset) = memchr::memchr(b'"', &text[position..]) {
            let quote = position + offset;
            if let Some(line_end) = memchr::memrchr(b'\n', &text[position..quote]) {
                end = position + line_end + 1;
            }
            if !self.opens(text, quote) {
                position = quote + 1;
                continue;
            }
            match closing_quote(text, quote) {
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

    /// Whether a quote outside of quotes opens a field: it is the field's first byte but for blanks.
    fn opens(self, text: &[u8], quote: usize) -> bool {
        let before = &text[..quote];
        let before = if self.0 == b' ' { before } else { &before[..before.len() - trailing_blanks(before)] };
        before.last().is_none_or(|byte| *byte == self.0 || *byte == b'\n')
    }
}

fn trailing_blanks(bytes: &[u8]) -> usize {
    bytes.iter().rev().take_while(|byte| **byte == b' ').count()
}

/// Where a text can be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    /// After the last whole record; 0 when there is none.
    pub(crate) end: usize,
    /// A quote, string or object that opens and is not closed.
    pub(crate) open: Option<usize>,
}

fn fields(count: usize) -> String {
    if count == 1 { "1 field".to_owned() } else { format!("{count} fields") }
}

/// The quote that closes the one at `quote`, and whether there are doubled ones between.
fn closing_quote(text: &[u8], quote: usize) -> Option<(usize, bool)> {
    let (mut position, mut is_doubled) = (quote + 1, false);
    loop {
        let close = position + memchr::memchr(b'"', text.get(position..)?)?;
        if text.get(close + 1) != Some(&b'"') {
            return Some((close, is_doubled));
        }
        (position, is_doubled) = (close + 2, true);
    }
}

/// Takes the `\r` of a `\r\n` off the last field.
fn trim_line_end(text: &[u8], fields: &mut [Field]) {
    if let Some(last) = fields.last_mut()
        && !last.is_quoted()
        && last.bytes(text).last() == Some(&b'\r')
    {
        last.end -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<Vec<String>>, Vec<String>) {
        let (records, bad) = Separator(b',').records(text.as_bytes(), None);
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
    fn records_of_another_width_are_bad_and_leave_no_fields() {
        let (rows, bad) = read("a,b\n1\n1,2,3\n\"x\"y,2\n3,4\n");
        assert_eq!(rows, [["a", "b"], ["3", "4"]]);
        assert_eq!(bad, ["1 field instead of 2", "3 fields instead of 2", "has text after its closing quote"]);
    }

    #[test]
    fn a_cut_never_falls_into_quotes() {
        let cut = |text: &str| Separator(b',').last_end(text.as_bytes());
        assert_eq!(cut("a,b\n1,\"x\ny\"\n2"), Cut { end: 12, open: None });
        assert_eq!(cut("a,b\n1,\"x\ny"), Cut { end: 4, open: Some(6) });
        assert_eq!(cut("a,5\" pipe\nb"), Cut { end: 10, open: None });
        assert_eq!(cut("a"), Cut { end: 0, open: None });
    }
}
