//! The `atsdb` program, which only calls the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(atsdb_cli::run(&std::env::args_os().collect::<Vec<_>>()))
}
