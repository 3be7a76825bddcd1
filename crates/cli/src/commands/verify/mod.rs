//! `atsdb verify`: reads everything, and names what is damaged.

mod archive;

use super::report;
use crate::args::{ReportFormat, VerifyArgs};
use crate::progress::Ticker;
use crate::quantity::{show_many, show_rows};
use crate::settings::{self, Access};
use atsdb::ContentHash;
use atsdb_core::store::Finding;
use atsdb_core::{Error, ErrorKind, Result};
use serde::Serialize;

#[derive(Serialize)]
struct Checked {
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

#[derive(Serialize)]
struct FindingJson {
    place: String,
    problem: String,
    /// Whether the place is damaged; else it could not be looked at.
    is_damage: bool,
}

/// Checks it. Findings are the result; that there are some is the error.
pub(super) fn run(verify: &VerifyArgs) -> Result<()> {
    let args = &verify.report;
    if atsdb::is_archive(&args.url) {
        return archive::run(args);
    }
    let database = settings::open(&args.url, Access::Read, &args.store, None)?;
    let engine = database.engine();
    let table = report::table_of(engine, args)?;
    let ticker = Ticker::new(|| "reading everything".to_owned());
    let checked = engine.verify(table.as_ref())?;
    // Of what is damaged there is no hash.
    let hashes = match verify.hash && checked.findings.is_empty() {
        true => engine.content_hashes(table.as_ref())?,
        false => Vec::new(),
    };
    drop(ticker);
    let findings = checked.findings.into_iter();
    let checked = Checked {
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

impl From<Finding> for FindingJson {
    fn from(finding: Finding) -> Self {
        let Finding { place, problem, is_damage } = finding;
        Self { place, problem, is_damage }
    }
}

/// What the findings are for whoever waits for the exit code: nothing, damage, or that something could not be looked at.
fn outcome(url: &str, findings: &[FindingJson], hint: &str) -> Result<()> {
    let damage = findings.iter().filter(|finding| finding.is_damage).count() as u64;
    let unchecked = findings.iter().find(|finding| !finding.is_damage);
    match (damage, unchecked) {
        (0, None) => Ok(()),
        (0, Some(FindingJson { place, problem, .. })) => {
            Err(Error::new(ErrorKind::Unavailable, format!("{url} could not be checked: {place}: {problem}"))
                .with_hint("nothing is known to be damaged: see to what was missing, and check again"))
        }
        (count, rest) => {
            let rest = if rest.is_some() { ", and could not be checked to its end" } else { "" };
            Err(Error::corrupt(format!("{url} is damaged in {}{rest}", show_many(count, "place"))).with_hint(hint))
        }
    }
}

/// The findings as lines, and the word that sums them up.
fn findings_for_people(findings: &[FindingJson]) -> (String, &'static str) {
    let line = |finding: &FindingJson| {
        let unchecked = if finding.is_damage { "" } else { "could not be checked: " };
        format!("{}: {unchecked}{}\n", finding.place, finding.problem)
    };
    let word = match findings.iter().any(|finding| finding.is_damage) {
        true => "damaged",
        false if findings.is_empty() => "no damage",
        false => "not checked to the end",
    };
    (findings.iter().map(line).collect(), word)
}

fn show(hash: u64) -> String {
    format!("{hash:016x}")
}

fn for_people(checked: &Checked) -> String {
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
