//! The commands: one file each, which executes the command after its arguments are parsed.

mod backup;
mod completions;
pub(crate) mod copy;
mod demo;
mod doctor;
mod dump;
mod export;
mod functions_page;
pub(crate) mod import;
mod lab;
mod man;
mod recompress;
mod reference;
mod report;
mod restore;
mod retain;
mod rollup;
mod schema;
mod serve;
mod slices;
pub(crate) mod sql;
mod stats;
mod tables;
pub(crate) mod user;
mod verify;

pub(crate) use dump::dump;
pub(crate) use schema::{schema_statements, sort_by_origin, statement as table_statement};
pub(crate) use stats::{cache_lines, text as stats_text};
pub(crate) use tables::names as table_names;

use crate::args::Command;
use atsdb::Result;

/// Executes the parsed command line.
pub(crate) fn run(command: Command) -> Result<()> {
    match command {
        Command::Sql(args) => sql::run(args),
        Command::Import(args) => import::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Tables(args) => tables::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Slices(args) => slices::run(&args),
        Command::Stats(args) => stats::run(&args),
        Command::Recompress(args) => recompress::run(&args),
        Command::Retain(args) => retain::run(&args),
        Command::Rollup(args) => rollup::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Copy(args) => copy::run(&args),
        Command::Backup(args) => backup::run(&args),
        Command::Restore(args) => restore::run(&args),
        Command::Serve(args) => serve::run(&args),
        Command::User(args) => user::run(&args),
        Command::Lab(args) => lab::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    }
}
