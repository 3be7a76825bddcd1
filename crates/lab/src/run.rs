//! Runs workloads on contestants: each pair in a process of its own, as often as asked, in rotating order.

use crate::advise::AdviseInput;
use crate::child::{CHILD_ARGUMENT, CHILD_RUN, CHILD_VARIABLE};
use crate::contestant::{Contestant, Tuning};
use crate::event::{Event, Job};
use crate::failure::Failure;
use crate::report::{ContestantReport, Report, Settings};
use crate::scratch::{Scratch, remove_abandoned};
use crate::server::{ServerUrls, Servers};
use crate::table::grouped;
use crate::workload::{Bound, Workload};
use crate::{contestants, process, workloads};
use atsdb::{Durability, Error, ErrorKind, Result};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// What to run, and how.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Names of workloads; none is all.
    pub workloads: Vec<String>,
    /// Names of contestants; none is all that are present.
    pub contestants: Vec<String>,
    /// Rows of each workload, instead of its default.
    pub rows: Option<u64>,
    /// Rows of the workloads of these names, instead of all else.
    pub rows_of: BTreeMap<String, u64>,
    /// Take the published size of each workload, unless `rows` says another.
    pub full: bool,
    /// Where randomness starts.
    pub seed: u64,
    /// How often each contestant runs each workload, at least once.
    pub repeat: u32,
    /// What commits survive.
    pub durability: Durability,
    /// Whose settings contestants run with.
    pub tuning: Tuning,
    /// Servers that run already.
    pub urls: ServerUrls,
    /// Whether databases that such a server has from an earlier run may be dropped.
    pub overwrite_databases: bool,
    /// Where scratch data goes: into a folder of its own, which is removed.
    pub directory: PathBuf,
    /// When it is, for the report; the caller owns the clock.
    pub date: String,
    /// The command, with its arguments, that does [`run_child`](crate::run_child).
    pub child_command: Vec<String>,
    /// The command, with its arguments, that starts the program and ends it at once.
    pub start_command: Vec<String>,
    /// Where the results so far are kept while it runs, so that they outlive a run that is killed.
    pub keep: Option<PathBuf>,
    /// The file that advice is asked on: then this is all that is run.
    pub input: Option<AdviseInput>,
    /// Set it to stop: what was measured until then is returned.
    pub stop: Arc<AtomicBool>,
}

impl RunOptions {
    /// All workloads on all contestants, three times, in `directory`, by this program with
    /// [`CHILD_ARGUMENT`].
    ///
    /// # Errors
    ///
    /// The program's own path cannot be told.
    pub fn new(directory: impl Into<PathBuf>) -> Result<Self> {
        let program = std::env::current_exe().map_err(|error| broken("cannot tell this program's path", error))?;
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
}

impl RunOptions {
    fn rows_of(&self, workload: &dyn Workload) -> u64 {
        let usual = if self.full { workload.rows_published() } else { workload.rows_default() };
        let of_file = self.input.as_ref().map(|input| input.rows);
        let of_its_own = self.rows_of.get(workload.name()).copied();
        of_file.or(of_its_own).or(self.rows).unwrap_or(usual)
    }
}

/// What is going on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress<'a> {
    /// A folder that a killed lab left was removed.
    Removed {
        /// Which.
        folder: &'a Path,
    },
    /// Before anything starts: the most that all of it takes.
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
        /// How many there are.
        steps: u32,
        /// The workload.
        workload: &'a str,
        /// The contestant.
        contestant: &'a str,
        /// What it is doing.
        doing: &'a str,
    },
}

/// Something that can be named in [`RunOptions`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// `workload` or `contestant`.
    pub kind: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What it is, in a line.
    pub summary: &'static str,
    /// A contestant's version; or why it cannot run here, and what installs it.
    pub presence: std::result::Result<String, String>,
}

/// Everything that can be named, workloads first. `urls` names servers that run already.
pub fn list(urls: &ServerUrls) -> Vec<Listed> {
    let workloads = workloads::all().iter().map(|workload| Listed {
        kind: "workload",
        name: workload.name(),
        summary: workload.summary(),
        presence: Ok(match (grouped(workload.rows_default()), grouped(workload.rows_published())) {
            (usual, full) if usual == full => format!("{usual} rows"),
            (usual, full) => format!("{usual} rows; --full: {full}"),
        }),
    });
    let contestants = contestants::all().iter().map(|contestant| Listed {
        kind: "contestant",
        name: contestant.name(),
        summary: contestant.summary(),
        presence: contestant.version(urls).map_err(|failure| failure.to_string()),
    });
    workloads.chain(contestants).collect()
}

/// Runs what `options` says. A contestant that fails is in the report with its reason; the others go on. When
/// [`RunOptions::stop`] is set, the report holds what was measured until then and says that it was interrupted.
///
/// # Errors
///
/// Names that are not there (with the nearest), no rows, a folder that cannot be written, a child process that
/// cannot be started.
pub fn run(options: &RunOptions, progress: &mut dyn FnMut(Progress<'_>)) -> Result<Report> {
    let workloads = match &options.input {
        None => chosen("workload", &options.workloads, workloads::all(), |workload| workload.name())?,
        Some(_) => vec![workloads::ADVISE],
    };
    let contestants = chosen_contestants(&options.contestants)?;
    for name in options.rows_of.keys() {
        find("workload", name, workloads::all(), |workload| workload.name())?;
    }
    if options.rows.iter().chain(options.rows_of.values()).any(|rows| *rows == 0) {
        return Err(Error::usage("a workload needs at least one row").with_hint("leave --rows out for the default"));
    }
    let repeat = options.repeat.max(1);
    for folder in remove_abandoned(&options.directory) {
        progress(Progress::Removed { folder: &folder });
    }
    let scratch = Scratch::new(&options.directory)?;
    let mut report = Report::new(
        &options.date,
        process::Machine::here(),
        Settings {
            seed: options.seed,
            repeat,
            durability: options.durability.name().to_owned(),
            tuning: options.tuning,
        },
    );
    let mut servers =
        Servers::new(&scratch.folder, options.durability, options.tuning, &options.urls, options.overwrite_databases);
    let mut present = Vec::new();
    for contestant in contestants {
        let version = contestant.version(&options.urls);
        report.contestants.push(ContestantReport {
            name: contestant.name().to_owned(),
            summary: contestant.summary().to_owned(),
            version: version.as_ref().ok().cloned(),
            tier: None,
            settings: Vec::new(),
            absent: version.as_ref().err().map(ToString::to_string),
        });
        if version.is_ok() {
            present.push(contestant);
        }
    }

    let rows_of = |workload: &dyn Workload| options.rows_of(workload);
    let bounds: Vec<Bound> = workloads.iter().map(|workload| workload.bound(rows_of(*workload))).collect();
    progress(Progress::Bound {
        disk_bytes: bounds.iter().map(|bound| bound.disk_bytes).max().unwrap_or(0),
        time: bounds.iter().map(|bound| bound.time).sum::<Duration>() * repeat * present.len() as u32,
    });
    for workload in &workloads {
        report.begin_workload(*workload, rows_of(*workload));
    }
    if let (Some(input), Some(workload)) = (&options.input, report.workloads.last_mut()) {
        workload.notes = input.notes();
    }

    let steps = repeat * (workloads.len() * present.len()) as u32;
    let mut step = 0;
    for turn in 0..repeat as usize {
        for (position, workload) in workloads.iter().enumerate() {
            for place in 0..present.len() {
                let contestant = present[(place + turn) % present.len()];
                step += 1;
                if options.stop.load(Ordering::Relaxed) {
                    report.interrupted = true;
                    continue;
                }
                let mut job = job(options, *workload, contestant, &scratch.folder.join(format!("run-{step}")));
                let mut sink = |event: Event| {
                    if let Event::Progress { text } = &event {
                        let (workload, contestant) = (workload.name(), contestant.name());
                        progress(Progress::Step { step, steps, workload, contestant, doing: text });
                    }
                    report.take(position, contestant.name(), event);
                };
                let was_stopped = match place_on_server(&mut job, contestant, &mut servers, step) {
                    Ok(()) => run_one(options, &job, bounds[position].time, &servers, &mut sink)?,
                    Err(failure) => {
                        sink(Event::Ended { reason: Some(failure.to_string()) });
                        false
                    }
                };
                match &job.server {
                    Some(server) if was_stopped => servers.abandon(server.kind, step),
                    Some(server) => servers.forget(server.kind, step),
                    None => {}
                }
                report.interrupted |= options.stop.load(Ordering::Relaxed);
                if let Some(path) = &options.keep {
                    let until_now = Report { interrupted: true, ..report.clone() }.concluded().to_json()?;
                    std::fs::write(path, until_now).map_err(|error| broken("cannot keep the results", error))?;
                }
            }
        }
    }
    report.conclude();
    Ok(report)
}

/// One of `all` by its name.
pub(crate) fn find<'a, T: ?Sized>(
    kind: &str,
    name: &str,
    all: &[&'a T],
    name_of: impl Fn(&T) -> &'static str,
) -> Result<&'a T> {
    let found = all.iter().find(|candidate| name_of(candidate).eq_ignore_ascii_case(name)).copied();
    found.ok_or_else(|| {
        let error = atsdb::name::unknown_name(kind, name, all.iter().map(|candidate| name_of(candidate)));
        let usage = Error::usage(error.message());
        error.hint().map_or(Error::usage(error.message()), |hint| usage.with_hint(hint))
    })
}

fn chosen<'a, T: ?Sized>(
    kind: &str,
    names: &[String],
    all: &[&'a T],
    name_of: impl Fn(&T) -> &'static str + Copy,
) -> Result<Vec<&'a T>> {
    match names.is_empty() {
        true => Ok(all.to_vec()),
        false => names.iter().map(|name| find(kind, name, all, name_of)).collect(),
    }
}

/// The contestants of these names; the name of a family, as `mariadb`, stands for all of it.
fn chosen_contestants(names: &[String]) -> Result<Vec<&'static dyn Contestant>> {
    let mut expanded = Vec::new();
    for name in names {
        let family = format!("{}:", name.to_ascii_lowercase());
        let is_alone = contestants::all().iter().any(|contestant| contestant.name().eq_ignore_ascii_case(name));
        let members = contestants::all().iter().map(|contestant| contestant.name());
        let members: Vec<String> = members.filter(|name| name.starts_with(&family)).map(str::to_owned).collect();
        match is_alone || members.is_empty() {
            true => expanded.push(name.clone()),
            false => expanded.extend(members),
        }
    }
    chosen("contestant", &expanded, contestants::all(), |contestant| contestant.name())
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

/// Gives a job the server that its contestant asks for.
fn place_on_server(
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

/// Runs a job in a child. Its events go to `sink`; when it ends without saying so, the reason does. Returns whether it
/// was stopped in the middle.
fn run_one(
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
    // Of a server that died the client only knows that it is gone.
    let words = job.server.as_ref().and_then(|server| servers.last_words(server.kind));
    let because = |reason: String| words.as_ref().map_or(reason.clone(), |words| format!("{reason}; {words}"));
    if let Some(reason) = last {
        sink(Event::Ended { reason: reason.map(because) });
    }
    let was_stopped = matches!(cut, Some(Cut::Stopped(_)));
    if let Some(Cut::Stopped(reason) | Cut::Died(reason)) = cut {
        sink(Event::Ended { reason: Some(reason) });
    }
    std::fs::remove_dir_all(&job.directory).map_err(|error| broken("cannot remove a scratch folder", error))?;
    Ok(was_stopped)
}

/// Why a child did not come to its end.
enum Cut {
    /// The lab stopped it.
    Stopped(String),
    /// It ended without a word.
    Died(String),
}

fn in_child(options: &RunOptions, job: &Job, time_max: Duration, sink: &mut dyn FnMut(Event)) -> Result<Option<Cut>> {
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
        .map_err(|error| broken("cannot start the lab's child process", error))?;
    let text = serde_json::to_string(job).map_err(|error| Error::internal(format!("a job as JSON: {error}")))?;
    // Held until its end: a child whose input ends has lost its lab, and ends as well.
    let mut input = child.stdin.take();
    // One that ends before it has read its job says why on its standard error.
    let _ = input.as_mut().map(|input| writeln!(input, "{text}"));
    let (lines, complaints) = (lines_of(&mut child), complaints_of(&mut child));

    let deadline = Instant::now() + time_max;
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
        } else if Instant::now() > deadline {
            stopped = Some(format!("stopped after {} s, the bound for this many rows", time_max.as_secs()));
        }
        if stopped.is_some() {
            // It may be gone already.
            let _ = child.kill();
            break;
        }
    }
    let status = child.wait().map_err(|error| broken("cannot wait for the lab's child process", error))?;
    drop(input);
    if ended || stopped.is_some() {
        return Ok(stopped.map(Cut::Stopped));
    }
    let complaint = complaints.join().unwrap_or_default();
    let last: Vec<&str> = complaint.lines().rev().take(3).collect();
    let last = last.into_iter().rev().collect::<Vec<_>>().join(" / ");
    Ok(Some(Cut::Died(format!("its process ended with {status}: {last}"))))
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
            // What cannot be read is not shown.
            let _ = errors.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn broken(what: &str, error: std::io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, format!("{what}: {error}")).with_source(error)
}
