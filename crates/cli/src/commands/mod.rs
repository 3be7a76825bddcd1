//! The verbs: one file each, with what it does after its arguments are read.

mod backup;
mod completions;
pub(crate) mod copy;
mod demo;
mod export;
mod import;
mod lab;
mod man;
mod recompress;
mod reference;
mod report;
mod restore;
mod retain;
mod rollup;
mod schema;
mod slices;
mod sql;
mod stats;
mod tables;
mod verify;
pub(crate) mod version;

pub(crate) use export::format_of;
pub(crate) use schema::statement as table_statement;
pub(crate) use stats::{cache_line, text as stats_text};
pub(crate) use tables::names as table_names;

use crate::args::{Cli, Command};
use atsdb_core::Result;

/// Does what was typed.
pub(crate) fn run(cli: Cli) -> Result<()> {
    match cli.command {
        None => crate::shell::run(cli.url.as_deref(), &cli.shell),
        Some(Command::Sql(args)) => sql::run(args),
        Some(Command::Import(args)) => import::run(&args),
        Some(Command::Export(args)) => export::run(&args),
        Some(Command::Tables(args)) => tables::run(&args),
        Some(Command::Schema(args)) => schema::run(&args),
        Some(Command::Slices(args)) => slices::run(&args),
        Some(Command::Stats(args)) => stats::run(&args),
        Some(Command::Recompress(args)) => recompress::run(&args),
        Some(Command::Retain(args)) => retain::run(&args),
        Some(Command::Rollup(args)) => rollup::run(&args),
        Some(Command::Verify(args)) => verify::run(&args),
        Some(Command::Copy(args)) => copy::run(&args),
        Some(Command::Backup(args)) => backup::run(&args),
        Some(Command::Restore(args)) => restore::run(&args),
        Some(Command::Lab(args)) => lab::run(&args),
        Some(Command::Demo(args)) => demo::run(&args),
        Some(Command::Completions(args)) => completions::run(&args),
        Some(Command::Man(args)) => man::run(&args),
    }
}
