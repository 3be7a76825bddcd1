//! `atsdb lab`: runs workloads and shows what came of them.

use super::report;
use crate::args::{LabArgs, LabCommand, LabFormat, LabRunArgs, LabServerArgs};
use crate::interrupt::Watch;
use crate::output::destination::{Compression, Destination};
use crate::output::grid::{Heading, render};
use crate::output::value::calendar::write_time;
use crate::quantity::{show_bytes, show_duration};
use atsdb_core::{Durability, Error, ErrorKind, Result};
use atsdb_lab::contestant::Tuning;
use atsdb_lab::server::ServerUrls;
use atsdb_lab::{Progress, Report, RunOptions};
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

/// Does it.
pub(super) fn run(args: &LabArgs) -> Result<()> {
    match &args.command {
        LabCommand::List(args) => list(args),
        LabCommand::Run(args) => measure(args),
        LabCommand::Report { file } => show(file),
    }
}

fn list(args: &LabServerArgs) -> Result<()> {
    let headings = [Heading::left("kind"), Heading::left("name"), Heading::left("here"), Heading::left("what")];
    let row = |listed: atsdb_lab::Listed| {
        let presence = listed.presence.unwrap_or_else(|reason| format!("no: {reason}"));
        vec![listed.kind.to_owned(), listed.name.to_owned(), presence, listed.summary.to_owned()]
    };
    let rows: Vec<Vec<String>> = atsdb_lab::list(&urls(args)?).into_iter().map(row).collect();
    report::write_text(&render(&headings, &rows))
}

fn measure(args: &LabRunArgs) -> Result<()> {
    let mut options = RunOptions::new(args.dir.clone().unwrap_or_else(std::env::temp_dir))?;
    options.workloads.clone_from(&args.names);
    options.contestants.clone_from(&args.contestants);
    options.rows = args.rows;
    options.seed = args.seed;
    options.repeat = args.repeat;
    options.durability = args.durability.as_deref().map_or(Ok(Durability::default()), Durability::parse)?;
    options.tuning = if args.defaults { Tuning::Defaults } else { Tuning::Tuned };
    options.urls = urls(&args.servers)?;
    options.overwrite_databases = args.overwrite_databases;
    options.date = now_text();
    options.stop = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&options.stop);
    let watch = Watch::new(move || stop.store(true, Ordering::SeqCst));
    let result = atsdb_lab::run(&options, &mut show_progress);
    clear_line();
    let result = result?;
    if let Some(path) = &args.output {
        let mut file = Destination::file(path, Compression::None)?;
        file.put(result.to_json()?.as_bytes())?;
        file.complete()?;
    }
    report::write_text(&match args.format {
        LabFormat::Json => result.to_json()?,
        LabFormat::Table => result.to_table(),
    })?;
    drop(watch);
    crate::interrupt::check()
}

fn urls(args: &LabServerArgs) -> Result<ServerUrls> {
    let mut urls = ServerUrls::from_environment();
    args.urls.iter().try_for_each(|url| urls.add(url))?;
    Ok(urls)
}

fn show(path: &Path) -> Result<()> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Error::new(ErrorKind::NotFound, format!("cannot read {}: {error}", path.display())).with_source(error)
    })?;
    let result: Report = serde_json::from_str(&text).map_err(|error| {
        Error::invalid(format!("{} holds no results of the lab: {error}", path.display()))
            .with_hint("write them with atsdb lab run -o FILE")
    })?;
    report::write_text(&result.to_table())
}

/// Steps on stderr: in one line of a terminal, else a line each.
fn show_progress(progress: Progress<'_>) {
    let is_terminal = std::io::stderr().is_terminal();
    match progress {
        Progress::Bound { disk_bytes, time } => {
            eprintln!("at most {} on disk, {}", show_bytes(disk_bytes), show_duration(time));
        }
        Progress::Step { step, steps, workload, contestant, doing } if is_terminal => {
            eprint!("\r\x1b[K[{step}/{steps}] {workload}, {contestant}: {doing}");
            let _ = std::io::stderr().flush();
        }
        Progress::Step { .. } => {}
    }
}

fn clear_line() {
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K");
    }
}

fn now_text() -> String {
    let seconds = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |elapsed| elapsed.as_secs());
    let mut text = Vec::new();
    write_time(seconds as i64, 0, true, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}
