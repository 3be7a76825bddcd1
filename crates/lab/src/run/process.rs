//! The child process of a pair, as the lab sees it: its job, its events, its limits, its end.

use crate::measure::clock;
use crate::run::failed::unavailable;
use crate::run::options::RunOptions;
use crate::run::scratch::remove;
use crate::server::Servers;
use crate::workload::{CHILD_RUN, CHILD_VARIABLE, Event, Job};
use atsdb::{Error, Result};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// Runs a job in a child. Its events are passed to `sink`; if it ends unexpectedly, so is the reason. Returns whether
/// it was stopped in the middle.
pub(super) fn run_one(
    options: &RunOptions,
    job: &Job,
    time_max: Duration,
    servers: &Servers,
    sink: &mut dyn FnMut(Event),
) -> Result<bool> {
    if let Err(error) = std::fs::create_dir_all(&job.directory) {
        sink(Event::Ended { reason: Some(format!("cannot make a scratch folder: {error}")) });
        return Ok(false);
    }
    let mut last = None;
    let cut = in_child(options, job, time_max, &mut |event| match event {
        Event::Ended { reason } => last = Some(reason),
        other => sink(other),
    })?;
    // If a server dies, the client only sees a lost connection.
    let words = job.server.as_ref().and_then(|server| servers.last_words(server.kind));
    let because = |reason: String| words.as_ref().map_or(reason.clone(), |words| format!("{reason}; {words}"));
    if let Some(reason) = last {
        sink(Event::Ended { reason: reason.map(because) });
    }
    let was_stopped = matches!(cut, Some(EarlyEnd::Stopped(_)));
    if let Some(EarlyEnd::Stopped(reason) | EarlyEnd::Died(reason)) = cut {
        sink(Event::Ended { reason: Some(reason) });
    }
    // Processes that a stopped child had started may still be ending.
    if !remove(&job.directory) {
        return Err(unavailable(
            "cannot remove a scratch folder",
            std::io::Error::other(job.directory.display().to_string()),
        ));
    }
    Ok(was_stopped)
}

/// The reason why a child did not finish.
enum EarlyEnd {
    /// The lab stopped it.
    Stopped(String),
    /// The process ended without reporting a result.
    Died(String),
}

fn in_child(
    options: &RunOptions,
    job: &Job,
    time_max: Duration,
    sink: &mut dyn FnMut(Event),
) -> Result<Option<EarlyEnd>> {
    let (program, arguments) =
        options.child_command.split_first().ok_or_else(|| Error::usage("no command for the lab's child process"))?;
    let mut child = Command::new(program)
        .args(arguments)
        .env(CHILD_VARIABLE, CHILD_RUN)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Ctrl-C reaches the lab alone, which then stops the child.
        .process_group(0)
        .spawn()
        .map_err(|error| unavailable("cannot start the lab's child process", error))?;
    let text = serde_json::to_string(job).map_err(|error| Error::internal(format!("a job as JSON: {error}")))?;
    // Kept open until its end: a child whose input is closed has lost its lab, and ends as well.
    let mut input = child.stdin.take();
    // A child that ends before it has read its job reports the reason on its standard error.
    let _ = input.as_mut().map(|input| writeln!(input, "{text}"));
    let (lines, complaints) = (lines_of(&mut child), complaints_of(&mut child));

    let deadline = clock::now() + time_max;
    let (mut ended, mut stopped) = (false, None);
    loop {
        match lines.recv_timeout(Duration::from_millis(100)) {
            Ok(line) => {
                if let Some(event) = Event::of_line(&line) {
                    ended |= matches!(event, Event::Ended { .. });
                    sink(event);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if options.stop.load(Ordering::Relaxed) {
            stopped = Some("interrupted".to_owned());
        } else if clock::now() > deadline {
            stopped = Some(format!("stopped after {} s, the bound for this many rows", time_max.as_secs()));
        }
        if stopped.is_some() {
            // The process may have ended already.
            let _ = child.kill();
            break;
        }
    }
    let status = child.wait().map_err(|error| unavailable("cannot wait for the lab's child process", error))?;
    drop(input);
    if ended || stopped.is_some() {
        return Ok(stopped.map(EarlyEnd::Stopped));
    }
    let complaint = complaints.join().unwrap_or_default();
    let last: Vec<&str> = complaint.lines().rev().take(3).collect();
    let last = last.into_iter().rev().collect::<Vec<_>>().join(" / ");
    Ok(Some(EarlyEnd::Died(format!("its process ended with {status}: {last}"))))
}

fn lines_of(child: &mut Child) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    if let Some(output) = child.stdout.take() {
        std::thread::spawn(move || {
            BufReader::new(output).lines().map_while(std::result::Result::ok).try_for_each(|line| sender.send(line))
        });
    }
    receiver
}

fn complaints_of(child: &mut Child) -> std::thread::JoinHandle<String> {
    let errors = child.stderr.take();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut errors) = errors {
            // Unreadable output is not shown.
            let _ = errors.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
