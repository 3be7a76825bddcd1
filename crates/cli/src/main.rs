//! The `atsdb` program, whose work is the library's.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(atsdb_cli::run(&std::env::args_os().collect::<Vec<_>>()))
}
