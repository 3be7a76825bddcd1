//! `atsdb [URL]`: SQL and dot commands, from a person or from stdin.
//!
//! Owned here: what is done with a line ([`interpreter`]), reading lines from a person ([`prompt`]), what a dot command
//! is called ([`dot`]). Not owned: running SQL ([`script`](crate::session::script)).

mod dot;
mod history;
mod interpreter;
mod prompt;

use self::interpreter::Shell;
use crate::args::ShellArgs;
use crate::output::destination::Destination;
use crate::session::script::Runner;
use crate::session::settings::{self, Access, OpenTime};
use atsdb::Result;
use std::io::IsTerminal;

/// Runs the shell, or what comes from stdin when that is no terminal.
pub(crate) fn run(url: Option<&str>, args: &ShellArgs) -> Result<()> {
    let variable = std::env::var("ATSDB_URL").ok().filter(|url| !url.is_empty());
    let url = url.or(variable.as_deref()).unwrap_or("memory:");
    let is_terminal = std::io::stdin().is_terminal();
    let access = if args.read_only { Access::Read } else { Access::Create };
    let stay = if is_terminal { OpenTime::Long } else { OpenTime::Short };
    let database = settings::open_for(stay, url, access, &args.store, Some(&args.write))?;
    let runner = Runner {
        session: settings::session(&database, access, &args.store, &args.query_limits)?,
        params: Vec::new(),
        format: args.format,
        timing: args.timing,
        acknowledge: is_terminal,
        result_count: 0,
    };
    let mut shell = Shell { database, runner, out: Destination::stdout() };
    if is_terminal {
        return prompt::run(&mut shell);
    }
    shell.read(std::io::stdin().lock(), "stdin", 0)?;
    shell.out.complete()
}
