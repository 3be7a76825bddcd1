//! `atsdb lab`: runs workloads and shows what came of them.

mod advise;

use super::report;
use crate::args::{LabArgs, LabCommand, LabFormat, LabHowArgs, LabReportArgs, LabRunArgs, LabServerArgs};
use crate::interrupt::Watch;
use crate::output::destination::{Compression, Destination};
use crate::output::grid::{Heading, render};
use crate::output::value::calendar::write_time;
use crate::quantity::{show_bytes, show_duration};
use atsdb_core::{Durability, Error, ErrorKind, Result};
use atsdb_lab::contestant::Tuning;
use atsdb_lab::server::ServerUrls;
use atsdb_lab::{Progress, REPORT_FORMAT, Report, RunOptions};
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
        LabCommand::Report(args) => show(args),
        LabCommand::Advise(args) => advise::run(args),
    }
}

fn list(args: &LabServerArgs) -> Result<()> {
    atsdb_lab::remove_abandoned(&std::env::temp_dir()).iter().for_each(|folder| tell_removed(folder));
    let headings = [Heading::left("kind"), Heading::left("name"), Heading::left("here"), Heading::left("what")];
    let row = |listed: atsdb_lab::Listed| {
        let presence = listed.presence.unwrap_or_else(|reason| format!("no: {reason}"));
        vec![listed.kind.to_owned(), listed.name.to_owned(), presence, listed.summary.to_owned()]
    };
    let rows: Vec<Vec<String>> = atsdb_lab::list(&urls(args)?).into_iter().map(row).collect();
    report::write_text(&render(&headings, &rows))
}

/// What both kinds of runs are told in the same words.
fn options_of(how: &LabHowArgs) -> Result<RunOptions> {
    let mut options = RunOptions::new(how.dir.clone().unwrap_or_else(std::env::temp_dir))?;
    options.contestants.clone_from(&how.contestants);
    options.repeat = how.repeat;
    options.durability = how.durability.as_deref().map_or(Ok(Durability::default()), Durability::parse)?;
    options.tuning = if how.defaults { Tuning::Defaults } else { Tuning::Tuned };
    options.urls = urls(&how.servers)?;
    options.overwrite_databases = how.overwrite_databases;
    Ok(options)
}

fn measure(args: &LabRunArgs) -> Result<()> {
    let mut options = options_of(&args.how)?;
    options.workloads.clone_from(&args.names);
    args.rows.iter().try_for_each(|text| take_rows(text, &mut options))?;
    options.full = args.full;
    options.seed = args.seed;
    // Beside the file that is written at the end, so that a run that is killed leaves what it had.
    options.keep = args.output.as_ref().map(|path| path.with_extension("partial.json"));
    let (result, watch) = run_lab(&mut options)?;
    if let Some(path) = &args.output {
        write_file(path, &result.to_json()?)?;
    }
    if let Some(path) = &args.html {
        write_file(path, &result.to_html(None))?;
    }
    if let Some(path) = &options.keep {
        // Complete results have taken its place.
        let _ = std::fs::remove_file(path);
    }
    report::write_text(&match args.format {
        LabFormat::Json => result.to_json()?,
        LabFormat::Table => result.to_table(),
    })?;
    drop(watch);
    crate::interrupt::check()
}

/// `COUNT` of every workload, or `NAME=COUNT` of one.
fn take_rows(text: &str, options: &mut RunOptions) -> Result<()> {
    let (name, count) = text.split_once('=').map_or((None, text), |(name, count)| (Some(name), count));
    let count = count.replace('_', "").parse().map_err(|_| {
        Error::usage(format!("--rows {text}: {count} is no number of rows"))
            .with_hint("use --rows 100000, or --rows pinger=50000,split=200000")
    })?;
    match name {
        Some(name) => drop(options.rows_of.insert(name.to_ascii_lowercase(), count)),
        None => options.rows = Some(count),
    }
    Ok(())
}

/// Runs it, until Ctrl-C. The watch is to be kept until what came of it is written.
fn run_lab(options: &mut RunOptions) -> Result<(Report, Watch)> {
    options.date = now_text();
    options.stop = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&options.stop);
    let watch = Watch::new(move || stop.store(true, Ordering::SeqCst));
    let mut last = 0;
    let result = atsdb_lab::run(options, &mut |progress| show_progress(progress, &mut last));
    clear_line();
    Ok((result?, watch))
}

fn urls(args: &LabServerArgs) -> Result<ServerUrls> {
    let mut urls = ServerUrls::from_environment();
    args.urls.iter().try_for_each(|url| urls.add(url))?;
    Ok(urls)
}

fn show(args: &LabReportArgs) -> Result<()> {
    let first = read(&args.file)?;
    let after = args.after.as_deref().map(read).transpose()?;
    if let Some(path) = &args.html {
        let page = after.as_ref().map_or_else(|| first.to_html(None), |after| after.to_html(Some(&first)));
        write_file(path, &page)?;
    }
    report::write_text(&after.map_or_else(|| first.to_table(), |after| first.to_comparison(&after)))
}

fn read(path: &Path) -> Result<Report> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Error::new(ErrorKind::NotFound, format!("cannot read {}: {error}", path.display())).with_source(error)
    })?;
    let result: Report = serde_json::from_str(&text).map_err(|error| {
        Error::invalid(format!("{} holds no results of the lab: {error}", path.display()))
            .with_hint("write them with atsdb lab run -o FILE")
    })?;
    if result.format > REPORT_FORMAT {
        let message = format!("{} has format {}; this program reads {REPORT_FORMAT}", path.display(), result.format);
        return Err(Error::invalid(message).with_hint("use the version of atsdb that wrote it, or a later one"));
    }
    Ok(result)
}

fn write_file(path: &Path, text: &str) -> Result<()> {
    let mut file = Destination::file(path, Compression::None)?;
    file.put(text.as_bytes())?;
    file.complete()
}

/// Steps on stderr: all that is done in one line of a terminal, else a line for each. `last` is the step before.
fn show_progress(progress: Progress<'_>, last: &mut u32) {
    let is_terminal = std::io::stderr().is_terminal();
    match progress {
        Progress::Removed { folder } => tell_removed(folder),
        Progress::Bound { disk_bytes, time } => {
            let (bytes, time) = (show_bytes(disk_bytes), show_duration(time));
            eprintln!("at most {bytes} on disk and {time}: who takes longer is stopped; most take a tenth");
        }
        Progress::Step { step, steps, workload, contestant, doing } if is_terminal => {
            eprint!("\r\x1b[K[{step}/{steps}] {workload}, {contestant}: {doing}");
            let _ = std::io::stderr().flush();
        }
        Progress::Step { step, steps, workload, contestant, .. } if step != *last => {
            *last = step;
            eprintln!("[{step}/{steps}] {workload}, {contestant}");
        }
        Progress::Step { .. } => {}
    }
}

fn tell_removed(folder: &Path) {
    eprintln!("removed {}, which a lab that was killed had left", folder.display());
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
