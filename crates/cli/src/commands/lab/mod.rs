//! `atsdb lab`: runs workloads and shows the results.

mod advise;
mod running;

use self::running::{options_of, run_lab, tell_removed, urls, write_file};
use super::report;
use crate::args::{LabArgs, LabCommand, LabFormat, LabReportArgs, LabRunArgs, LabServerArgs};
use crate::output::grid::{Heading, render};
use atsdb::{Error, ErrorKind, Result};
use atsdb_lab::{REPORT_FORMAT, Report, RunOptions};
use std::path::Path;

/// Runs the command.
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
    let row = |listed: atsdb_lab::Listing| {
        let presence = listed.presence.unwrap_or_else(|reason| format!("no: {reason}"));
        vec![listed.kind.to_owned(), listed.name.to_owned(), presence, listed.summary.to_owned()]
    };
    let rows: Vec<Vec<String>> = atsdb_lab::list(&urls(args)?).into_iter().map(row).collect();
    report::write_text(&render(&headings, &rows))
}

fn measure(args: &LabRunArgs) -> Result<()> {
    let mut options = options_of(&args.how)?;
    options.workloads.clone_from(&args.names);
    args.rows.iter().try_for_each(|text| take_rows(text, &mut options))?;
    options.full = args.full;
    options.seed = args.seed;
    // Partial results are written next to the final file, so that a killed run leaves them.
    options.keep = args.output.as_ref().map(|path| path.with_extension("partial.json"));
    let (result, watch) = run_lab(&mut options)?;
    if let Some(path) = &args.output {
        write_file(path, &result.to_json()?)?;
    }
    if let Some(path) = &args.html {
        write_file(path, &result.to_html(None))?;
    }
    if let Some(path) = &options.keep {
        // The complete results replace it.
        let _ = std::fs::remove_file(path);
    }
    report::write_text(&match args.format {
        LabFormat::Json => result.to_json()?,
        LabFormat::Table => result.to_table(),
    })?;
    drop(watch);
    crate::console::interrupt::check()
}

/// `COUNT` of every workload, or `NAME=COUNT` of one.
fn take_rows(text: &str, options: &mut RunOptions) -> Result<()> {
    let (name, count) = text.split_once('=').map_or((None, text), |(name, count)| (Some(name), count));
    let count = count.replace('_', "").parse().map_err(|_| {
        Error::usage(format!("--rows {text}: {count} is not a number of rows"))
            .with_hint("use --rows 100000, or --rows pinger=50000,split=200000")
    })?;
    match name {
        Some(name) => drop(options.rows_of.insert(name.to_ascii_lowercase(), count)),
        None => options.rows = Some(count),
    }
    Ok(())
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
        Error::invalid(format!("{} is not a file of lab results: {error}", path.display()))
            .with_hint("write them with atsdb lab run -o FILE")
    })?;
    if result.format > REPORT_FORMAT {
        let message = format!("{} has format {}; this program reads {REPORT_FORMAT}", path.display(), result.format);
        return Err(Error::invalid(message).with_hint("use the version of atsdb that wrote it, or a later one"));
    }
    Ok(result)
}
