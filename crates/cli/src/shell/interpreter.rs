//! Executes the lines of the shell.

use super::dot::{self, Chart, DotCommand};
use crate::args;
use crate::commands;
use crate::console::quantity::show_rows;
use crate::console::stderr::inform;
use crate::output::Format;
use crate::output::destination::Destination;
use crate::output::screen::Expanded;
use crate::session::script::{PieceReader, Runner, Terminal};
use atsdb::{Database, Error, ErrorKind, Result, Table};
use atsdb_import::cannot_open;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// The maximum nesting depth of `.read`.
const READ_DEPTH_MAX: usize = 16;

/// The maximum size in bytes of a text that is kept for `.chart`.
const LAST_BYTES_MAX: usize = 64 << 10;

/// The shell's next action after a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AfterLine {
    Line,
    Quit,
}

/// An open shell.
pub(super) struct Shell {
    pub(super) database: Database,
    pub(super) runner: Runner,
    pub(super) out: Destination,
    /// The last text that was SQL.
    pub(super) last_query: Option<String>,
}

impl Shell {
    /// Runs a script to its end or its first error.
    pub(super) fn read(&mut self, input: impl BufRead, name: &str, depth: usize) -> Result<AfterLine> {
        let mut pieces = PieceReader::new(input, name);
        while let Some(piece) = pieces.next_piece()? {
            let next = match dot::as_command(&piece.text) {
                Some(command) => {
                    self.command(&command, depth).map_err(|error| at_line(error, name, piece.first_line))?
                }
                None => self.sql(&piece.text, piece.first_line, Some(name))?,
            };
            if next == AfterLine::Quit {
                return Ok(next);
            }
        }
        Ok(AfterLine::Line)
    }

    /// The table with a name, or all tables, each after those that it is made from.
    fn tables(&self, name: Option<String>) -> Result<Vec<Table>> {
        let engine = self.database.engine();
        let mut tables = match name {
            Some(name) => vec![engine.table(&name)?],
            None => engine.tables()?,
        };
        commands::sort_by_origin(&mut tables);
        Ok(tables)
    }

    /// Runs the statements of a text.
    pub(super) fn sql(&mut self, text: &str, first_line: usize, source: Option<&str>) -> Result<AfterLine> {
        self.last_query = Some(text.to_owned()).filter(|text| text.len() <= LAST_BYTES_MAX);
        self.runner.run(text, first_line, source, &mut self.out)?;
        Ok(AfterLine::Line)
    }

    /// Runs the statements of a text, with each value of their rows on its own line.
    pub(super) fn sql_expanded(&mut self, text: &str) -> Result<AfterLine> {
        let before = self.runner.terminal;
        if let Some(terminal) = &mut self.runner.terminal {
            terminal.screen.expanded = Expanded::On;
        }
        let done = self.sql(text, 1, None);
        self.runner.terminal = before;
        done
    }

    /// Runs a dot command.
    pub(super) fn command(&mut self, line: &str, depth: usize) -> Result<AfterLine> {
        let engine = self.database.engine();
        match dot::parse(line)? {
            DotCommand::Help(lines) => self.out.put(lines.as_deref().unwrap_or(dot::HELP).as_bytes())?,
            DotCommand::Quit => return Ok(AfterLine::Quit),
            DotCommand::Tables(part) => self.out.put(commands::table_names(engine, &part)?.as_bytes())?,
            DotCommand::Schema(name) => self.show_schema(name)?,
            DotCommand::Stats(name) => {
                let table = name.map(|name| engine.table(&name)).transpose()?;
                self.out.put(commands::stats_text(engine, table.as_ref())?.as_bytes())?;
                self.out.put(commands::cache_lines(engine).as_bytes())?;
            }
            DotCommand::Mode(format) => {
                if !format.is_text() {
                    return Err(Error::usage(format!("{} cannot be shown on a terminal", format.name()))
                        .with_hint("write such a file with atsdb sql -o FILE"));
                }
                self.runner.format = format;
            }
            DotCommand::Expanded(mode) => self.expand(mode)?,
            DotCommand::Limit(limit) => {
                self.terminal(".limit")?.screen.row_limit = limit;
                inform!("limit: {}", limit.map_or("off".to_owned(), |limit| show_rows(limit as u64)));
            }
            DotCommand::Pager(on) => {
                self.terminal(".pager")?.has_pager = on;
                inform!("pager: {}", if on { "on" } else { "off" });
            }
            DotCommand::Edit => return Err(only_on_terminals(".edit")),
            DotCommand::Ask(query) => self.runner.run(&query, 1, None, &mut self.out)?,
            DotCommand::Databases => self.out.put(format!("{}\n", engine.store().url()).as_bytes())?,
            DotCommand::Users => self.out.put(commands::user::names(&self.database)?.as_bytes())?,
            DotCommand::Dump(name) => {
                let is_whole = name.is_none();
                let tables = self.tables(name)?;
                commands::dump(&self.runner.session, &tables, is_whole, &mut self.out)?;
            }
            DotCommand::Import { file, table, flags } => {
                self.out.hand_on()?;
                let import = args::parse_import(&file, &table, &flags)?;
                commands::import::import_into(&self.database, &import, self.runner.session.temporary_space())?;
            }
            DotCommand::Chart(chart, query) => return self.draw(chart, query),
            DotCommand::Timing(on) => {
                self.runner.timing = on.unwrap_or(!self.runner.timing);
                if on.is_none() {
                    inform!("timing: {}", if self.runner.timing { "on" } else { "off" });
                }
            }
            DotCommand::Save { url, into } => inform!("{}", commands::copy::save(&self.database, &url, &into)?),
            DotCommand::Load { url, into } => inform!("{}", commands::copy::load(&self.database, &url, &into)?),
            DotCommand::Read(path) => return self.read_file(&path, depth),
        }
        self.out.hand_on()?;
        Ok(AfterLine::Line)
    }

    /// `.schema`: the statements that create a table, or all.
    fn show_schema(&mut self, name: Option<String>) -> Result<()> {
        let is_whole = name.is_none();
        let tables = self.tables(name)?;
        let statements = commands::schema_statements(self.database.engine(), &tables, is_whole)?;
        self.out.put(statements.as_bytes())?;
        for table in tables {
            self.out.put(commands::table_statement(&table.definition).as_bytes())?;
        }
        Ok(())
    }

    /// `.expanded`: whether each value of a row is on its own line.
    fn expand(&mut self, mode: Option<Expanded>) -> Result<()> {
        let screen = &mut self.terminal(".expanded")?.screen;
        let other = if screen.expanded == Expanded::On { Expanded::Auto } else { Expanded::On };
        screen.expanded = mode.unwrap_or(other);
        inform!("expanded: {}", screen.expanded.name());
        Ok(())
    }

    /// `.chart`: runs a query, or the last one, and draws its result.
    fn draw(&mut self, chart: Chart, query: Option<String>) -> Result<AfterLine> {
        let Some(query) = query.or_else(|| self.last_query.clone()) else {
            return Err(Error::usage(".chart draws the result of the last query: run a query first"));
        };
        let format = match chart {
            Chart::Plot => Format::Chart,
            Chart::Spark => Format::Spark,
        };
        let format = std::mem::replace(&mut self.runner.format, format);
        let drawn = self.sql(&query, 1, None);
        self.runner.format = format;
        drawn
    }

    /// `.read`: runs the statements and commands of a file.
    fn read_file(&mut self, path: &str, depth: usize) -> Result<AfterLine> {
        if depth == READ_DEPTH_MAX {
            return Err(Error::usage(format!("{path}: .read goes more than {READ_DEPTH_MAX} files deep")));
        }
        let file = File::open(path).map_err(|error| cannot_open(Path::new(path), error))?;
        self.read(BufReader::new(file), path, depth + 1)
    }

    /// The terminal, for a command that only it has.
    fn terminal(&mut self, command: &str) -> Result<&mut Terminal> {
        self.runner.terminal.as_mut().ok_or_else(|| only_on_terminals(command))
    }
}

fn only_on_terminals(name: &str) -> Error {
    Error::usage(format!("{name} is for a terminal"))
}

fn at_line(error: Error, name: &str, line: usize) -> Error {
    match error.kind() {
        ErrorKind::Interrupted => error,
        _ => error.context(format_args!("{name}, line {line}")),
    }
}
