//! `atsdb [URL]`: SQL and dot commands, from a person or from stdin.
//!
//! Owned here: what is done with a line. Not owned: reading lines from a person ([`prompt`]), what a dot command is
//! called ([`dot`]), running SQL ([`script`](crate::script)).

mod dot;
mod history;
mod prompt;

use crate::args::ShellArgs;
use crate::output::destination::Destination;
use crate::script::{PieceReader, Runner};
use crate::settings::{self, Access, Stay};
use atsdb::Database;
use atsdb_core::{Error, ErrorKind, Result};
use dot::DotCommand;
use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal};

/// How deep `.read` may go in files that read files.
const READ_DEPTH_MAX: usize = 16;

/// Whether to go on after a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Line,
    Quit,
}

/// An open shell.
struct Shell {
    database: Database,
    runner: Runner,
    out: Destination,
}

/// Runs the shell, or what comes from stdin when that is no terminal.
pub(crate) fn run(url: Option<&str>, args: &ShellArgs) -> Result<()> {
    let variable = std::env::var("ATSDB_URL").ok().filter(|url| !url.is_empty());
    let url = url.or(variable.as_deref()).unwrap_or("memory:");
    let is_terminal = std::io::stdin().is_terminal();
    let access = if args.read_only { Access::Read } else { Access::Create };
    let stay = if is_terminal { Stay::Long } else { Stay::Short };
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

impl Shell {
    /// Runs a script to its end or its first error.
    fn read(&mut self, input: impl BufRead, name: &str, depth: usize) -> Result<Next> {
        let mut pieces = PieceReader::new(input, name);
        while let Some(piece) = pieces.next_piece()? {
            let next = match piece.text.trim_start().starts_with('.') {
                true => self.command(&piece.text, depth).map_err(|error| at_line(error, name, piece.first_line))?,
                false => self.sql(&piece.text, piece.first_line, Some(name))?,
            };
            if next == Next::Quit {
                return Ok(next);
            }
        }
        Ok(Next::Line)
    }

    fn sql(&mut self, text: &str, first_line: usize, source: Option<&str>) -> Result<Next> {
        self.runner.run(text, first_line, source, &mut self.out)?;
        Ok(Next::Line)
    }

    fn command(&mut self, line: &str, depth: usize) -> Result<Next> {
        let engine = self.database.engine();
        match dot::parse(line)? {
            DotCommand::Help => self.out.put(dot::HELP.as_bytes())?,
            DotCommand::Quit => return Ok(Next::Quit),
            DotCommand::Tables => self.out.put(crate::commands::table_names(engine)?.as_bytes())?,
            DotCommand::Schema(name) => {
                let tables = match name {
                    Some(name) => vec![engine.table(&name)?],
                    None => engine.tables()?,
                };
                for table in tables {
                    self.out.put(crate::commands::table_statement(&table.definition).as_bytes())?;
                }
            }
            DotCommand::Stats(name) => {
                let table = name.map(|name| engine.table(&name)).transpose()?;
                self.out.put(crate::commands::stats_text(engine, table.as_ref())?.as_bytes())?;
                self.out.put(crate::commands::cache_lines(engine).as_bytes())?;
            }
            DotCommand::Mode(format) => {
                if !format.is_text() {
                    return Err(Error::usage(format!("{} is no text for a terminal", format.name()))
                        .with_hint("write such a file with atsdb sql -o FILE"));
                }
                self.runner.format = format;
            }
            DotCommand::Timing(on) => self.runner.timing = on,
            DotCommand::Save(url) => eprintln!("{}", crate::commands::copy::save(&self.database, &url)?),
            DotCommand::Load(url) => eprintln!("{}", crate::commands::copy::load(&self.database, &url)?),
            DotCommand::Read(path) => {
                if depth == READ_DEPTH_MAX {
                    return Err(Error::usage(format!("{path}: .read goes more than {READ_DEPTH_MAX} files deep")));
                }
                let file = File::open(&path).map_err(|error| {
                    Error::new(ErrorKind::NotFound, format!("cannot read {path}: {error}")).with_source(error)
                })?;
                return self.read(BufReader::new(file), &path, depth + 1);
            }
        }
        self.out.hand_on()?;
        Ok(Next::Line)
    }
}

fn at_line(error: Error, name: &str, line: usize) -> Error {
    match error.kind() {
        ErrorKind::Interrupted => error,
        _ => error.context(format_args!("{name}, line {line}")),
    }
}
