//! `atsdb completions`: the script that makes a shell complete commands and flags.

use super::report;
use crate::args::{Cli, CompletionsArgs};
use atsdb::{Error, Result};
use clap::CommandFactory;

/// Prints the script.
pub(super) fn run(args: &CompletionsArgs) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "atsdb", &mut script);
    let script = String::from_utf8(script).map_err(|_| Error::internal("a completion script is not UTF-8"))?;
    report::write_text(&script)
}
