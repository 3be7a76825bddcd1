//! The results of a run: every figure, with what is needed to judge and repeat it. `results.json` holds them as JSON.

use crate::measure::{Figure, Spread, Tier, Tuning, Unit};
use crate::process::Machine;
use crate::workload::{Event, Fact, PublishedRatio, Workload};
use serde::{Deserialize, Serialize};

/// The version of the JSON format.
///
/// | version | change |
/// |---|---|
/// | 1 | the first |
/// | 2 | latencies, curves and published ratios; readers of 2 also read 1 |
pub const REPORT_FORMAT: u32 = 2;

/// The results of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The version of this shape.
    pub format: u32,
    /// The version of the lab.
    pub version: String,
    /// The date on which it began, as the caller gave it.
    pub date: String,
    /// The machine of the run.
    pub machine: Machine,
    /// The settings of the run.
    pub settings: Settings,
    /// Whether the run was stopped early.
    pub interrupted: bool,
    /// The contestants.
    pub contestants: Vec<ContestantReport>,
    /// The workloads.
    pub workloads: Vec<WorkloadReport>,
}

/// The settings of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The seed of the random numbers.
    pub seed: u64,
    /// The number of runs of each contestant.
    pub repeat: u32,
    /// The requested durability: `full`, `normal` or `off`.
    pub durability: String,
    /// The settings: `tuned` or `defaults`.
    #[serde(default)]
    pub tuning: Tuning,
}

/// A contestant in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContestantReport {
    /// Its name.
    pub name: String,
    /// A one-line description.
    pub summary: String,
    /// The version, if the contestant can run here.
    pub version: Option<String>,
    /// The real durability of its commits, known once it has run. If that is not the requested tier, its figures are
    /// shown separately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<Tier>,
    /// Every setting that bears on speed or safety.
    pub settings: Vec<String>,
    /// The reason why the contestant cannot run here, and how to install it; `None` if it is present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent: Option<String>,
}

/// The results of a workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkloadReport {
    /// Its name.
    pub name: String,
    /// A one-line description.
    pub summary: String,
    /// The number of rows.
    pub rows: u64,
    /// Facts about its data.
    pub facts: Vec<Fact>,
    /// The measurements of its authors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<PublishedRatio>,
    /// Notes for readers: choices made, statements run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Its measures.
    pub measures: Vec<MeasureReport>,
    /// Contestants that did not reach the end, with the reason.
    pub broken: Vec<BrokenRun>,
}

/// A contestant that did not reach a workload's end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrokenRun {
    /// The contestant.
    pub contestant: String,
    /// The reason.
    pub reason: String,
}

/// The results of a measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasureReport {
    /// Its name.
    pub name: String,
    /// Its title.
    pub title: String,
    /// The unit of its figures.
    pub unit: Unit,
    /// The results of the contestants that reached it.
    pub results: Vec<MeasureResult>,
}

/// One contestant's result of a measure.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasureResult {
    /// The contestant.
    pub contestant: String,
    /// The tier at which it was measured: `full`, `normal`, `off` or `none`.
    pub durability: String,
    /// Each run's figure.
    pub runs: Vec<Figure>,
    /// The spread over the runs; `None` where the measure was skipped or failed.
    pub spread: Option<Spread>,
    /// The reason why it could not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// The reason why it failed; `None` if it succeeded. A wrong answer is a failure, and its figures do not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

impl Report {
    /// An empty one.
    pub(crate) fn new(date: &str, machine: Machine, settings: Settings) -> Self {
        Self {
            format: REPORT_FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            date: date.to_owned(),
            machine,
            settings,
            interrupted: false,
            contestants: Vec::new(),
            workloads: Vec::new(),
        }
    }

    pub(crate) fn begin_workload(&mut self, workload: &dyn Workload, rows: u64) {
        let measure = |measure: &crate::measure::Measure| MeasureReport {
            name: measure.name.to_owned(),
            title: measure.title.to_owned(),
            unit: measure.unit,
            results: Vec::new(),
        };
        self.workloads.push(WorkloadReport {
            name: workload.name().to_owned(),
            summary: workload.summary().to_owned(),
            rows,
            facts: workload.facts(rows),
            published: workload.published(),
            notes: workload.notes(),
            measures: workload.measures().iter().map(measure).collect(),
            broken: Vec::new(),
        });
    }

    /// Records an event of a contestant's run of the workload at `position`.
    pub(crate) fn take(&mut self, position: usize, contestant: &str, event: Event) {
        match event {
            Event::Measured { measure, figure } => self.result(position, contestant, &measure).runs.push(*figure),
            Event::Skipped { measure, reason } => self.result(position, contestant, &measure).skipped = Some(reason),
            Event::Failed { measure, reason } => self.result(position, contestant, &measure).failed = Some(reason),
            Event::Opened { settings, tier } => {
                if let Some(report) = self.contestants.iter_mut().find(|report| report.name == contestant) {
                    report.settings = settings;
                    report.tier = Some(tier);
                }
            }
            Event::Ended { reason: Some(reason) } => {
                // The first reason is enough.
                let broken = &mut self.workloads[position].broken;
                if broken.iter().all(|known| known.contestant != contestant) {
                    broken.push(BrokenRun { contestant: contestant.to_owned(), reason });
                }
            }
            Event::Ended { reason: None } | Event::Progress { .. } => {}
        }
    }

    /// Returns the report with its conclusions.
    pub(crate) fn concluded(mut self) -> Self {
        self.conclude();
        self
    }

    /// Compares answers and sums the runs up.
    pub(crate) fn conclude(&mut self) {
        let order: Vec<String> = self.contestants.iter().map(|contestant| contestant.name.clone()).collect();
        // Known once a contestant has opened its workspace; a result may come before that.
        let tiers: Vec<_> = self.contestants.iter().map(|report| (report.name.clone(), report.tier)).collect();
        for measure in self.workloads.iter_mut().flat_map(|workload| &mut workload.measures) {
            measure.results.sort_by_key(|result| order.iter().position(|name| *name == result.contestant));
            compare_answers(measure);
            for result in &mut measure.results {
                let figures: Vec<f64> = result.runs.iter().map(|run| run.value).collect();
                result.spread = if result.failed.is_some() { None } else { Spread::of(&figures) };
                let tier = tiers.iter().find(|(name, _)| *name == result.contestant).and_then(|(_, tier)| *tier);
                result.durability =
                    tier.map_or_else(|| self.settings.durability.clone(), |tier| tier.name().to_owned());
            }
        }
    }

    fn result(&mut self, position: usize, contestant: &str, measure: &str) -> &mut MeasureResult {
        let measures = &mut self.workloads[position].measures;
        let found = measures.iter().position(|candidate| candidate.name == measure).unwrap_or_else(|| {
            let (name, title) = (measure.to_owned(), measure.to_owned());
            measures.push(MeasureReport { name, title, unit: Unit::Milliseconds, results: Vec::new() });
            measures.len() - 1
        });
        let results = &mut measures[found].results;
        let found = results.iter().position(|result| result.contestant == contestant).unwrap_or_else(|| {
            let (contestant, durability) = (contestant.to_owned(), self.settings.durability.clone());
            results.push(MeasureResult { contestant, durability, ..MeasureResult::default() });
            results.len() - 1
        });
        &mut results[found]
    }

    /// The results as JSON, for `results.json`.
    ///
    /// # Errors
    ///
    /// A figure that JSON cannot hold.
    pub fn to_json(&self) -> atsdb::Result<String> {
        serde_json::to_string_pretty(self).map_err(|error| atsdb::Error::internal(format!("results as JSON: {error}")))
    }
}

impl WorkloadReport {
    /// The sources of the published ratios, each once.
    pub(crate) fn sources(&self) -> Vec<String> {
        let mut sources: Vec<String> = Vec::new();
        for published in &self.published {
            if !sources.contains(&published.source) {
                sources.push(published.source.clone());
            }
        }
        sources.iter().map(|source| format!("published in {source}")).collect()
    }
}

/// Fails a contestant whose answer differs from the first contestant's, or from one of its own runs.
fn compare_answers(measure: &mut MeasureReport) {
    let answer_of = |result: &MeasureResult| result.runs.iter().find_map(|run| run.answer.clone());
    let sound = measure.results.iter().filter(|result| result.failed.is_none());
    let Some((reference, expected)) =
        sound.filter_map(|result| answer_of(result).map(|answer| (result.contestant.clone(), answer))).next()
    else {
        return;
    };
    for result in &mut measure.results {
        let wrong = result.runs.iter().filter_map(|run| run.answer.as_ref()).find(|answer| **answer != expected);
        if let Some(wrong) = wrong {
            let (hash, rows) = (&wrong.hash, wrong.rows);
            result.failed = Some(format!(
                "wrong answer: {rows} rows, hash {hash}; {reference} has {} rows, hash {}",
                expected.rows, expected.hash
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::answer::AnswerHash;

    fn answered(hash: &str) -> Event {
        let answer = Some(AnswerHash { rows: 1, hash: hash.to_owned() });
        Event::Measured { measure: "count".to_owned(), figure: Box::new(Figure { answer, ..Figure::of(1.0) }) }
    }

    #[test]
    fn a_wrong_answer_fails_the_contestant_and_its_figures() {
        let settings = Settings { seed: 1, repeat: 1, durability: "full".to_owned(), tuning: Tuning::Tuned };
        let mut report = Report::new("", Machine::here(), settings);
        for name in ["first", "second"] {
            let (name, summary) = (name.to_owned(), String::new());
            report.contestants.push(ContestantReport {
                name,
                summary,
                version: Some(String::new()),
                tier: None,
                settings: vec![],
                absent: None,
            });
        }
        report.begin_workload(&crate::workloads::series::Series, 1);
        report.take(0, "second", answered("b"));
        report.take(0, "first", answered("a"));
        report.conclude();
        let count = report.workloads[0].measures.iter().find(|measure| measure.name == "count").expect("a measure");
        assert_eq!(count.results[0].spread.map(|spread| spread.median), Some(1.0));
        assert_eq!(count.results[1].spread, None);
        assert!(count.results[1].failed.as_ref().is_some_and(|reason| reason.contains("wrong answer")));
        assert!(report.to_table().contains("wrong answer"));
    }
}
