//! The `atsdb` program as a library, which the package for Python also ships. Results go to stdout, everything else to
//! stderr.
//!
//! Rooms, from the top; each imports only rooms below it:
//!
//! | room | what it owns |
//! |---|---|
//! | `shell` | SQL and dot commands, typed or from stdin |
//! | `commands` | the verbs, one file each |
//! | `session` | opening a store, running scripts on it, files in statements |
//! | `args` | the command line |
//! | `output` | results as text and as files, one source file for each format |
//! | `console` | messages, Ctrl-C, progress, numbers for people |

mod args;
mod commands;
mod console;
mod output;
mod session;
mod shell;

use commands::sql::Typed;
use console::{failure, interrupt};
use std::ffi::OsString;

/// Runs the program with its arguments, the first of which is its name, and returns its exit code.
pub fn run(arguments: &[OsString]) -> u8 {
    if arguments.get(1).is_some_and(|argument| argument == atsdb_lab::CHILD_ARGUMENT) {
        return lab_child();
    }
    let mut cli = match args::parse(arguments) {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    interrupt::listen();
    let is_check = matches!(cli.command, Some(args::Command::Verify(_)));
    let store = match &cli.command {
        Some(args::Command::Sql(args)) => args.url.as_deref(),
        Some(_) => None,
        None => cli.url.as_deref(),
    };
    let done = store.map_or(Ok(()), shell::refuse_command).and_then(|()| match cli.command.take() {
        Some(command) => commands::run(command),
        None => match commands::sql::typed_without_verb(cli) {
            Typed::Statements(args) => commands::sql::run(*args),
            Typed::Shell(url, command, args) => shell::run(url.as_deref(), command.as_deref(), &args),
        },
    });
    match done {
        Ok(()) => 0,
        Err(error) if is_check => failure::report_check(&error),
        Err(error) => failure::report(&error),
    }
}

/// Runs the program inside another one. `command` starts this program again.
pub fn run_as(arguments: &[OsString], command: Vec<String>) -> u8 {
    console::program::set_command(command);
    run(arguments)
}

/// The lab measures each contestant in a separate process, and this is one of them.
fn lab_child() -> u8 {
    match atsdb_lab::run_child() {
        Ok(()) => 0,
        Err(error) => failure::report(&error),
    }
}
