//! Files that are made of several: one below the other, each with its header; or several tables, with empty lines
//! between them.

use crate::csv::header::kinds_of;
use crate::csv::separator::Separator;
use crate::facts::kind;
use crate::facts::nulls::NullTexts;
use crate::records::{BadRecord, Field, Records};

/// The bytes that begin some files in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The number of bytes at the end of a block that are inspected again with the next block.
const ABOVE_BYTES_MAX: usize = 64 << 10;

/// Returns whether these are the fields of the header.
fn is_header(text: &[u8], fields: &[Field], header: &[Vec<u8>]) -> bool {
    let Some((first, rest)) = fields.split_first().filter(|_| fields.len() == header.len()) else { return false };
    let first = first.bytes(text);
    // A file that follows another one may begin with a byte order mark.
    first.strip_prefix(BYTE_ORDER_MARK).unwrap_or(first) == header[0]
        && rest.iter().zip(&header[1..]).all(|(field, name)| field.bytes(text) == name)
}

/// Returns whether the first record of a text repeats the header. One field is not enough: it may be a value.
pub(crate) fn begins_with_header(separator: Separator, text: &[u8], header: &[Vec<u8>]) -> bool {
    let record = &text[..separator.first_end(text)];
    let (read, _) = separator.records(record, None);
    header.len() > 1 && is_header(record, &read.fields, header)
}

/// Takes out the records that repeat the header, and counts them. One field is not enough: it may be a value. A header
/// with a field less than the records is among the bad ones.
pub(crate) fn remove_headers(
    separator: Separator,
    records: &mut Records,
    bad: &mut Vec<BadRecord>,
    text: &[u8],
    header: &[Vec<u8>],
) {
    let count = records.count() + bad.len();
    if header.len() + 1 == records.width {
        bad.retain(|bad| !begins_with_header(separator, &text[bad.start..], header));
    } else if header.len() > 1
        && header.len() == records.width
        && records.fields.chunks_exact(records.width).any(|fields| is_header(text, fields, header))
    {
        records.retain(|fields, _| !is_header(text, fields, header));
    }
    records.header_count += (count - records.count() - bad.len()) as u64;
}

/// Returns the byte at which the last records of a block begin that the next block must know to find the header of
/// another table: those around an empty line. It is the end of the block if there is none near its end, where `rest`
/// follows.
pub(crate) fn above_start(separator: Separator, block: &[u8], rest: &[u8]) -> usize {
    if separator.has_empty_records {
        return block.len();
    }
    let start_of_last = |text: &[u8]| separator.last_end(without_line_ends(text)).end;
    let last_line = memchr::memrchr(b'\n', without_line_ends(block)).map_or(0, |end| end + 1);
    let is_last_apart = is_behind_empty_line(block, last_line);
    let may_be_before_empty_line =
        matches!(rest, [] | [b'\r'] | [b'\n', ..] | [b'\r', b'\n', ..]) || is_behind_empty_line(block, block.len());
    if !is_last_apart && !may_be_before_empty_line {
        return block.len();
    }
    let last = start_of_last(block);
    let start = if is_last_apart { start_of_last(&block[..last]) } else { last };
    if block.len() - start > ABOVE_BYTES_MAX { block.len() } else { start }
}

fn without_line_ends(text: &[u8]) -> &[u8] {
    let count = text.iter().rev().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
    &text[..text.len() - count]
}

/// The start of the first record that is the header of another table: it is after an empty line, and the next record
/// is not. It has nothing but different texts, and the records above and below it have a value that is no text in the
/// same column.
pub(crate) fn second_header(records: &Records, text: &[u8], nulls: &NullTexts) -> Option<usize> {
    let width = records.width;
    if width < 2 {
        return None;
    }
    let fields = |row: usize| &records.fields[row * width..(row + 1) * width];
    let is_header = |row: &usize| {
        let kinds = |row: usize| kinds_of(text, fields(row), nulls);
        let are_names = kinds(*row).iter().all(|own| *own == kind::TEXT) && are_distinct(text, fields(*row));
        let is_typed = |(above, below): (&u16, &u16)| above & !kind::TEXT != 0 && below & !kind::TEXT != 0;
        are_names && kinds(row - 1).iter().zip(&kinds(row + 1)).any(is_typed)
    };
    let starts = &records.starts;
    let inner = 1..starts.len().saturating_sub(1);
    let is_apart = |row: usize| is_behind_empty_line(text, starts[row] as usize);
    inner.filter(|row| is_apart(*row) && !is_apart(row + 1)).find(is_header).map(|row| starts[row] as usize)
}

fn are_distinct(text: &[u8], fields: &[Field]) -> bool {
    fields
        .iter()
        .enumerate()
        .all(|(position, field)| fields[..position].iter().all(|other| other.bytes(text) != field.bytes(text)))
}

/// Returns whether a record with another number of fields may begin another table: it is after an empty line, and has
/// nothing but texts.
pub(crate) fn may_begin_table(separator: Separator, text: &[u8], start: usize, nulls: &NullTexts) -> bool {
    let record = &text[start..];
    let record = &record[..separator.first_end(record)];
    let (read, _) = separator.records(record, None);
    let are_texts = || kinds_of(record, &read.fields, nulls).iter().all(|own| *own == kind::TEXT);
    is_behind_empty_line(text, start) && !read.fields.is_empty() && are_texts()
}

/// Returns whether the line before a position is empty, and not the first one.
fn is_behind_empty_line(text: &[u8], position: usize) -> bool {
    let before = &text[..position];
    before.ends_with(b"\n\n") || before.ends_with(b"\n\r\n")
}
