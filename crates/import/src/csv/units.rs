//! Records between the header and the first row: the units of the columns, and other labels of them.
//!
//! ```text
//! TIMESTAMP,RECORD,AirTC
//! TS,RN,Deg C
//! ,,Avg
//! 2024-01-01 00:00:00,0,20.5
//! ```

use crate::csv::header::{are_texts, column_facts, first_record, kinds_of};
use crate::csv::separator::Separator;
use crate::facts::nulls::NullTexts;
use crate::facts::{Facts, kind};
use crate::options::Options;
use crate::records::Field;
use crate::records::error::shown;

/// The maximum number of such records.
const UNIT_RECORDS_MAX: usize = 3;

/// Returns where each record of units below a header ends; `data` begins below the header. Only the last of them must
/// have units for sure, because no row is between it and the header. A record of several fields that begins with `#` as
/// the header does has units for sure; a single field may be a value, such as a colour. A record that repeats the
/// header has none.
pub(crate) fn unit_ends(
    separator: Separator,
    data: &[u8],
    names: &[Vec<u8>],
    options: &Options,
    nulls: &NullTexts,
) -> Vec<usize> {
    let (mut ends, mut sure_count) = (Vec::new(), 0);
    while ends.len() < UNIT_RECORDS_MAX {
        let start = ends.last().copied().unwrap_or(0);
        let record = &data[start..];
        let (fields, end) = first_record(separator, record);
        if fields.len() != names.len() || !are_texts(record, &fields, nulls) {
            break;
        }
        let is_repeated = fields.iter().map(|field| field.bytes(record)).eq(names.iter().map(Vec::as_slice));
        let below = column_facts(separator, &record[end..], names.len(), 0..names.len(), options, nulls);
        ends.push(start + end);
        let are_marked = names.len() > 1 && is_marked(&names[0]) && is_marked(fields[0].bytes(record));
        let are_widths = || separator.byte == b'\t' && are_widths_above(separator, record, &fields, end);
        if !is_repeated && (are_marked || are_widths() || are_units(record, &fields, names, &below, nulls)) {
            sure_count = ends.len();
        }
    }
    ends.truncate(sure_count);
    ends
}

/// Returns whether a header begins as comments do, and names a column: `#time,v`.
pub(crate) fn is_marked(name: &[u8]) -> bool {
    name.trim_ascii_start().strip_prefix(b"#").is_some_and(|rest| !rest.trim_ascii().is_empty())
}

/// Returns whether each field is the width of a column and the letter of its type, as RDB tables have them: `5s`,
/// `20d`, `14n`. Those of the next record, at `next`, are not.
fn are_widths_above(separator: Separator, text: &[u8], fields: &[Field], next: usize) -> bool {
    let is_width = |field: &[u8]| {
        let digits = field.split_last().filter(|(letter, _)| b"sdn".contains(letter));
        digits.is_some_and(|(_, digits)| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit))
    };
    let rest = &text[next..];
    let (below, _) = first_record(separator, rest);
    let are_below = below.is_empty() || below.iter().all(|field| is_width(field.bytes(rest)));
    fields.len() > 1 && fields.iter().all(|field| is_width(field.bytes(text))) && !are_below
}

/// The note about records of units, which end at `ends`.
pub(crate) fn units_note(data: &[u8], ends: &[usize]) -> Option<String> {
    let first = String::from_utf8_lossy(&data[..*ends.first()?]);
    let first = shown(first.trim());
    Some(match ends.len() {
        1 => format!("the line below the names has units or labels and is left out: {first}"),
        count => format!("{count} lines below the names have units or labels and are left out, the first is {first}"),
    })
}

/// Returns whether a record below the header has the units of the columns: it has only texts, some of them above
/// numbers, and none above texts; and it is above times, with nothing there but a zone, something in brackets, or the
/// name of the column in other words. Such a record has no time.
fn are_units(text: &[u8], fields: &[Field], names: &[Vec<u8>], columns: &[Facts], nulls: &NullTexts) -> bool {
    const NUMBERS: u16 = kind::NUMBERS | kind::COMMAS;
    let is_only = |facts: &Facts, kinds: u16| facts.kinds != 0 && facts.kinds & !kinds == 0;
    let is_of_time = |field: &Field, name: &[u8]| {
        let unit = field.bytes(text).trim_ascii();
        let is_zone = ["", "UTC", "GMT", "Z"].iter().any(|zone| unit.eq_ignore_ascii_case(zone.as_bytes()));
        is_zone || unit.starts_with(b"(") || unit.starts_with(b"[") || are_same_words(unit, name)
    };
    let kinds = kinds_of(text, fields, nulls);
    let may_be_unit = |(own, below): (&u16, &Facts)| *own == 0 || (*own == kind::TEXT && below.kinds & kind::TEXT == 0);
    let is_above_numbers = |(own, below): (&u16, &Facts)| *own == kind::TEXT && is_only(below, NUMBERS);
    let named = fields.iter().zip(names).zip(columns);
    let mut above_times = named.filter(|(_, below)| is_only(below, kind::TIMES)).peekable();
    above_times.peek().is_some()
        && above_times.all(|((field, name), _)| is_of_time(field, name))
        && kinds.iter().zip(columns).all(may_be_unit)
        && kinds.iter().zip(columns).any(is_above_numbers)
}

/// Returns whether one of two texts has all words of the other, as `Full label` has those of `Label`.
fn are_same_words(a: &[u8], b: &[u8]) -> bool {
    let words = |text: &[u8]| -> Vec<String> {
        let lower = String::from_utf8_lossy(text).to_lowercase();
        lower
            .split(|letter: char| !letter.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let (a, b) = (words(a), words(b));
    let (fewer, more) = if a.len() < b.len() { (a, b) } else { (b, a) };
    !fewer.is_empty() && fewer.iter().all(|word| more.contains(word))
}
