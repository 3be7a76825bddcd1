//! Runs the lab, from the options to the report.

use crate::contestant::Contestant;
use crate::failure::Failure;
use crate::process::Machine;
use crate::report::{ContestantReport, Report, Settings};
use crate::run::failed::unavailable;
use crate::run::names::{contestants_named, workloads_named};
use crate::run::options::{Progress, RunOptions};
use crate::run::process::run_one;
use crate::run::scratch::{Scratch, remove_abandoned};
use crate::server::Servers;
use crate::workload::{Event, Job, RunBound, Workload};
use crate::workloads;
use atsdb::{Error, Result};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Runs the lab with these options. A contestant that fails is in the report with the reason; the others continue. When
/// [`RunOptions::stop`] is set, the report contains the measurements until then and is marked as interrupted.
///
/// # Errors
///
/// Unknown names (the nearest is suggested), no rows, a folder that cannot be written, a child process that cannot be
/// started.
pub fn run(options: &RunOptions, progress: &mut dyn FnMut(Progress<'_>)) -> Result<Report> {
    let workloads = match &options.input {
        None => workloads_named(&options.workloads)?,
        Some(_) => vec![workloads::ADVISE],
    };
    let contestants = contestants_named(&options.contestants)?;
    for name in options.rows_of.keys() {
        workloads_named(std::slice::from_ref(name))?;
    }
    if options.rows.iter().chain(options.rows_of.values()).any(|rows| *rows == 0) {
        return Err(Error::usage("a workload needs at least one row").with_hint("leave --rows out for the default"));
    }
    for folder in remove_abandoned(&options.directory) {
        progress(Progress::Removed { folder: &folder });
    }
    let scratch = Scratch::new(&options.directory)?;
    let mut run = LabRun::begin(options, &scratch, workloads, &contestants);
    progress(run.bound());
    for turn in 0..run.repeat as usize {
        for position in 0..run.workloads.len() {
            for offset in 0..run.present.len() {
                // Each turn begins with another contestant.
                let contestant = run.present[(offset + turn) % run.present.len()];
                run.step(position, contestant, progress)?;
            }
        }
    }
    run.report.conclude();
    Ok(run.report)
}

/// A run in progress.
struct LabRun<'a> {
    options: &'a RunOptions,
    /// The folder in which jobs have their folders.
    folder: &'a Path,
    workloads: Vec<&'static dyn Workload>,
    /// The resource limits of each workload for a contestant.
    bounds: Vec<RunBound>,
    /// The contestants that can run here.
    present: Vec<&'static dyn Contestant>,
    repeat: u32,
    servers: Servers,
    report: Report,
    /// Counted from 1; 0 before the first.
    steps_begun: u32,
}

impl<'a> LabRun<'a> {
    fn begin(
        options: &'a RunOptions,
        scratch: &'a Scratch,
        workloads: Vec<&'static dyn Workload>,
        contestants: &[&'static dyn Contestant],
    ) -> Self {
        let (repeat, folder) = (options.repeat.max(1), scratch.folder.as_path());
        let durability = options.durability.name().to_owned();
        let settings = Settings { seed: options.seed, repeat, durability, tuning: options.tuning };
        let mut report = Report::new(&options.date, Machine::here(), settings);
        let mut present = Vec::new();
        for contestant in contestants {
            let version = contestant.version(&options.urls);
            if version.is_ok() {
                present.push(*contestant);
            }
            report.contestants.push(ContestantReport {
                name: contestant.name().to_owned(),
                summary: contestant.summary().to_owned(),
                version: version.as_ref().ok().cloned(),
                tier: None,
                settings: Vec::new(),
                absent: version.err().map(|failure| failure.to_string()),
            });
        }
        for workload in &workloads {
            report.begin_workload(*workload, options.rows_of(*workload));
        }
        if let (Some(input), Some(workload)) = (&options.input, report.workloads.last_mut()) {
            workload.notes = input.notes();
        }
        let bounds = workloads.iter().map(|workload| workload.bound(options.rows_of(*workload))).collect();
        let servers =
            Servers::new(folder, options.durability, options.tuning, &options.urls, options.overwrite_databases);
        Self { options, folder, workloads, bounds, present, repeat, servers, report, steps_begun: 0 }
    }

    /// The resource limits of the whole run.
    fn bound(&self) -> Progress<'static> {
        let disk_bytes = self.bounds.iter().map(|bound| bound.disk_bytes).max().unwrap_or(0);
        let once: Duration = self.bounds.iter().map(|bound| bound.time).sum();
        Progress::Bound { disk_bytes, time: once * self.repeat * self.present.len() as u32 }
    }

    /// Runs the workload at `position` on a contestant, once.
    fn step(
        &mut self,
        position: usize,
        contestant: &'static dyn Contestant,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<()> {
        self.steps_begun += 1;
        if self.options.stop.load(Ordering::Relaxed) {
            self.report.interrupted = true;
            return Ok(());
        }
        let (step, steps) = (self.steps_begun, self.repeat * (self.workloads.len() * self.present.len()) as u32);
        let workload = self.workloads[position];
        let mut job = job(self.options, workload, contestant, &self.folder.join(format!("run-{step}")));
        let report = &mut self.report;
        let mut sink = |event: Event| {
            if let Event::Progress { text } = &event {
                let (workload, contestant) = (workload.name(), contestant.name());
                progress(Progress::Step { step, steps, workload, contestant, doing: text });
            }
            report.take(position, contestant.name(), event);
        };
        let was_stopped = match give_server(&mut job, contestant, &mut self.servers, step) {
            Ok(()) => run_one(self.options, &job, self.bounds[position].time, &self.servers, &mut sink)?,
            Err(failure) => {
                sink(Event::Ended { reason: Some(failure.to_string()) });
                false
            }
        };
        match &job.server {
            Some(server) if was_stopped => self.servers.abandon(server.kind, step),
            Some(server) => self.servers.forget(server.kind, step),
            None => {}
        }
        self.report.interrupted |= self.options.stop.load(Ordering::Relaxed);
        self.keep()
    }

    /// Writes the results so far to a file, so that they outlive this process.
    fn keep(&self) -> Result<()> {
        let Some(path) = &self.options.keep else { return Ok(()) };
        let until_now = Report { interrupted: true, ..self.report.clone() }.concluded().to_json()?;
        std::fs::write(path, until_now).map_err(|error| unavailable("cannot keep the results", error))
    }
}

fn job(options: &RunOptions, workload: &dyn Workload, contestant: &dyn Contestant, directory: &Path) -> Job {
    Job {
        workload: workload.name().to_owned(),
        contestant: contestant.name().to_owned(),
        rows: options.rows_of(workload),
        seed: options.seed,
        durability: options.durability.name().to_owned(),
        tuning: options.tuning,
        directory: directory.to_owned(),
        database_prefix: "lab".to_owned(),
        server: None,
        input: options.input.clone(),
        start_command: options.start_command.clone(),
    }
}

/// Assigns a job the server that its contestant needs.
fn give_server(
    job: &mut Job,
    contestant: &dyn Contestant,
    servers: &mut Servers,
    step: u32,
) -> std::result::Result<(), Failure> {
    if let Some(kind) = contestant.server() {
        let address = servers.address(kind)?;
        job.database_prefix = Servers::database_prefix(&address, step);
        job.server = Some(address);
    }
    Ok(())
}
