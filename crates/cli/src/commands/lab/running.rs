//! Runs the lab: its options, its progress, its files.

use crate::args::{LabHowArgs, LabServerArgs};
use crate::console::clock;
use crate::console::interrupt::Watch;
use crate::console::program;
use crate::console::quantity::{show_bytes, show_duration};
use crate::console::stderr::{inform, inform_partly};
use crate::output::destination::{Compression, Destination};
use atsdb::{Durability, Result};
use atsdb_export::value::calendar::write_time;
use atsdb_lab::server::ServerUrls;
use atsdb_lab::{Progress, Report, RunOptions, Tuning};
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The options that both kinds of runs share.
pub(super) fn options_of(how: &LabHowArgs) -> Result<RunOptions> {
    let mut options = RunOptions::new(how.dir.clone().unwrap_or_else(std::env::temp_dir))?;
    if let Some(command) = program::command_with(atsdb_lab::CHILD_ARGUMENT) {
        options.start_command.clone_from(&command);
        options.child_command = command;
    }
    options.contestants.clone_from(&how.contestants);
    options.repeat = how.repeat;
    options.durability = how.durability.as_deref().map_or(Ok(Durability::default()), Durability::parse)?;
    options.tuning = if how.defaults { Tuning::Defaults } else { Tuning::Tuned };
    options.urls = urls(&how.servers)?;
    options.overwrite_databases = how.overwrite_databases;
    Ok(options)
}

/// Runs the lab until its end or Ctrl-C. Keep the watch until the results are written.
pub(super) fn run_lab(options: &mut RunOptions) -> Result<(Report, Watch)> {
    options.date = now_text();
    options.stop = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&options.stop);
    let watch = Watch::new(move || stop.store(true, Ordering::SeqCst));
    let mut last = 0;
    let result = atsdb_lab::run(options, &mut |progress| show_progress(progress, &mut last));
    clear_line();
    Ok((result?, watch))
}

pub(super) fn urls(args: &LabServerArgs) -> Result<ServerUrls> {
    let mut urls = ServerUrls::from_environment();
    args.urls.iter().try_for_each(|url| urls.add(url))?;
    Ok(urls)
}

pub(super) fn write_file(path: &Path, text: &str) -> Result<()> {
    let mut file = Destination::file(path, Compression::None)?;
    file.put(text.as_bytes())?;
    file.complete()
}

/// Shows progress on stderr: on a terminal in one line that is updated, otherwise a line for each step. `last` is the
/// previous step.
fn show_progress(progress: Progress<'_>, last: &mut u32) {
    let is_terminal = std::io::stderr().is_terminal();
    match progress {
        Progress::Removed { folder } => tell_removed(folder),
        Progress::Bound { disk_bytes, time } => {
            let (bytes, time) = (show_bytes(disk_bytes), show_duration(time));
            inform!("at most {bytes} on disk and {time}; a contestant that takes longer is stopped; most take a tenth");
        }
        Progress::Step { step, steps, workload, contestant, doing } if is_terminal => {
            inform_partly!("\r\x1b[K[{step}/{steps}] {workload}, {contestant}: {doing}");
        }
        Progress::Step { step, steps, workload, contestant, .. } if step != *last => {
            *last = step;
            inform!("[{step}/{steps}] {workload}, {contestant}");
        }
        Progress::Step { .. } => {}
    }
}

pub(super) fn tell_removed(folder: &Path) {
    inform!("removed {}, which a lab that was killed had left", folder.display());
}

fn clear_line() {
    if std::io::stderr().is_terminal() {
        inform_partly!("\r\x1b[K");
    }
}

fn now_text() -> String {
    let mut text = Vec::new();
    write_time(clock::unix_seconds(), 0, true, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}
