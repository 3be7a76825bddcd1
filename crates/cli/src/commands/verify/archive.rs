//! `atsdb verify` of a directory or bucket of backups.

use super::super::report;
use super::FindingJson;
use crate::args::{ReportArgs, ReportFormat};
use crate::progress::Ticker;
use crate::quantity::show_many;
use atsdb::Archive;
use atsdb_core::{Error, Result};
use serde::Serialize;

#[derive(Serialize)]
struct Checked {
    backups: u64,
    objects: u64,
    findings: Vec<FindingJson>,
}

/// Checks every backup. Findings are the result; that there are some is the error.
pub(super) fn run(args: &ReportArgs) -> Result<()> {
    if let Some(table) = &args.table {
        return Err(Error::usage(format!("{} holds backups, which are checked whole, not table {table}", args.url)));
    }
    let archive = Archive::open(&args.url)?;
    let ticker = Ticker::new(|| "reading everything".to_owned());
    let checked = archive.verify()?;
    drop(ticker);
    let findings = checked.findings.into_iter();
    let findings: Vec<_> =
        findings.map(|finding| FindingJson { place: finding.place, problem: finding.problem }).collect();
    let checked = Checked { backups: checked.backups, objects: checked.objects, findings };
    match args.format {
        ReportFormat::Json => report::write_text(&report::json(&checked)?)?,
        ReportFormat::Table => {
            let mut text: String =
                checked.findings.iter().map(|finding| format!("{}: {}\n", finding.place, finding.problem)).collect();
            text.push_str(&format!(
                "{}: {}, {} read\n",
                if checked.findings.is_empty() { "no damage" } else { "damaged" },
                show_many(checked.backups, "backup"),
                show_many(checked.objects, "object")
            ));
            report::write_text(&text)?;
        }
    }
    match checked.findings.len() {
        0 => Ok(()),
        count => Err(Error::corrupt(format!("{} is damaged in {}", archive.place(), show_many(count as u64, "place")))
            .with_hint(
                "delete the objects that are named and back the source up again: what it still has is written anew",
            )),
    }
}
