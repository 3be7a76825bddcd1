//! The process that runs one contestant. Each run has one of its own, so that memory, caches and crashes stay apart.

use crate::bench::Bench;
use crate::event::{Event, Job};
use crate::failure::Failure;
use crate::{contestants, workloads};
use atsdb::{Durability, Error, ErrorKind, Result};
use std::collections::HashSet;
use std::io::{BufRead, Read, Write};

/// The first argument by which this program knows that it is to call [`run_child`].
pub const CHILD_ARGUMENT: &str = "lab-child";
/// The environment variable that is always set for a child.
pub const CHILD_VARIABLE: &str = "ATSDB_LAB_CHILD";
/// Its value for a child that runs a job.
pub const CHILD_RUN: &str = "run";
/// Its value for a child that ends at once: its start is what is measured.
pub const CHILD_START: &str = "start";

/// Does what the process that runs the lab asks for: reads a job on standard input, writes events on standard
/// output. A program that calls [`run`](crate::run()) calls this, and nothing else, when its first argument is
/// [`CHILD_ARGUMENT`].
///
/// # Errors
///
/// A job that cannot be read, or names what is not there. What fails within the run is told as an event.
pub fn run_child() -> Result<()> {
    if std::env::var_os(CHILD_VARIABLE).is_some_and(|value| value == CHILD_START) {
        return Ok(());
    }
    let mut text = String::new();
    std::io::stdin().lock().read_line(&mut text).map_err(|error| unreadable(&error))?;
    let job: Job = serde_json::from_str(&text).map_err(|error| unreadable(&error))?;
    std::thread::spawn(end_with_the_lab);
    run_job(&job, &mut |event| {
        let Ok(line) = event.to_line() else { return false };
        let mut output = std::io::stdout().lock();
        writeln!(output, "{line}").and_then(|()| output.flush()).is_ok()
    })
}

/// The lab holds this process's input open as long as it lives. Without it nobody removes what is written here, nor
/// waits for it.
fn end_with_the_lab() {
    let mut rest = Vec::new();
    if std::io::stdin().lock().read_to_end(&mut rest).is_ok() {
        std::process::exit(1);
    }
}

/// Runs a job in this process.
///
/// # Errors
///
/// A job that names what is not there.
pub(crate) fn run_job(job: &Job, sink: &mut dyn FnMut(Event) -> bool) -> Result<()> {
    let workload =
        crate::run::find("workload", &job.workload, workloads::all_and_advise(), |workload| workload.name())?;
    let contestant =
        crate::run::find("contestant", &job.contestant, contestants::all(), |contestant| contestant.name())?;
    let mut told = HashSet::new();
    let mut note = |event: Event| {
        if let Event::Measured { measure, .. } | Event::Skipped { measure, .. } | Event::Failed { measure, .. } = &event
        {
            told.insert(measure.clone());
        }
        sink(event)
    };
    let mut bench = Bench {
        rows: job.rows,
        seed: job.seed,
        durability: Durability::parse(&job.durability)?,
        tuning: job.tuning,
        directory: job.directory.clone(),
        database_prefix: job.database_prefix.clone(),
        server: job.server.clone(),
        input: job.input.clone(),
        start_command: job.start_command.clone(),
        sink: &mut note,
    };
    let not_reached = || "not reached: it needs a step before it, which has no figure".to_owned();
    let (reason, skipped) = match workload.run(contestant, &mut bench) {
        Ok(()) => (None, not_reached()),
        Err(Failure::Interrupted) => return Ok(()),
        // Who cannot do a step that the others need is no failure.
        Err(Failure::Cannot(why)) => (None, why),
        Err(failure) => (Some(failure.to_string()), not_reached()),
    };
    for measure in workload.measures().iter().filter(|measure| reason.is_none() && !told.contains(measure.name)) {
        sink(Event::Skipped { measure: measure.name.to_owned(), reason: skipped.clone() });
    }
    sink(Event::Ended { reason });
    Ok(())
}

fn unreadable(error: &dyn std::error::Error) -> Error {
    Error::new(ErrorKind::Usage, format!("cannot read the lab's job: {error}"))
        .with_hint(format!("{CHILD_ARGUMENT} is for the lab itself; use: atsdb lab run"))
}
