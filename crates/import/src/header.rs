//! Detects whether a record names the columns of the records below it.

use crate::facts::{Facts, kind};
use crate::null::NullTexts;
use crate::options::Options;
use crate::record::Field;
use crate::separator::Separator;

/// The number of records that are inspected.
pub(crate) const LOOK_RECORDS: usize = 1_000;

/// Facts about the columns from the first records of a text: `width` columns, from the field `offset` on.
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
            facts.observe(data, fields.into_iter(), nulls, options.date_order, &|_| 0);
            facts
        })
        .collect()
}

/// Whether the first record names the columns. It does if there is a text above numbers or times; otherwise it does not
/// if one of its fields is a number, a time or empty.
pub(crate) fn is_header(text: &[u8], head: &[Field], columns: &[Facts], nulls: &NullTexts) -> bool {
    stands_above(text, head, columns, nulls) || kinds_of(text, head, nulls).iter().all(|kinds| *kinds == kind::TEXT)
}

/// Whether there is a text above numbers, times or booleans.
pub(crate) fn stands_above(text: &[u8], head: &[Field], columns: &[Facts], nulls: &NullTexts) -> bool {
    let typed = kind::NUMBERS | kind::TIMES | kind::BOOL | kind::COMMA;
    let is_above =
        |(own, below): (&u16, &Facts)| *own == kind::TEXT && below.kinds & typed != 0 && below.kinds & kind::TEXT == 0;
    kinds_of(text, head, nulls).iter().zip(columns).any(is_above)
}

fn kinds_of(text: &[u8], head: &[Field], nulls: &NullTexts) -> Vec<u16> {
    head.iter()
        .map(|field| {
            let mut facts = Facts::new();
            facts.observe(text, std::iter::once(*field), nulls, None, &|_| 0);
            facts.kinds
        })
        .collect()
}
