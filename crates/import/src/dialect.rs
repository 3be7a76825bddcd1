//! The dialect of a file of separated values: its separator, and whether its first record names the columns.

use crate::facts::{Facts, kind};
use crate::null::NullTexts;
use crate::options::Options;
use crate::record::{Field, Separator};
use atsdb_core::name::name_key;
use std::collections::HashSet;

/// How many bytes are inspected.
pub(crate) const LOOK_BYTES: u64 = 256 << 10;

/// How many records are inspected.
const LOOK_RECORDS: usize = 1_000;

/// How to read one file of separated values.
#[derive(Debug, Clone)]
pub(crate) struct Dialect {
    /// What is between fields.
    pub(crate) separator: Separator,
    /// Names of the fields; an empty one is not read.
    pub(crate) names: Vec<String>,
    /// Whether the first record is the header.
    pub(crate) has_header: bool,
    /// Where the lines of comments before the first record end.
    pub(crate) comments_end: usize,
    /// Whether blanks around text are padding: they are around names, too.
    pub(crate) is_padded: bool,
}

impl Dialect {
    /// The dialect of a text's beginning, which ends with a whole record if it is the whole text.
    pub(crate) fn of(text: &[u8], options: &Options, nulls: &NullTexts) -> Self {
        let comments_end = if options.names.is_none() { comments_end(text, options.delimiter) } else { 0 };
        Self { comments_end, ..Self::of_records(&text[comments_end..], options, nulls) }
    }

    fn of_records(text: &[u8], options: &Options, nulls: &NullTexts) -> Self {
        let separator = options.delimiter.map_or_else(|| separator_of(text), Separator);
        let widths = separator.widths(text, LOOK_RECORDS);
        let first_width = widths.first().copied().unwrap_or(0);
        let data_width = most_frequent(widths.get(1..).unwrap_or(&[])).unwrap_or(first_width);
        let (head, data_start) = first_record(separator, text);
        // Only when no record has as many fields as the header: else the others are bad.
        let has_one_more = data_width == first_width + 1 && !widths[1..].contains(&first_width);
        let width = if has_one_more { data_width } else { first_width };
        let (records, _) = separator.records(&text[data_start..], Some(width.max(1)));
        let data = &text[data_start..];
        let offset = usize::from(has_one_more);
        let columns: Vec<Facts> = (0..first_width)
            .map(|position| {
                let mut facts = Facts::new();
                let fields = records.column(position + offset).take(LOOK_RECORDS).collect::<Vec<_>>();
                facts.observe(data, fields.into_iter(), nulls, options.date_order, &|_| 0);
                facts
            })
            .collect();
        let has_header = options.header.unwrap_or_else(|| has_one_more || is_header(text, &head, &columns, nulls));
        let raw: Vec<String> = if has_header {
            head.iter().map(|field| name_of(*field, text)).collect()
        } else {
            vec![String::new(); first_width]
        };
        let is_padded = has_header
            && raw.iter().zip(&head).any(|(name, field)| !field.is_quoted() && name.trim().len() < name.len());
        let mut names = raw;
        let mut unread_last = false;
        if has_header && has_one_more {
            // A separator at the end of every record makes an empty field more; else the first has no name.
            unread_last = records.column(width - 1).all(|field| field.bytes(data).is_empty()) && records.count() > 0;
            match unread_last {
                true => names.push("unread".to_owned()),
                false => names.insert(0, "row".to_owned()),
            }
        }
        let mut names = proper_names(&names);
        if unread_last && let Some(last) = names.last_mut() {
            last.clear();
        }
        Self { separator, names, has_header, comments_end: 0, is_padded }
    }

    /// Where the records start in the file's first block.
    pub(crate) fn data_start(&self, text: &[u8]) -> usize {
        let records = text.get(self.comments_end..).unwrap_or(&[]);
        self.comments_end.min(text.len()) + if self.has_header { first_record(self.separator, records).1 } else { 0 }
    }
}

/// Where the comments end that a file begins with: lines that begin with `#` and are cut into other fields than the
/// first line that does not. One that has the same fields is a header or a record that begins so.
fn comments_end(text: &[u8], delimiter: Option<u8>) -> usize {
    let is_comment = |line: &[u8]| line.trim_ascii_start().starts_with(b"#");
    let mut ends = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let end = memchr::memchr(b'\n', &text[start..]).map_or(text.len(), |at| start + at + 1);
        let line = &text[start..end];
        if !is_comment(line) && !line.trim_ascii().is_empty() {
            break;
        }
        ends.push((start, end));
        start = end;
    }
    let records = &text[start..];
    if records.is_empty() {
        return 0;
    }
    let separator = delimiter.map_or_else(|| separator_of(records), Separator);
    let width = separator.widths(records, 1).first().copied().unwrap_or(0);
    let is_other = |(start, end): &(usize, usize)| {
        let line = &text[*start..*end];
        let own = separator.widths(line, 1).first().copied().unwrap_or(0);
        own != width || (width == 1 && line.trim_ascii_start().starts_with(b"# "))
    };
    ends.iter().take_while(|line| is_other(line)).last().map_or(0, |(_, end)| *end)
}

fn name_of(field: Field, text: &[u8]) -> String {
    let name = String::from_utf8_lossy(field.bytes(text));
    if field.is_escaped() { name.replace("\"\"", "\"") } else { name.into_owned() }
}

/// The first record and where the next one starts.
fn first_record(separator: Separator, text: &[u8]) -> (Vec<Field>, usize) {
    let start = text.iter().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
    let end = separator.first_end(&text[start..]) + start;
    let (records, _) = separator.records(&text[..end], None);
    (records.fields, end)
}

/// The separator that splits the records, including the header, most evenly.
fn separator_of(text: &[u8]) -> Separator {
    let mut best = (Separator(b','), (0, 0, 1));
    for candidate in [b',', b';', b'\t', b'|'].map(Separator) {
        let widths = candidate.widths(text, LOOK_RECORDS);
        let data = if widths.len() > 1 { &widths[1..] } else { &widths[..] };
        let Some(width) = most_frequent(data).filter(|width| *width > 1) else { continue };
        let first_width = widths.first().copied().unwrap_or(0);
        let even = data.iter().filter(|other| **other == width).count() * 100 / data.len();
        // A header with a name too few counts less: `time;v` above `10:00;1,5` is no comma.
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
    best.0
}

fn most_frequent(widths: &[usize]) -> Option<usize> {
    let mut sorted = widths.to_vec();
    sorted.sort_unstable();
    sorted.chunk_by(|a, b| a == b).max_by_key(|run| run.len()).map(|run| run[0])
}

/// Whether the first record names the columns: a text above numbers or times says so; else a number, time or
/// nothing among its fields says that it does not.
fn is_header(text: &[u8], head: &[Field], columns: &[Facts], nulls: &NullTexts) -> bool {
    let own: Vec<u16> = head
        .iter()
        .map(|field| {
            let mut facts = Facts::new();
            facts.observe(text, std::iter::once(*field), nulls, None, &|_| 0);
            facts.kinds
        })
        .collect();
    let typed = kind::NUMBERS | kind::TIMES | kind::BOOL;
    let stands_above =
        |(own, below): (&u16, &Facts)| *own == kind::TEXT && below.kinds & typed != 0 && below.kinds & kind::TEXT == 0;
    own.iter().zip(columns).any(stands_above) || own.iter().all(|kinds| *kinds == kind::TEXT)
}

/// Names that a table takes: trimmed, without control characters, none empty, none twice.
pub(crate) fn proper_names(raw: &[String]) -> Vec<String> {
    let mut taken = HashSet::new();
    raw.iter()
        .enumerate()
        .map(|(position, name)| {
            let cleaned = name.trim().replace(char::is_control, " ");
            let base = if cleaned.is_empty() { format!("column{}", position + 1) } else { cleaned };
            let mut unique = base.clone();
            let mut count = 1;
            while !taken.insert(name_key(&unique)) {
                count += 1;
                unique = format!("{base}_{count}");
            }
            unique
        })
        .collect()
}
