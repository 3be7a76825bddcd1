//! `atsdb lab advise`: finds the database that suits a file.

use super::running::{options_of, run_lab, write_file};
use crate::args::{LabAdviseArgs, LabFormat};
use crate::commands::report;
use atsdb::{Error, Result};
use atsdb_lab::AdviseInput;

/// Runs the command.
pub(super) fn run(args: &LabAdviseArgs) -> Result<()> {
    let input = AdviseInput::look(&args.file, &atsdb_import::Options::default())?;
    let mut options = options_of(&args.how)?;
    options.input = Some(input.clone());
    let (result, watch) = run_lab(&mut options)?;
    if let Some(path) = &args.json {
        write_file(path, &result.to_json()?)?;
    }
    if let Some(path) = &args.html {
        write_file(path, &result.to_html(None))?;
    }
    let present = result.contestants.iter().filter(|contestant| contestant.version.is_some());
    let names: Vec<&str> = present.map(|contestant| contestant.name.as_str()).collect();
    let command = format!(
        "atsdb lab advise {} --contestants {} --repeat {} --durability {}{}",
        quoted(&args.file.to_string_lossy()),
        names.join(","),
        args.how.repeat,
        options.durability.name(),
        if args.how.defaults { " --defaults" } else { "" }
    );
    let import = format!("atsdb import air.db readings {}", quoted(&args.file.to_string_lossy()));
    let advice = result.advice(vec![command, import]);
    report::write_text(&match args.format {
        LabFormat::Table => format!("{}\n{}", result.to_table(), advice.to_text(&input)),
        LabFormat::Json => serde_json::to_string_pretty(&advice)
            .map_err(|error| Error::internal(format!("advice as JSON: {error}")))?,
    })?;
    drop(watch);
    crate::console::interrupt::check()
}

/// Quotes a text for the shell.
fn quoted(path: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+=:,@".contains(letter);
    if !path.is_empty() && path.chars().all(plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', "'\\''"))
    }
}
