//! `atsdb verify` of a directory or bucket of backups.

use super::findings::{FindingJson, findings_for_people, outcome};
use crate::args::{ReportFormat, VerifyArgs};
use crate::commands::report;
use crate::console::progress::RowCount;
use crate::console::quantity::show_many;
use atsdb::{Archive, Error, Result};
use serde::Serialize;

#[derive(Serialize)]
struct CheckedJson {
    backups: u64,
    objects: u64,
    findings: Vec<FindingJson>,
}

/// Checks every backup. The findings are printed; if there are any, that is the error.
pub(super) fn run(verify: &VerifyArgs) -> Result<()> {
    let args = &verify.report;
    if let Some(table) = &args.table {
        return Err(Error::usage(format!("{} holds backups, which are checked whole, not table {table}", args.url))
            .with_hint(format!("leave {table} out")));
    }
    if verify.hash {
        return Err(Error::usage(format!("{} holds backups, and --hash is for a store", args.url))
            .with_hint("atsdb restore a backup into a new store, and hash that store"));
    }
    let archive = Archive::open(&args.url)?;
    let rows = RowCount::default();
    let ticker = rows.ticker("reading everything");
    let checked = archive.verify_watched(&|done, total| rows.set(done, total))?;
    drop(ticker);
    let findings = checked.findings.into_iter();
    let findings: Vec<_> = findings.map(FindingJson::from).collect();
    let checked = CheckedJson { backups: checked.backups, objects: checked.objects, findings };
    match args.format {
        ReportFormat::Json => report::write_text(&report::json(&checked)?)?,
        ReportFormat::Table => {
            let (mut text, word) = findings_for_people(&checked.findings);
            text.push_str(&format!(
                "{word}: {}, {} read\n",
                show_many(checked.backups, "backup"),
                show_many(checked.objects, "object")
            ));
            report::write_text(&text)?;
        }
    }
    let hint =
        "delete the objects that are named and back the source up again: data that it still has is written again";
    outcome(archive.location(), &checked.findings, hint)
}
