//! Code shared by the reporting commands: choosing tables, printing a table for people or JSON for programs.

use crate::args::{ReportArgs, ReportFormat};
use crate::output::destination::Destination;
use crate::output::grid::{Heading, render};
use atsdb::time::format_time;
use atsdb::{Engine, Error, Result, Table, TimeUnit};
use serde::Serialize;

/// The table that the user named, if any.
pub(super) fn table_of(engine: &Engine, args: &ReportArgs) -> Result<Option<Table>> {
    args.table.as_deref().map(|name| engine.table(name)).transpose()
}

/// The table that was named, or all.
pub(super) fn tables_of(engine: &Engine, args: &ReportArgs) -> Result<Vec<Table>> {
    match table_of(engine, args)? {
        Some(table) => Ok(vec![table]),
        None => engine.tables(),
    }
}

/// Writes a report to stdout: JSON, or headings and rows.
pub(super) fn write<T: Serialize>(
    format: ReportFormat,
    report: &T,
    headings: &[Heading],
    rows: impl FnOnce() -> Vec<Vec<String>>,
) -> Result<()> {
    match format {
        ReportFormat::Json => write_text(&json(report)?),
        ReportFormat::Table => write_text(&render(headings, &rows())),
    }
}

/// Formats a value as indented JSON with a line end.
pub(super) fn json<T: Serialize>(report: &T) -> Result<String> {
    let mut text = serde_json::to_string_pretty(report)
        .map_err(|error| Error::internal(format!("a report is not valid JSON: {error}")))?;
    text.push('\n');
    Ok(text)
}

/// Writes to stdout.
pub(super) fn write_text(text: &str) -> Result<()> {
    let mut out = Destination::stdout();
    out.put(text.as_bytes())?;
    out.complete()
}

/// Formats a time for reports, without trailing zeros.
pub(super) fn show_time(time: Option<i64>, unit: TimeUnit) -> Option<String> {
    let mut text = format_time(time?, unit);
    for zeros in [".000000000Z", ".000000Z", ".000Z"] {
        if let Some(stem) = text.strip_suffix(zeros) {
            text = format!("{stem}Z");
        }
    }
    Some(text)
}
