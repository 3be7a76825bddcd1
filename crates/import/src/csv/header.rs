//! Detects whether a record names the columns of the records below it.

use crate::csv::separator::Separator;
use crate::facts::nulls::NullTexts;
use crate::facts::{Facts, kind};
use crate::options::Options;
use crate::records::Field;
use crate::values::clocks::is_clock;
use atsdb_core::time::DAY_SECONDS;
use atsdb_core::time_text::DateReading;

/// The number of records that are inspected.
pub(crate) const LOOK_RECORDS: usize = 1_000;

/// Facts about a range of columns from the first records of a text, which have `record_width` fields each.
pub(crate) fn column_facts(
    separator: Separator,
    data: &[u8],
    record_width: usize,
    columns: std::ops::Range<usize>,
    options: &Options,
    nulls: &NullTexts,
) -> Vec<Facts> {
    let (records, _) = separator.records(data, Some(record_width.max(1)));
    columns
        .map(|position| {
            let mut facts = Facts::new();
            let fields = records.column(position).take(LOOK_RECORDS).collect::<Vec<_>>();
            facts.observe(data, fields.into_iter(), nulls, options.date_reading(), &|_| 0);
            facts
        })
        .collect()
}

/// The first record and where the next one starts.
pub(crate) fn first_record(separator: Separator, text: &[u8]) -> (Vec<Field>, usize) {
    let start = text.iter().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
    let end = separator.first_end(&text[start..]) + start;
    let (records, _) = separator.records(&text[..end], None);
    (records.fields, end)
}

/// Returns whether the first record names the columns. It does if there is a text above numbers or times, or if it
/// counts years or dates above other values; otherwise it does not if one of its fields is a number, a time or empty,
/// or if it is a line of a log.
pub(crate) fn is_header(text: &[u8], head: &[Field], columns: &[Facts], nulls: &NullTexts) -> bool {
    let is_text = || {
        let kinds = kinds_of(text, head, nulls);
        kinds.iter().all(|own| *own == kind::TEXT) && has_name(text, head, &kinds)
    };
    stands_above(text, head, columns, nulls)
        || (is_text() && !is_of_log(text, head, nulls))
        || counts_above(text, head, columns, nulls)
}

/// The maximum number of words in a line of a log before the end of its time.
const LOG_WORDS: usize = 8;

/// Returns whether a record is a single text with a time of day among its first words, with or without a date:
/// `Mar  1 12:30:05 host cron: start`, `ts=2024-03-01T12:30:05Z level=info`.
pub(crate) fn is_of_log(text: &[u8], head: &[Field], nulls: &NullTexts) -> bool {
    let [field] = head else { return false };
    let is_apart = |byte: &u8| byte.is_ascii_whitespace() || b"[](),;=\"".contains(byte);
    let mut words = field.bytes(text).split(is_apart).filter(|word| !word.is_empty()).take(LOG_WORDS);
    let is_time = |word: &[u8]| {
        let whole = Field::plain(0, word.len());
        let has_seconds = word.iter().filter(|byte| **byte == b':').count() == 2;
        is_stamp(word, whole, nulls) || (has_seconds && is_clock(word))
    };
    words.any(is_time)
}

/// Returns whether a field is a date with a time of day, which names no column.
pub(crate) fn is_stamp(text: &[u8], field: Field, nulls: &NullTexts) -> bool {
    facts_of(text, field, nulls).kinds == kind::STAMP
}

/// The years that may be names of columns.
const YEARS: std::ops::RangeInclusive<i64> = 1_000..=2_999;

/// Returns whether the fields after a name count years or days, with equal steps, above other values, or are months,
/// quarters or weeks above numbers: `country,2020,2021` above `Germany,1.5,2`.
fn counts_above(text: &[u8], head: &[Field], columns: &[Facts], nulls: &NullTexts) -> bool {
    let facts: Vec<Facts> = head.iter().map(|field| facts_of(text, *field, nulls)).collect();
    let name_count = facts.iter().take_while(|facts| facts.kinds == kind::TEXT).count();
    let (counted, below) = (&facts[name_count..], columns.get(name_count..).unwrap_or(&[]));
    let has_dates_below = || below.iter().any(|facts| facts.kinds & kind::DATE != 0);
    let is_of_numbers = |facts: &Facts| facts.number_count + facts.signed_count == facts.value_count;
    // Months, quarters and weeks beside names count only above numbers. Else they are values, as those below may be.
    if name_count > 0 && !counted.is_empty() && counted.iter().all(|facts| facts.has_periods) {
        return below.iter().all(is_of_numbers);
    }
    if name_count == 0 || counted.len() < 2 {
        return false;
    }
    let is_year =
        |facts: &Facts| facts.kinds == kind::INT && facts.int_bounds.is_some_and(|(min, _)| YEARS.contains(&min));
    let is_date = |facts: &Facts| facts.kinds == kind::DATE;
    let may_be_year =
        |facts: &Facts| facts.int_bounds.is_some_and(|(min, max)| YEARS.contains(&min) && YEARS.contains(&max));
    let values: Vec<i64> = if counted.iter().all(is_year) && !below.iter().any(may_be_year) {
        counted.iter().filter_map(|facts| facts.int_bounds.map(|(min, _)| min)).collect()
    } else if counted.iter().all(is_date) && !has_dates_below() {
        counted.iter().filter_map(|facts| facts.second_bounds.map(|(min, _)| min / DAY_SECONDS)).collect()
    } else {
        return false;
    };
    // Months and quarters have no equal number of days.
    let steps: Vec<i64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let (least, most) = (steps.iter().min().copied().unwrap_or(0), steps.iter().max().copied().unwrap_or(0));
    (least > 0 || most < 0) && (least.abs() - most.abs()).abs() <= 4
}

/// Returns whether there is a text above numbers, times or booleans.
pub(crate) fn stands_above(text: &[u8], head: &[Field], columns: &[Facts], nulls: &NullTexts) -> bool {
    let typed = kind::NUMBERS | kind::TIMES | kind::BOOL | kind::COMMA | kind::THOUSANDS | kind::THOUSANDS_POINT;
    let is_above =
        |(own, below): (&u16, &Facts)| *own == kind::TEXT && below.kinds & typed != 0 && below.kinds & kind::TEXT == 0;
    let kinds = kinds_of(text, head, nulls);
    kinds.iter().zip(columns).any(is_above) && has_name(text, head, &kinds)
}

/// Returns whether one of the texts of a record may name a column. Digits such as `03` are texts, and values without
/// such a name.
fn has_name(text: &[u8], fields: &[Field], kinds: &[u16]) -> bool {
    let are_digits = |field: &Field| field.bytes(text).trim_ascii().iter().all(u8::is_ascii_digit);
    fields.iter().zip(kinds).any(|(field, own)| *own == kind::TEXT && !are_digits(field))
}

/// Returns whether a record has a text, and otherwise only texts and empty fields.
pub(crate) fn are_texts(text: &[u8], fields: &[Field], nulls: &NullTexts) -> bool {
    let kinds = kinds_of(text, fields, nulls);
    kinds.contains(&kind::TEXT) && kinds.iter().all(|own| matches!(*own, 0 | kind::TEXT))
}

/// The kind of each field of a record, as bits of [`kind`]; 0 for NULL.
pub(crate) fn kinds_of(text: &[u8], head: &[Field], nulls: &NullTexts) -> Vec<u16> {
    head.iter().map(|field| facts_of(text, *field, nulls).kinds).collect()
}

fn facts_of(text: &[u8], field: Field, nulls: &NullTexts) -> Facts {
    let mut facts = Facts::new();
    facts.observe(text, std::iter::once(field), nulls, DateReading::default(), &|_| 0);
    facts
}
