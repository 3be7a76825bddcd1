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

    /// A description in one line.
    fn summary(&self) -> &'static str;

    /// The default number of rows.
    fn rows_default(&self) -> u64;

    /// The number of rows in the published experiment.
    fn rows_published(&self) -> u64 {
        self.rows_default()
    }

    /// Ratios that the experiment's authors measured, to be compared with those of a run.
    fn published(&self) -> Vec<PublishedRatio> {
        Vec::new()
    }

    /// Information that a reader needs to judge its figures.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns all measures of the workload, in the order of reports.
    fn measures(&self) -> &'static [Measure];

    /// Facts about the data that are independent of contestants. The report shows them next to the figures.
    fn facts(&self, _rows: u64) -> Vec<Fact> {
        Vec::new()
    }

    /// The resource limits of one contestant for this many rows.
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
    /// Its title, for people.
    pub title: String,
    /// The value in `unit`.
    pub value: f64,
    /// The unit of the value.
    pub unit: Unit,
    /// The measures next to which it is shown.
    pub measures: Vec<String>,
}

/// The resource limits of one contestant, printed before it starts. A contestant that takes longer is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunBound {
    /// Bytes on disk.
    pub disk_bytes: u64,
    /// Wall time of one run.
    pub time: Duration,
}

impl RunBound {
    /// Limits that grow with the number of rows. `disk` is in MiB, and in bytes for each row; `time` is in seconds, and
    /// in microseconds for each row.
    pub fn of_rows(rows: u64, disk: (u64, u64), time: (u64, u64)) -> Self {
        let disk_bytes = (disk.0 << 20).saturating_add(rows.saturating_mul(disk.1));
        Self { disk_bytes, time: Duration::from_secs(time.0) + Duration::from_micros(rows.saturating_mul(time.1)) }
    }
}
