//! The contract of a workload: a published experiment that every contestant can run.

use crate::contestant::Contestant;
use crate::failure::Failure;
use crate::measure::{Measure, Unit};
use crate::workload::bench::Bench;
use crate::workload::published::PublishedRatio;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A published experiment. A workload is one file under `workloads`.
pub trait Workload: Sync {
    /// Its name in results and on the command line.
    fn name(&self) -> &'static str;

    /// What it is, in a line.
    fn summary(&self) -> &'static str;

    /// How many rows it takes by default.
    fn rows_default(&self) -> u64;

    /// How many rows the published experiment had.
    fn rows_published(&self) -> u64 {
        self.rows_default()
    }

    /// Ratios that the experiment's authors measured, to be compared with those of a run.
    fn published(&self) -> Vec<PublishedRatio> {
        Vec::new()
    }

    /// What a reader must know to judge its figures.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Everything it measures, in the order of reports.
    fn measures(&self) -> &'static [Measure];

    /// What is known of its data without any contestant. The report shows it beside their figures.
    fn facts(&self, rows: u64) -> Vec<Fact>;

    /// The most that one contestant may take for this many rows.
    fn bound(&self, rows: u64) -> RunBound;

    /// Runs it on a contestant. Each figure goes to `bench` at once; an error ends the run and keeps the figures until
    /// then.
    ///
    /// # Errors
    ///
    /// A failure after which the other measures make no sense.
    fn run(&self, contestant: &dyn Contestant, bench: &mut Bench<'_>) -> Result<(), Failure>;
}

/// Something known of a workload's data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// Its name in results.
    pub name: String,
    /// What it is, for people.
    pub title: String,
    /// In `unit`.
    pub value: f64,
    /// What the value counts.
    pub unit: Unit,
    /// The measures that it stands beside.
    pub measures: Vec<String>,
}

/// The most that one contestant may take, stated before it starts. A contestant that takes longer is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunBound {
    /// Bytes on disk.
    pub disk_bytes: u64,
    /// Wall time of one run.
    pub time: Duration,
}
