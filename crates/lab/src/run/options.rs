//! The options of a run, and the progress that it reports.

use crate::advise::AdviseInput;
use crate::measure::Tuning;
use crate::run::failed::unavailable;
use crate::server::ServerUrls;
use crate::workload::{CHILD_ARGUMENT, Workload};
use atsdb::{Durability, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The options of a run.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Names of workloads; empty means all.
    pub workloads: Vec<String>,
    /// Names of contestants; empty means all.
    pub contestants: Vec<String>,
    /// Rows of each workload, instead of its default.
    pub rows: Option<u64>,
    /// Rows of single workloads by name. This wins over the other two.
    pub rows_of: BTreeMap<String, u64>,
    /// Whether each workload has its published size, unless `rows` is set.
    pub full: bool,
    /// The seed of the random numbers.
    pub seed: u64,
    /// The number of runs of each contestant for each workload, at least 1.
    pub repeat: u32,
    /// The requested durability.
    pub durability: Durability,
    /// Tuned or default settings.
    pub tuning: Tuning,
    /// Servers that run already.
    pub urls: ServerUrls,
    /// Whether databases that such a server has from an earlier run may be dropped.
    pub overwrite_databases: bool,
    /// The folder for scratch data. The run creates its own folder in it and removes that at the end.
    pub directory: PathBuf,
    /// The date for the report; the caller owns the clock.
    pub date: String,
    /// The command, with its arguments, that does [`run_child`](crate::run_child).
    pub child_command: Vec<String>,
    /// The command, with its arguments, that starts the program and ends it at once.
    pub start_command: Vec<String>,
    /// The file for the results so far, so that they survive a run that is killed.
    pub keep: Option<PathBuf>,
    /// The file for advice. If it is set, only the workload `advise` runs.
    pub input: Option<AdviseInput>,
    /// Set this to stop the run, which then returns its measurements so far.
    pub stop: Arc<AtomicBool>,
}

impl RunOptions {
    /// All workloads on all contestants, three times, in `directory`, by this program with
    /// [`CHILD_ARGUMENT`].
    ///
    /// # Errors
    ///
    /// The program's own path is unknown.
    pub fn new(directory: impl Into<PathBuf>) -> Result<Self> {
        let program = std::env::current_exe().map_err(|error| unavailable("cannot tell this program's path", error))?;
        let child_command = vec![program.to_string_lossy().into_owned(), CHILD_ARGUMENT.to_owned()];
        Ok(Self {
            workloads: Vec::new(),
            contestants: Vec::new(),
            rows: None,
            rows_of: BTreeMap::new(),
            full: false,
            seed: 1,
            repeat: 3,
            durability: Durability::Full,
            tuning: Tuning::default(),
            urls: ServerUrls::default(),
            overwrite_databases: false,
            directory: directory.into(),
            date: String::new(),
            start_command: child_command.clone(),
            child_command,
            input: None,
            keep: None,
            stop: Arc::default(),
        })
    }

    /// The number of rows of a workload.
    pub(super) fn rows_of(&self, workload: &dyn Workload) -> u64 {
        let usual = if self.full { workload.rows_published() } else { workload.rows_default() };
        let of_file = self.input.as_ref().map(|input| input.rows);
        let of_its_own = self.rows_of.get(workload.name()).copied();
        of_file.or(of_its_own).or(self.rows).unwrap_or(usual)
    }
}

/// The progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress<'a> {
    /// The folder of a killed lab was removed.
    Removed {
        /// The folder.
        folder: &'a Path,
    },
    /// The resource limits of the whole run, before anything starts.
    Bound {
        /// Bytes on disk at once.
        disk_bytes: u64,
        /// Wall time. A contestant that passes its share is stopped.
        time: Duration,
    },
    /// A contestant runs a workload.
    Step {
        /// Counted from 1.
        step: u32,
        /// The number of steps.
        steps: u32,
        /// The workload.
        workload: &'a str,
        /// The contestant.
        contestant: &'a str,
        /// The present activity.
        doing: &'a str,
    },
}
