//! The contract of a workload: a published experiment that any contestant can be put through.

use crate::bench::Bench;
use crate::contestant::Contestant;
use crate::failure::Failure;
use crate::measure::{Measure, Unit};
use crate::published::Published;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A published experiment. A workload is one file under `workloads`.
pub trait Workload: Sync {
    /// Its name in results and on the command line.
    fn name(&self) -> &'static str;

    /// What it is, in a line.
    fn summary(&self) -> &'static str;

    /// How many rows it takes unless told otherwise.
    fn rows_default(&self) -> u64;

    /// How many rows the published experiment had.
    fn rows_published(&self) -> u64 {
        self.rows_default()
    }

    /// Ratios that the experiment's authors measured, to stand beside those of a run.
    fn published(&self) -> Vec<Published> {
        Vec::new()
    }

    /// What a reader must know to judge its figures.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Everything it measures, in the order of reports.
    fn measures(&self) -> &'static [Measure];

    /// What is known of its data without any contestant, and stands in the report beside their figures.
    fn facts(&self, rows: u64) -> Vec<Fact>;

    /// The most that one contestant may take for this many rows.
    fn bound(&self, rows: u64) -> Bound;

    /// Puts a contestant through it. Each figure goes to `bench` as it comes; an error ends the run, those that
    /// were given stay.
    ///
    /// # Errors
    ///
    /// What makes going on senseless.
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

/// The most that one contestant may take, stated before it starts. One that takes longer is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// Bytes on disk.
    pub disk_bytes: u64,
    /// Wall time of one run.
    pub time: Duration,
}
