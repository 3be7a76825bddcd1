//! The dialect of a file of separated values: its separator, and whether its first record names the columns.

use crate::csv::aligned::is_drawn;
use crate::csv::clickhouse_types::{TYPES_LEFT_OUT, text_columns};
use crate::csv::dialect_notes::{BLANKS_NOTE, WHOLE_LINES_NOTE, first_record_note, quoting_notes, single_column_note};
use crate::csv::groups::Groups;
use crate::csv::header::{LOOK_RECORDS, column_facts, first_record, is_header, is_stamp, kinds_of};
use crate::csv::log_lines::whole_lines;
use crate::csv::preamble::preamble;
use crate::csv::separator::{Quoting, Separator};
use crate::csv::separator_choice::{most_frequent, separator_for};
use crate::csv::several_tables::begins_with_header;
use crate::csv::units::{is_marked, unit_ends, units_note};
use crate::facts::kind;
use crate::facts::nulls::NullTexts;
use crate::options::Options;
use crate::options::selection::{proper_names, repeated_note};
use crate::records::Field;
use atsdb_core::escapes::unescaped;

/// The number of bytes that are inspected.
pub(crate) const LOOK_BYTES: u64 = 256 << 10;

/// How to read one file of separated values.
#[derive(Debug, Clone)]
pub(crate) struct Dialect {
    /// The separator between fields.
    pub(crate) separator: Separator,
    /// Names of the fields; an empty one is not read.
    pub(crate) names: Vec<String>,
    /// Whether the first record is the header.
    pub(crate) has_header: bool,
    /// The fields of the header, as they are written. Empty without one, if the caller names the fields, and if none of
    /// them is a text: such a record may have values.
    pub(crate) header: Vec<Vec<u8>>,
    /// For each field, whether it is text by the types of ClickHouse in the record below the header. Empty without such
    /// a record.
    pub(crate) text_columns: Vec<bool>,
    /// The number of records below the header that have units and are skipped.
    unit_count: usize,
    /// The end of the lines before the first record.
    pub(crate) preamble_end: usize,
    /// The number of these lines that are comments.
    pub(crate) comment_count: u64,
    /// Notes for the user.
    pub(crate) notes: Vec<String>,
    /// The number of fields at the end that have no column: they have no name, and are empty in each record that was
    /// inspected.
    pub(crate) empty_count: usize,
    /// Whether blanks around text are padding, as in the names of the columns.
    pub(crate) is_padded: bool,
    /// Whether the lines have columns that are aligned for people, but are no records of one table.
    pub(crate) is_drawn: bool,
}

impl Dialect {
    /// The dialect of a text's beginning, which ends with a whole record if it is the whole text.
    pub(crate) fn of(text: &[u8], options: &Options, nulls: &NullTexts) -> Self {
        let line = separator_line(text).filter(|_| options.names.is_none());
        let told =
            line.map(|(delimiter, _)| Options { delimiter: options.delimiter.or(Some(delimiter)), ..options.clone() });
        let options = told.as_ref().unwrap_or(options);
        let preamble = preamble(text, line.map_or(0, |(_, start)| start), options, nulls);
        let records = &text[preamble.end..];
        let separator = separator_for(records, options);
        let groups = Groups::of(separator, records, options, nulls);
        let groups_end = groups.as_ref().map_or(0, |groups| groups.end);
        // The records below are separated as the groups are.
        let separated = groups.as_ref().map(|_| Options { delimiter: Some(separator.byte), ..options.clone() });
        let named = separated.as_ref().unwrap_or(options);
        let mut dialect = Self::of_records(&records[groups_end..], groups.as_ref(), named, nulls);
        dialect.preamble_end = preamble.end + groups_end;
        dialect.separator.has_comments |= preamble.comment_count > 0;
        dialect.comment_count = preamble.comment_count;
        dialect.notes.splice(..0, preamble.note);
        dialect
    }

    fn of_records(text: &[u8], groups: Option<&Groups>, options: &Options, nulls: &NullTexts) -> Self {
        let shape = RecordShape::of(text, options, nulls);
        let (separator, head, width) = (shape.separator, &shape.head, shape.width());
        let (first_width, has_types) = (shape.first_width, shape.types.is_some());
        let data = &text[shape.data_start..];
        let offset = usize::from(shape.has_one_more);
        let columns = column_facts(separator, data, width, offset..offset + first_width, options, nulls);
        let is_header = || has_types || shape.has_one_more || is_header(text, head, &columns, nulls);
        let has_header = options.header.unwrap_or_else(is_header);
        let units = if has_header && !shape.has_one_more && !has_types {
            unit_ends(separator, data, &shape.written, options, nulls)
        } else {
            Vec::new()
        };
        let FieldNames { names, empty_count, is_padded, notes: of_names } = shape.names(text, groups, has_header);
        let mut notes = quoting_notes(separator, options);
        notes.extend(of_names);
        if has_types {
            notes.push(TYPES_LEFT_OUT.to_owned());
        }
        notes.extend(units_note(data, &units));
        if !has_header && options.header.is_none() && options.names.is_none() && first_width > 0 {
            notes.push(first_record_note(&text[..shape.data_start]));
        }
        let is_single = !shape.would_split && first_width == 1 && shape.data_width == 1 && options.delimiter.is_none();
        let is_first_name = has_header && options.header.is_none();
        let is_text = columns.iter().any(|facts| facts.kinds & kind::TEXT != 0);
        if shape.would_split {
            notes.push(WHOLE_LINES_NOTE.to_owned());
        } else if is_single {
            notes.extend(single_column_note(text, is_first_name, is_text));
        }
        if separator.has_runs && options.delimiter.is_none() {
            notes.push(BLANKS_NOTE.to_owned());
        }
        let is_known_again = has_header && options.names.is_none() && kinds_of(text, head, nulls).contains(&kind::TEXT);
        Self {
            separator: shape.separator_of_rows(text, has_header, options),
            names,
            has_header,
            header: if is_known_again { shape.written } else { Vec::new() },
            text_columns: shape.types.map_or_else(Vec::new, |types| types.text_columns),
            unit_count: units.len(),
            preamble_end: 0,
            comment_count: 0,
            notes,
            empty_count,
            is_padded,
            is_drawn: is_single
                && is_first_name
                && options.names.is_none()
                && options.format.is_none()
                && is_drawn(text),
        }
    }

    /// The start of the records in the file's first block.
    pub(crate) fn data_start(&self, text: &[u8]) -> usize {
        let mut start = self.preamble_end.min(text.len());
        let has_types = !self.text_columns.is_empty();
        for _ in 0..usize::from(self.has_header) + usize::from(has_types) + self.unit_count {
            start += first_record(self.separator, &text[start..]).1;
        }
        start
    }
}

/// How records are separated, and how many fields they have.
struct RecordShape {
    separator: Separator,
    /// Whether another separator would split lines that are whole.
    would_split: bool,
    types: Option<DeclaredTypes>,
    /// The fields of the first record.
    head: Vec<Field>,
    /// The fields of the first record, as they are written.
    written: Vec<Vec<u8>>,
    /// The end of the first record, or of the record with the types.
    data_start: usize,
    /// The number of fields of the first record.
    first_width: usize,
    /// The number of fields that most other records have.
    data_width: usize,
    /// Whether the first record is a header with one field less than the other records.
    has_one_more: bool,
}

/// The names of the fields.
struct FieldNames {
    names: Vec<String>,
    empty_count: usize,
    is_padded: bool,
    notes: Vec<String>,
}

impl RecordShape {
    fn of(text: &[u8], options: &Options, nulls: &NullTexts) -> Self {
        let mut separator = separator_for(text, options);
        let whole = whole_lines(separator, text, &first_record(separator, text).0, options, nulls);
        let would_split = whole.is_some() && separator.widths(text, LOOK_RECORDS).iter().any(|width| *width > 1);
        separator = whole.unwrap_or(separator);
        let types = types_below(separator, text, options, nulls);
        if types.is_some() && separator.byte == b'\t' && options.format.is_none() && !options.no_quotes {
            separator = Separator { quoting: Quoting::Escapes, ..separator };
        }
        let records = separator.starts_and_widths(text, LOOK_RECORDS);
        let widths: Vec<usize> = records.iter().map(|(_, width)| *width).collect();
        let first_width = widths.first().copied().unwrap_or(0);
        let data_width = most_frequent(widths.get(1..).unwrap_or(&[])).unwrap_or(first_width);
        let (head, head_end) = first_record(separator, text);
        let data_start = types.as_ref().map_or(head_end, |types| types.end);
        // This applies only if no other record has as many fields as the header, unless it repeats it. Otherwise the
        // longer records are bad. A record that begins with a time is not a header: it may be of a log whose messages
        // contain separators.
        let written: Vec<Vec<u8>> = head.iter().map(|field| field.bytes(text).to_vec()).collect();
        let is_other = |(start, width): &(usize, usize)| {
            *width == first_width && !begins_with_header(separator, &text[*start..], &written)
        };
        let is_of_log = head.first().is_some_and(|field| is_stamp(text, *field, nulls));
        let has_one_more = data_width == first_width + 1 && !records[1..].iter().any(is_other) && !is_of_log;
        Self { separator, would_split, types, head, written, data_start, first_width, data_width, has_one_more }
    }

    /// The number of fields of each record but the first.
    fn width(&self) -> usize {
        if self.has_one_more { self.data_width } else { self.first_width }
    }

    fn names(&self, text: &[u8], groups: Option<&Groups>, has_header: bool) -> FieldNames {
        let (separator, head, data) = (self.separator, &self.head, &text[self.data_start..]);
        let raw: Vec<String> = if has_header {
            head.iter().map(|field| name_of(*field, text, separator)).collect()
        } else {
            vec![String::new(); self.first_width]
        };
        let is_padded = has_header
            && raw.iter().zip(head).any(|(name, field)| !field.is_quoted() && name.trim().len() < name.len());
        let grouped = groups.and_then(|groups| groups.names_with(&raw)).filter(|_| has_header);
        let group_note = grouped.as_ref().and_then(|names| Groups::note(names));
        let mut names = grouped.unwrap_or(raw);
        remove_comment_sign(&mut names, head);
        let (records, _) = separator.records(data, Some(self.width().max(1)));
        let is_empty =
            |position: usize| records.count() > 0 && records.column(position).all(|field| field.bytes(data).is_empty());
        let empty_count =
            if has_header { name_empty_fields(&mut names, self.has_one_more, self.width(), is_empty) } else { 0 };
        let repeated = repeated_note(&names).filter(|_| has_header);
        let mut names = proper_names(&names);
        let named = names.len() - empty_count;
        names[named..].iter_mut().for_each(String::clear);
        FieldNames { names, empty_count, is_padded, notes: group_note.into_iter().chain(repeated).collect() }
    }

    /// The separator, with what may stand between the rows.
    fn separator_of_rows(&self, text: &[u8], has_header: bool, options: &Options) -> Separator {
        let separator = self.separator;
        // A row of one column that is NULL is written as an empty line. In a sheet, rows without values are left out.
        let is_line_empty = separator.quoting != Quoting::Cells && !separator.has_runs;
        let has_empty_records = self.width() == 1 && (has_header || options.names.is_some()) && is_line_empty;
        // If the header begins as comments do, comments may follow.
        let has_comments = has_header
            && options.skip.is_none()
            && self.head.first().is_some_and(|field| !field.is_quoted() && is_marked(field.bytes(text)));
        Separator { has_empty_records, has_comments, ..separator }
    }
}

/// The types below the header.
struct DeclaredTypes {
    text_columns: Vec<bool>,
    /// The end of their record.
    end: usize,
}

/// Returns the types of ClickHouse below the first record, if that is the header. A header is not assumed above a list
/// whose values are names of types.
fn types_below(separator: Separator, text: &[u8], options: &Options, nulls: &NullTexts) -> Option<DeclaredTypes> {
    if options.header == Some(false) || options.names.is_some() {
        return None;
    }
    let types_at = |start: usize| {
        let rest = &text[start..];
        let (fields, end) = first_record(separator, rest);
        let cells: Vec<String> = fields.iter().map(|field| name_of(*field, rest, separator)).collect();
        (cells.len(), text_columns(&cells), start + end)
    };
    let (width, names, head_end) = types_at(0);
    let (_, text_columns, end) = types_at(head_end);
    let text_columns = text_columns.filter(|columns| columns.len() == width && names.is_none())?;
    let (_, next, _) = types_at(end);
    let has_texts = || {
        let columns = column_facts(separator, &text[end..], 1, 0..1, options, nulls);
        columns.iter().any(|facts| facts.kinds & kind::TEXT != 0)
    };
    let is_list = next.is_some() || (width == 1 && has_texts());
    (!is_list).then_some(DeclaredTypes { text_columns, end })
}

/// Removes the sign of a comment before the names: `# time,value`.
fn remove_comment_sign(names: &mut [String], head: &[Field]) {
    if let Some(first) = names.first_mut()
        && let Some(name) = first.trim_start().strip_prefix('#').filter(|name| !name.trim().is_empty())
        && !head[0].is_quoted()
    {
        *first = name.trim().to_owned();
    }
}

/// Completes the names of a header if the records have one more field than it. Returns how many of the last fields have
/// no name and are empty in each record.
fn name_empty_fields(
    names: &mut Vec<String>,
    has_one_more: bool,
    width: usize,
    is_empty: impl Fn(usize) -> bool,
) -> usize {
    if !has_one_more {
        // The header ends with a separator as well, or with those of several empty columns of a spreadsheet.
        let unnamed = names.iter().skip(1).rev().take_while(|name| name.trim().is_empty()).count();
        return (1..=unnamed).take_while(|back| is_empty(width - back)).count();
    }
    // Either every record ends with a separator, which adds an empty field, or the first field has no name.
    let empty_count = usize::from(is_empty(width - 1));
    if empty_count > 0 {
        names.push(String::new());
    } else {
        names.insert(0, "row".to_owned());
    }
    empty_count
}

/// The separator that the first line names, as Excel writes and reads it (`sep=;`), and where the next line starts.
fn separator_line(text: &[u8]) -> Option<(u8, usize)> {
    let (name, rest) = text.split_first_chunk::<4>()?;
    let (separator, rest) = rest.split_first().filter(|_| name.eq_ignore_ascii_case(b"sep="))?;
    match rest {
        [b'\n', ..] => Some((*separator, 6)),
        [b'\r', b'\n', ..] => Some((*separator, 7)),
        _ => None,
    }
}

fn name_of(field: Field, text: &[u8], separator: Separator) -> String {
    let (name, quote) = (String::from_utf8_lossy(field.bytes(text)), char::from(separator.quote).to_string());
    match separator.quoting {
        _ if !field.is_escaped() => name.into_owned(),
        Quoting::Escapes | Quoting::Cells => unescaped(&name),
        _ => name.replace(&quote.repeat(2), &quote),
    }
}
