//! Files that are made of several: one below the other, each with its header; or several tables, with empty lines
//! between them.

use crate::csv::header::kinds_of;
use crate::csv::separator::Separator;
use crate::facts::kind;
use crate::facts::nulls::NullTexts;
use crate::records::{Field, Records};

/// The bytes that begin some files in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Takes out the records whose fields are those of the header, and counts them. One field is not enough: it may be a
/// value.
pub(crate) fn remove_headers(records: &mut Records, text: &[u8], header: &[Vec<u8>]) {
    if header.len() < 2 || header.len() != records.width {
        return;
    }
    let is_header = |fields: &[Field]| {
        let first = fields[0].bytes(text);
        // A file that follows another one may begin with a byte order mark.
        first.strip_prefix(BYTE_ORDER_MARK).unwrap_or(first) == header[0]
            && fields[1..].iter().zip(&header[1..]).all(|(field, name)| field.bytes(text) == name)
    };
    if !records.fields.chunks_exact(records.width).any(is_header) {
        return;
    }
    let count = records.count();
    records.retain(|fields, _| !is_header(fields));
    records.header_count += (count - records.count()) as u64;
}

/// The start of the first record that is the header of another table: it is behind an empty line, and the next record
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

/// Whether a record with another number of fields may begin another table: it is behind an empty line, and has nothing
/// but texts.
pub(crate) fn may_begin_table(separator: Separator, text: &[u8], start: usize, nulls: &NullTexts) -> bool {
    let record = &text[start..];
    let record = &record[..separator.first_end(record)];
    let (read, _) = separator.records(record, None);
    let are_texts = || kinds_of(record, &read.fields, nulls).iter().all(|own| *own == kind::TEXT);
    is_behind_empty_line(text, start) && !read.fields.is_empty() && are_texts()
}

/// Whether the line before a position is empty, and not the first one.
fn is_behind_empty_line(text: &[u8], position: usize) -> bool {
    let before = &text[..position];
    before.ends_with(b"\n\n") || before.ends_with(b"\n\r\n")
}
