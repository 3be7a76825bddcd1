//! Information for the user about an import: notes, and the records that were left out.

use crate::console::quantity::{show_count, show_many};
use crate::console::stderr::inform;
use atsdb_import::Report;

/// The maximum number of left-out records that are shown.
const SKIPPED_SHOWN: usize = 10;

/// Prints information for the user to stderr.
pub(super) fn show_remarks(report: &Report) {
    for note in &report.notes {
        inform!("note: {note}");
    }
    if report.skipped_count == 0 {
        return;
    }
    inform!("left out {}:", show_many(report.skipped_count, "bad record"));
    for skipped in report.skipped.iter().take(SKIPPED_SHOWN) {
        let column = skipped.column.as_ref().map_or(String::new(), |column| format!(", column {column}"));
        let value = if skipped.value.is_empty() { String::new() } else { format!("{} ", skipped.value) };
        inform!("  {}, line {}{column}: {value}{}", skipped.file, skipped.line, skipped.reason);
    }
    let more = report.skipped_count.saturating_sub(SKIPPED_SHOWN as u64);
    if more > 0 {
        inform!("  and {} more", show_count(more));
    }
}
