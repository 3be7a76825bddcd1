//! `atsdb verify`: reads everything, and reports damage.

mod archive;
mod findings;

use self::findings::{FindingJson, findings_for_people, outcome};
use super::report;
use crate::args::{ReportFormat, VerifyArgs};
use crate::console::progress::RowCount;
use crate::console::quantity::{show_many, show_rows};
use crate::session::settings::{self, Access};
use atsdb::{ContentHash, Error, ErrorKind, Result};
use serde::Serialize;

#[derive(Serialize)]
struct CheckedJson {
    tables: u64,
    chunks: u64,
    pages: u64,
    rows: u64,
    findings: Vec<FindingJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hashes: Vec<HashJson>,
}

#[derive(Serialize)]
struct HashJson {
    table: String,
    rows: u64,
    hash: String,
}

/// Checks a store, and prints the findings. Findings are an error.
pub(super) fn run(verify: &VerifyArgs) -> Result<()> {
    let args = &verify.report;
    if atsdb::is_archive(&args.url) {
        return archive::run(verify);
    }
    let database = settings::open(&args.url, Access::Read, &args.store, None).map_err(too_damaged)?;
    let engine = database.engine();
    let table = report::table_of(engine, args)?;
    let rows = RowCount::default();
    let ticker = rows.ticker("reading everything");
    let checked = engine.verify_watched(table.as_ref(), &|done, total| rows.set(done, total)).map_err(too_damaged)?;
    // Damaged data has no hash.
    let hashes = match verify.hash && checked.findings.is_empty() {
        true => engine.content_hashes(table.as_ref())?,
        false => Vec::new(),
    };
    drop(ticker);
    let findings = checked.findings.into_iter();
    let checked = CheckedJson {
        tables: checked.tables,
        chunks: checked.chunks,
        pages: checked.pages,
        rows: checked.rows,
        findings: findings.map(FindingJson::from).collect(),
        hash: verify.hash.then(|| show(ContentHash::of_all(&hashes))),
        hashes: hashes
            .into_iter()
            .map(|hash| HashJson { table: hash.table, rows: hash.rows, hash: show(hash.hash) })
            .collect(),
    };
    match args.format {
        ReportFormat::Json => report::write_text(&report::json(&checked)?)?,
        ReportFormat::Table => report::write_text(&for_people(&checked))?,
    }
    let hint = "what is not named stays readable: save it with atsdb export -q, a query that leaves the damaged columns or \
                times out";
    outcome(engine.store().url(), &checked.findings, hint)
}

/// Damage that ends the check itself. The hint of such an error is otherwise to run `verify`.
fn too_damaged(error: Error) -> Error {
    if error.kind() != ErrorKind::Corrupt {
        return error;
    }
    error.with_hint(
        "verify cannot read beyond this damage: look for read errors in the system's log, and restore the store from a \
         backup (atsdb restore)",
    )
}

fn show(hash: u64) -> String {
    format!("{hash:016x}")
}

fn for_people(checked: &CheckedJson) -> String {
    let (mut text, word) = findings_for_people(&checked.findings);
    text.push_str(&format!(
        "{word}: {}, {}, {}, {} read\n",
        show_many(checked.tables, "table"),
        show_many(checked.chunks, "chunk"),
        show_many(checked.pages, "page"),
        show_rows(checked.rows)
    ));
    for table in &checked.hashes {
        text.push_str(&format!("{}  {}, {}\n", table.hash, table.table, show_rows(table.rows)));
    }
    if let Some(hash) = checked.hash.as_ref().filter(|_| checked.findings.is_empty()) {
        text.push_str(&format!("{hash}  all of it\n"));
    }
    text
}
