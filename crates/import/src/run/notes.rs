//! Notes for the user about what was read: empty files, comments that were left out, texts that were read as NULL or
//! kept, and values that the columns hold otherwise than they are written.

use crate::build::column_values::Inexact;
use crate::facts::nulls::{NullCounts, NullTexts};
use crate::plan::column::PlanColumn;
use crate::records::error::shown;
use atsdb_core::ColumnType;
use atsdb_core::count_text::format_count;

/// Maximum number of columns or files that a note names.
const NAMES_SHOWN: usize = 4;

/// A note about comments that were left out, if there are some.
pub(crate) fn comment_note(count: u64) -> Option<String> {
    let what = if count == 1 {
        "1 comment line, which begins".to_owned()
    } else {
        format!("{} comment lines, which begin", format_count(count))
    };
    (count > 0).then(|| format!("left out {what} with #; --skip 0 reads them as records"))
}

/// A note about records that repeat the header and were left out, if there are some.
pub(crate) fn header_note(count: u64) -> Option<String> {
    let what = match count {
        1 => "1 line that repeats".to_owned(),
        count => format!("{} lines that repeat", format_count(count)),
    };
    (count > 0).then(|| format!("left out {what} the header"))
}

/// A note about files without content, if there are some.
pub(crate) fn empty_note(files: &[&str]) -> Option<String> {
    (!files.is_empty()).then(|| format!("there is nothing in {}", listed(files)))
}

/// One note about texts that became NULL, and one for each column that kept such a text. A query learns only of the
/// words that became NULL, which may be values.
pub(crate) fn null_notes(
    columns: &[PlanColumn],
    counts: &[NullCounts],
    nulls: &NullTexts,
    for_query: bool,
) -> Vec<String> {
    let (mut taken, mut notes) = (Vec::new(), Vec::new());
    for (number, text) in nulls.texts().enumerate() {
        if for_query && !nulls.is_word(number) {
            continue;
        }
        let came = columns.iter().zip(counts).filter(|(_, counts)| counts.of(number) > 0);
        let (kept, null): (Vec<_>, Vec<_>) = came.partition(|(column, _)| column.kept_words.has(number));
        let noted = if for_query { Vec::new() } else { kept };
        for (column, counts) in noted {
            let (name, count, shown) = (&column.column.name, times(counts.of(number)), shown(&text));
            notes.push(format!(
                "column {name} keeps {shown} as a word among others, {count}; if it means NULL, pass --null {text}"
            ));
        }
        if !null.is_empty() {
            let count = null.iter().map(|(_, counts)| counts.of(number)).sum();
            let names: Vec<&str> = null.iter().map(|(column, _)| column.column.name.as_str()).collect();
            taken.push(format!("{} {} ({})", shown(&text), times(count), listed(&names)));
        }
    }
    let unused = nulls.texts().enumerate().filter(|(number, _)| counts.iter().all(|counts| counts.of(*number) == 0));
    if !nulls.have_words() && !for_query {
        notes.extend(unused.map(|(_, text)| {
            format!("no field is {}, as --null says: it compares texts, so that -999 is not -999.0", shown(&text))
        }));
    }
    if !taken.is_empty() {
        let hint = match nulls.have_words() {
            true if for_query => "; read_csv('FILE', null = 'TEXT') replaces these texts",
            true => "; --null TEXT, given once or more, replaces these texts",
            false => "",
        };
        notes.insert(0, format!("taken as NULL: {}{hint}", taken.join(", ")));
    }
    notes
}

/// One note for each column with rounded numbers, or with times that clocks showed twice.
pub(crate) fn inexact_notes<'a>(
    columns: &'a [PlanColumn],
    inexact: &'a [Inexact],
    for_query: bool,
) -> impl Iterator<Item = String> + 'a {
    let flag = if for_query { "atsdb import --map" } else { "--map" };
    columns.iter().zip(inexact).filter_map(move |(column, inexact)| {
        let (name, first) = (&column.column.name, shown(inexact.first.as_ref()?));
        let (count, values) = (format_count(inexact.count), if inexact.count == 1 { "value" } else { "values" });
        Some(if matches!(column.column.column_type, ColumnType::Timestamp(_)) {
            format!(
                "column {name}: {count} {values} that clocks showed twice, when they were set back, the first is {first}: \
                 the earlier time is taken"
            )
        } else {
            format!(
                "column {name}: {count} {values} of more than 17 digits rounded to DOUBLE, the first is {first}; {flag} \
                 {name} keeps all digits, as text"
            )
        })
    })
}

fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{} times", format_count(count)) }
}

fn listed(names: &[&str]) -> String {
    let (shown, more) = names.split_at(names.len().min(NAMES_SHOWN));
    let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    format!("{}{more}", shown.join(", "))
}
