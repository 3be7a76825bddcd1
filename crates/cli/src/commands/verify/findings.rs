//! Reports findings.

use crate::console::quantity::show_many;
use atsdb::{Error, ErrorKind, Finding, Result};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct FindingJson {
    #[serde(rename = "place")]
    pub(super) location: String,
    pub(super) problem: String,
    /// Whether it is damage. Otherwise this part of the store could not be checked.
    pub(super) is_damage: bool,
}

impl From<Finding> for FindingJson {
    fn from(finding: Finding) -> Self {
        let Finding { location, problem, is_damage } = finding;
        Self { location, problem, is_damage }
    }
}

/// Converts the findings to a result: success, damage, or an incomplete check.
pub(super) fn outcome(url: &str, findings: &[FindingJson], hint: &str) -> Result<()> {
    let damage = findings.iter().filter(|finding| finding.is_damage).count() as u64;
    let unchecked = findings.iter().find(|finding| !finding.is_damage);
    match (damage, unchecked) {
        (0, None) => Ok(()),
        (0, Some(FindingJson { location, problem, .. })) => {
            Err(Error::new(ErrorKind::Unavailable, format!("{url} could not be checked: {location}: {problem}"))
                .with_hint("no damage was found up to there: make what is named above readable, and run verify again"))
        }
        (count, rest) => {
            let rest = if rest.is_some() { ", and could not be checked to its end" } else { "" };
            Err(Error::corrupt(format!("{url} is damaged in {}{rest}", show_many(count, "place"))).with_hint(hint))
        }
    }
}

/// The findings as lines, and a word that summarises them.
pub(super) fn findings_for_people(findings: &[FindingJson]) -> (String, &'static str) {
    let line = |finding: &FindingJson| {
        let unchecked = if finding.is_damage { "" } else { "could not be checked: " };
        format!("{}: {unchecked}{}\n", finding.location, finding.problem)
    };
    let word = match findings.iter().any(|finding| finding.is_damage) {
        true => "damaged",
        false if findings.is_empty() => "no damage",
        false => "not checked to the end",
    };
    (findings.iter().map(line).collect(), word)
}
