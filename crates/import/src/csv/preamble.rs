//! Lines before the first record: comments, titles, remarks of the program that wrote the file.

use crate::csv::groups::Groups;
use crate::csv::header::{LOOK_RECORDS, column_facts, first_record, is_header, kinds_of, stands_above};
use crate::csv::separator::Separator;
use crate::csv::separator_choice::{most_frequent, separator_for, separators};
use crate::csv::units::unit_ends;
use crate::facts::nulls::NullTexts;
use crate::facts::{Facts, kind};
use crate::options::Options;
use crate::records::error::{line_ends, shown};
use std::collections::HashSet;

/// The maximum number of lines before a header that is detected.
const TITLES_MAX: usize = 50;

/// The lines before the first record.
#[derive(Debug, Default)]
pub(crate) struct Preamble {
    /// The end of the preamble.
    pub(crate) end: usize,
    /// The number of comments. If there are some, there may also be comments between the records.
    pub(crate) comment_count: u64,
    /// A note for the user.
    pub(crate) note: Option<String>,
}

/// Finds the lines before the first record: `skip` lines if given, otherwise comments and titles. They begin at
/// `start`, below a line that names the separator; `skip` counts that line, too.
pub(crate) fn preamble(text: &[u8], start: usize, options: &Options, nulls: &NullTexts) -> Preamble {
    if let Some(count) = options.skip {
        let nth = (count as usize).checked_sub(1).map(|last| memchr::memchr_iter(b'\n', text).nth(last));
        let end = nth.map_or(0, |end| end.map_or(text.len(), |end| end + 1));
        return Preamble { end: end.max(start), ..Preamble::default() };
    }
    if options.names.is_some() {
        return Preamble::default();
    }
    let comments = start + comments_end(&text[start..], options, nulls);
    let titles = titles_end(&text[comments..], options, nulls);
    let (lines, end) = (line_ends(&text[comments..comments + titles]), comments + titles);
    let first =
        String::from_utf8_lossy(text[comments..end].split(|byte| *byte == b'\n').next().unwrap_or(b"").trim_ascii());
    let note = (titles > 0).then(|| {
        let what = if lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") };
        format!("left out {what} before the header, the first is {}; --skip 0 reads all lines", shown(&first))
    });
    let is_comment = |line: &&[u8]| line.trim_ascii_start().starts_with(b"#");
    let comment_count = text[start..comments].split(|byte| *byte == b'\n').filter(is_comment).count() as u64;
    Preamble { end, comment_count, note }
}

/// The end of the titles: lines before a header that have a different number of fields than the records, or mostly
/// empty fields.
fn titles_end(text: &[u8], options: &Options, nulls: &NullTexts) -> usize {
    let candidates = match options.delimiter {
        Some(_) => vec![separator_for(text, options)],
        None => separators(text).into_iter().map(Separator::new).collect(),
    };
    let mut best = (0, 0);
    for separator in candidates {
        let records = separator.starts_and_widths(text, LOOK_RECORDS);
        let widths: Vec<usize> = records.iter().map(|(_, width)| *width).collect();
        let Some(width) = most_frequent(&widths).filter(|width| *width > 1) else { continue };
        let share = widths.iter().filter(|other| **other == width).count() * 100 / widths.len();
        let score = share / 5 * 1_000 + width;
        if score > best.0 {
            best = (score, table_start(separator, text, &records, width, options, nulls));
        }
    }
    if best.0 == 0 { aligned_start(text, options, nulls) } else { best.1 }
}

/// The position of the header of a table whose columns are aligned with blanks, if there are other lines before it;
/// otherwise 0.
fn aligned_start(text: &[u8], options: &Options, nulls: &NullTexts) -> usize {
    let blanks = Separator::blanks();
    let records = blanks.starts_and_widths(text, LOOK_RECORDS);
    let widths: Vec<usize> = records.iter().map(|(_, width)| *width).collect();
    let Some(width) = most_frequent(&widths).filter(|width| *width > 1) else { return 0 };
    let start = table_start(blanks, text, &records, width, options, nulls);
    if separator_for(&text[start..], options).has_runs { start } else { 0 }
}

/// The position of a table's header, if there are other lines before it; otherwise 0.
fn table_start(
    separator: Separator,
    text: &[u8],
    records: &[(usize, usize)],
    width: usize,
    options: &Options,
    nulls: &NullTexts,
) -> usize {
    let is_row = |index: usize| {
        let Some((start, own)) = records.get(index) else { return true };
        *own == width && !is_mostly_empty(separator, &text[*start..])
    };
    let is_start = |index: &usize| is_row(*index) && is_row(index + 1) && records.len() > index + 1;
    let Some(index) = (0..records.len().min(TITLES_MAX)).find(is_start) else { return 0 };
    let has_groups = |at: &usize| Groups::of(separator, &text[records[*at].0..], options, nulls).is_some();
    // The groups of a wide table may look like a title above its names.
    if let Some(at) = [index.checked_sub(1), Some(index)].into_iter().flatten().find(has_groups) {
        return records[at].0;
    }
    if let Some(later) = later_header(separator, text, records, index, options, nulls) {
        return records[later].0;
    }
    if index == 0 {
        return 0;
    }
    let start = records[index].0;
    let (head, _) = separator.records(&text[start..start + separator.first_end(&text[start..])], None);
    let data = records.get(index + 1).map_or(text.len(), |(start, _)| *start);
    let columns = column_facts(separator, &text[data..], width, 0..width, options, nulls);
    let head_text = &text[start..];
    let is_above = stands_above(head_text, &head.fields, &columns, nulls);
    // A header with a name too few is one: the first column, or the last, has none.
    if !is_above && records[index - 1].1 + 1 == width && (index == 1 || width > 2) {
        return records[index - 1].0;
    }
    let all_before_differ =
        records[..index].iter().all(|(start, own)| *own != width || is_mostly_empty(separator, &text[*start..]));
    if all_before_differ && is_header(head_text, &head.fields, &columns, nulls) { start } else { 0 }
}

/// Kinds of values that one column may have together, without texts.
const TOGETHER: [u16; 3] = [kind::NUMBERS | kind::COMMAS, kind::TIMES, kind::BOOL];

/// The position of a header after titles with as many fields as the records have. The first record is at `first`.
/// Each field of the header is a text, each column below it and its units has values of other types, and no title fits
/// these.
fn later_header(
    separator: Separator,
    text: &[u8],
    records: &[(usize, usize)],
    first: usize,
    options: &Options,
    nulls: &NullTexts,
) -> Option<usize> {
    let width = records[first].1;
    let kinds = |position: usize| {
        let record = &text[records[position].0..];
        let (read, _) = separator.records(&record[..separator.first_end(record)], None);
        kinds_of(record, &read.fields, nulls)
    };
    let is_text = |position: usize| kinds(position).iter().all(|kinds| *kinds == kind::TEXT);
    // This may be the header itself, above a record of units.
    if options.header == Some(false) || is_text(first) {
        return None;
    }
    let is_header = |position: &usize| {
        let (head, below) = (*position, *position + 1);
        if records[head].1 != width || !is_text(head) || !are_names(separator, &text[records[head].0..]) {
            return false;
        }
        let (names, data) = (&text[records[head].0..records[below].0], &text[records[below].0..]);
        let written: Vec<Vec<u8>> =
            first_record(separator, names).0.iter().map(|field| field.bytes(names).to_vec()).collect();
        let units = unit_ends(separator, data, &written, options, nulls);
        let next = below + units.len();
        if records.get(next).is_none_or(|(_, own)| *own != width) || kinds(next).contains(&kind::TEXT) {
            return false;
        }
        let data = &data[units.last().copied().unwrap_or(0)..];
        let columns = column_facts(separator, data, width, 0..width, options, nulls);
        let fits =
            |own: u16, below: u16| own == 0 || TOGETHER.iter().any(|kinds| own & kinds != 0 && below & kinds != 0);
        let is_record = |position: usize| {
            let own = kinds(position);
            // If each record has its first field, mostly the time, a title without one is no record.
            let lacks_first = own.first() == Some(&0) && columns[0].null_count == 0;
            let mut pairs = own.into_iter().zip(&columns);
            records[position].1 == width && !lacks_first && pairs.all(|(own, facts)| fits(own, facts.kinds))
        };
        let is_typed = |facts: &Facts| facts.kinds != 0 && facts.kinds & kind::TEXT == 0;
        columns.iter().all(is_typed) && !(first..head).any(is_record)
    };
    (first + 1..records.len().saturating_sub(1).min(TITLES_MAX)).find(is_header)
}

/// Returns whether the fields of a record may be the names of columns: they differ, and are not all in brackets, as
/// units are.
fn are_names(separator: Separator, text: &[u8]) -> bool {
    let (record, _) = separator.records(&text[..separator.first_end(text)], None);
    let fields = || record.fields.iter().map(|field| field.bytes(text).trim_ascii());
    let distinct: HashSet<&[u8]> = fields().collect();
    distinct.len() == record.fields.len() && !fields().all(|field| matches!(field.first(), Some(b'(' | b'[')))
}

/// Returns whether more than half of the fields of a record are empty, as of titles in files that spreadsheets write.
fn is_mostly_empty(separator: Separator, text: &[u8]) -> bool {
    let (record, _) = separator.records(&text[..separator.first_end(text)], None);
    let empty = record.fields.iter().filter(|field| field.bytes(text).trim_ascii().is_empty()).count();
    empty * 2 > record.fields.len()
}

/// The end of the comments at the start of a file: lines that begin with `#` and have a different number of fields than
/// the first line without `#`. A line with the same number of fields is a header or a record, unless the line after
/// them is a header.
fn comments_end(text: &[u8], options: &Options, nulls: &NullTexts) -> usize {
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
    let separator = separator_for(records, options);
    let width = separator.widths(records, 1).first().copied().unwrap_or(0);
    let is_header = options.header != Some(false) && stands_first(separator, records, width, options, nulls);
    let is_other = |(start, end): &(usize, usize)| {
        let line = &text[*start..*end];
        let own = separator.widths(line, 1).first().copied().unwrap_or(0);
        is_header || own != width || (width == 1 && line.trim_ascii_start().starts_with(b"# "))
    };
    ends.iter().take_while(|line| is_other(line)).last().map_or(0, |(_, end)| *end)
}

/// Returns whether the first record is a header with a text above numbers or times.
fn stands_first(separator: Separator, records: &[u8], width: usize, options: &Options, nulls: &NullTexts) -> bool {
    let end = separator.first_end(records);
    let (head, _) = separator.records(&records[..end], None);
    let columns = column_facts(separator, &records[end..], width, 0..width, options, nulls);
    stands_above(records, &head.fields, &columns, nulls)
}
