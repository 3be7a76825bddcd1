//! The `atsdb` program.
//!
//! What was typed is [`args`]; what it means and does is one file a verb in [`commands`]; how results are written
//! is [`output`]. Results go to stdout, everything else to stderr.

// The program's results and messages are its purpose.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod commands;
mod failure;
mod files;
mod interrupt;
mod output;
mod progress;
mod quantity;
mod script;
mod settings;
mod shell;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    if arguments.get(1).is_some_and(|argument| argument == atsdb_lab::CHILD_ARGUMENT) {
        return lab_child();
    }
    let cli = match failure::parse(&arguments) {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    interrupt::listen();
    let is_check = matches!(cli.command, Some(args::Command::Verify(_)));
    match commands::run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_check => failure::report_check(&error),
        Err(error) => failure::report(&error),
    }
}

/// The lab measures each contestant in a process of its own, and this is one.
fn lab_child() -> ExitCode {
    match atsdb_lab::run_child() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failure::report(&error),
    }
}
