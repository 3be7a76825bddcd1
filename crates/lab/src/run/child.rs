//! The process that runs one contestant. Each run has a separate process, so that memory, caches and crashes do not
//! affect each other.

use crate::failure::Failure;
use crate::run::names::{any_workload_named, contestant_named};
use crate::workload::{Bench, CHILD_ARGUMENT, CHILD_START, CHILD_VARIABLE, Event, Job};
use atsdb::{Durability, Error, ErrorKind, Result};
use std::collections::HashSet;
use std::io::{BufRead, Read, Write};

/// Runs a job: reads it from standard input, and writes events to standard output. A program that calls
/// [`run`](crate::run()) calls this, and nothing else, when its first argument is [`CHILD_ARGUMENT`].
///
/// # Errors
///
/// A job that cannot be read, or that has unknown names. Failures within the run are reported as events.
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

/// Ends this process when the lab ends, which keeps this process's input open as long as it runs. Without the lab,
/// nothing would wait for this process or remove its files.
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
/// A job with unknown names.
pub(crate) fn run_job(job: &Job, sink: &mut dyn FnMut(Event) -> bool) -> Result<()> {
    let workload = any_workload_named(&job.workload)?;
    let contestant = contestant_named(&job.contestant)?;
    let mut reported = HashSet::new();
    let mut note = |event: Event| {
        if let Event::Measured { measure, .. } | Event::Skipped { measure, .. } | Event::Failed { measure, .. } = &event
        {
            reported.insert(measure.clone());
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
    let ran = workload.run(contestant, &mut bench);
    contestant.close();
    let not_reached = || "not reached: it needs a step before it, which has no figure".to_owned();
    let (reason, skipped) = match ran {
        Ok(()) => (None, not_reached()),
        Err(Failure::Interrupted) => return Ok(()),
        // A contestant that cannot do a step that the others need has not failed.
        Err(Failure::Cannot(why)) => (None, why),
        Err(failure) => (Some(failure.to_string()), not_reached()),
    };
    for measure in workload.measures().iter().filter(|measure| reason.is_none() && !reported.contains(measure.name)) {
        sink(Event::Skipped { measure: measure.name.to_owned(), reason: skipped.clone() });
    }
    sink(Event::Ended { reason });
    Ok(())
}

fn unreadable(error: &dyn std::error::Error) -> Error {
    Error::new(ErrorKind::Usage, format!("cannot read the lab's job: {error}"))
        .with_hint(format!("{CHILD_ARGUMENT} is for the lab itself; use: atsdb lab run"))
}
