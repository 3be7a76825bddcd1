//! `atsdb [URL]`: SQL and dot commands, from a person or from stdin. Owned here: executing a line ([`interpreter`]),
//! reading lines from a person ([`prompt`]), the names of dot commands ([`dot`]). Not owned: running SQL
//! ([`script`](crate::session::script)).

mod dot;
mod editor;
mod file_names;
mod highlight;
mod history;
mod interpreter;
mod prompt;
mod words;

use self::interpreter::Shell;
use crate::args::ShellArgs;
use crate::console::pager;
use crate::console::running::RunningLine;
use crate::output::destination::Destination;
use crate::output::screen::{Expanded, Screen};
use crate::session::script::{Changes, Reports, Runner, Terminal};
use crate::session::settings::{self, Access, OpenTime};
use atsdb::{Error, NewStore, Result};
use std::io::IsTerminal;
use std::path::Path;

/// The default number of rows of a result that are shown at a terminal.
const ROWS_SHOWN: usize = 1_000;

/// Refuses a command of the shell where the name of a store belongs.
pub(crate) fn refuse_command(url: &str) -> Result<()> {
    if !dot::is_known(url) || Path::new(url).exists() {
        return Ok(());
    }
    Err(Error::usage(format!("this is a command of the shell, not a store: {url}"))
        .with_hint(format!("the store comes first: atsdb air.db \"{url}\"; atsdb ./NAME opens a file of any name")))
}

/// Runs a command of the shell, or else the shell, or the script on stdin if that is not a terminal.
pub(crate) fn run(url: Option<&str>, command: Option<&str>, args: &ShellArgs) -> Result<()> {
    let variable = std::env::var("ATSDB_URL").ok().filter(|url| !url.is_empty());
    let url = url.or(variable.as_deref()).unwrap_or("memory:");
    let is_terminal = command.is_none() && std::io::stdin().is_terminal();
    let access = match command {
        _ if args.statements.read_only => Access::Read,
        Some(command) if !dot::may_write(command) && !url.starts_with("memory:") => Access::Use,
        _ => Access::Create,
    };
    let stay = if is_terminal { OpenTime::Long } else { OpenTime::Short };
    let _new_store = NewStore::at(url);
    let database = settings::open_for(stay, url, access, &args.statements.store, Some(&args.statements.write))?;
    let runner = Runner {
        session: settings::session(&database, access, &args.statements.store, &args.statements.query_limits)?,
        params: Vec::new(),
        format: args.format,
        timing: args.statements.timing,
        reports: if is_terminal { Reports::Everything } else { Reports::Total },
        changes: Changes::default(),
        terminal: (is_terminal && std::io::stdout().is_terminal()).then(terminal),
        result_count: 0,
        written_rows: 0,
        running: RunningLine::default(),
    };
    let mut shell = Shell { database, runner, out: Destination::stdout(), last_query: None };
    if is_terminal {
        return prompt::run(&mut shell);
    }
    match command {
        Some(command) => shell.read(command.as_bytes(), "command line", 0)?,
        None => shell.read(std::io::stdin().lock(), "stdin", 0)?,
    };
    shell.runner.report_end();
    shell.out.complete()
}

/// The initial settings for results.
fn terminal() -> Terminal {
    let (width, height) = pager::terminal_size().unwrap_or((80, 24));
    let screen = Screen { expanded: Expanded::Auto, row_limit: Some(ROWS_SHOWN), width };
    Terminal { screen, height, has_pager: true }
}
