//! Running SQL: statement by statement, results to an output, times to stderr.
//!
//! Owned here: how a script is read in bounded memory, and the positions of errors in it. Not owned: the syntax of
//! statements (`sql`), the shell's own commands (`shell`).

mod reader;

pub(crate) use reader::PieceReader;

use crate::console::excerpt::Excerpt;
use crate::console::failure::{note, warn};
use crate::console::interrupt::Watch;
use crate::console::quantity::{show_many, show_rows};
use crate::console::running::{RunningLine, RunningStatement};
use crate::console::stderr::inform;
use crate::console::{clock, pager};
use crate::output::destination::Destination;
use crate::output::screen::Screen;
use crate::output::{Format, write_result};
use arrow::record_batch::RecordBatch;
use atsdb::sql::{Answer, AnswerRows, CopyStatement, CopyTarget, Session, Statements, verb_of};
use atsdb::{Error, ErrorKind, Result};
use std::path::Path;
use std::time::{Duration, Instant};

/// The messages about statements on stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reports {
    /// Messages for a person: the changes, and the number of rows of a result.
    Everything,
    /// The changes of each statement.
    Changes,
    /// The changes of all statements together, at the end.
    Total,
}

/// A terminal on which results appear.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terminal {
    /// How tables appear.
    pub(crate) screen: Screen,
    /// Lines of the terminal.
    pub(crate) height: usize,
    /// Whether longer results go through a pager.
    pub(crate) has_pager: bool,
}

impl Terminal {
    /// Shows a result, and returns its number of rows.
    fn show(mut self, rows: AnswerRows, running: RunningStatement, out: &mut Destination) -> Result<String> {
        // The window may have another size than at the last result.
        if let Some((width, height)) = pager::terminal_size() {
            (self.screen.width, self.height) = (width, height);
        }
        let schema = rows.schema();
        let shown = self.screen.text(&schema, rows)?;
        drop(running);
        let is_long = shown.text.lines().count() + 1 > self.height;
        if !(is_long && self.has_pager && pager::show(&shown.text)) {
            out.put(shown.text.as_bytes())?;
            out.hand_on()?;
        }
        Ok(match shown.is_cut {
            true => format!("(the first {}; .limit off shows all)", show_rows(shown.row_count)),
            false => format!("({})", show_rows(shown.row_count)),
        })
    }
}

/// The changes made by statements.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    statement_count: u64,
    row_count: u64,
}

/// Runs statements and writes their results.
pub(crate) struct Runner {
    /// Runs them.
    pub(crate) session: Session,
    /// The values of `$name`.
    pub(crate) params: Vec<(String, String)>,
    /// How results are written.
    pub(crate) format: Format,
    /// Whether each statement's time goes to stderr.
    pub(crate) timing: bool,
    /// The messages about statements that are printed to stderr.
    pub(crate) reports: Reports,
    /// The changes so far.
    pub(crate) changes: Changes,
    /// How tables appear on a terminal, and whether long ones go through a pager; `None` writes them whole.
    pub(crate) terminal: Option<Terminal>,
    /// The number of results written. Some formats allow only one.
    pub(crate) result_count: usize,
    /// The number of rows written in a format.
    pub(crate) written_rows: u64,
    /// The line that a terminal shows while a statement runs.
    pub(crate) running: RunningLine,
}

impl Runner {
    /// Runs the statements of a text that begins at a line of a script (from 1). `source` is the script's name for
    /// messages.
    pub(crate) fn run(
        &mut self,
        text: &str,
        first_line: usize,
        source: Option<&str>,
        out: &mut Destination,
    ) -> Result<()> {
        let handle = self.session.interrupt_handle();
        let _watch = Watch::new(move || handle.interrupt());
        for statement in Statements::new(text) {
            let place = |error: Error, start: (usize, usize)| placed(error, text, start, first_line, source);
            let statement = statement.map_err(|error| place(error, (1, 1)))?;
            crate::console::interrupt::check()?;
            let start = (statement.line(), statement.column());
            refuse_two_outputs(statement.text(), out).map_err(|error| place(error, start))?;
            let started = clock::now();
            let running = self.running.begin();
            let answer = self
                .session
                .execute(&statement, &self.params)
                .map_err(|error| place(with_parameter_hint(with_file_hint(error)), start))?;
            if let Some(notice) = self.session.take_notice() {
                note(&notice);
            }
            self.write(answer, started, running, out).map_err(|error| place(error, start))?;
        }
        Ok(())
    }

    /// Reports the changes of a script, and warns if it leaves a transaction open, whose changes are lost.
    pub(crate) fn report_end(&self) {
        let Changes { statement_count, row_count } = self.changes;
        if self.reports == Reports::Total && statement_count > 0 {
            let (rows, statements) = (show_rows(row_count), show_many(statement_count, "statement"));
            inform!("{statements} executed, {rows} changed");
        }
        if self.session.in_transaction() {
            warn("the transaction was not committed: its changes are not stored");
        }
    }

    fn write(
        &mut self,
        answer: Answer,
        started: Instant,
        running: RunningStatement,
        out: &mut Destination,
    ) -> Result<()> {
        let is_change = matches!(answer, Answer::Done { .. });
        let acknowledgement = match answer {
            Answer::Rows(rows) => {
                // Two arrays in one file are no JSON; a reader of a pipe may expect several.
                let is_single = !self.format.is_text() || (self.format == Format::Json && !out.is_stdout());
                if self.result_count > 0 && is_single {
                    let message = format!("{} holds one result, and this is the second", self.format.name());
                    return Err(Error::usage(message).with_hint("write each to its own file"));
                }
                if self.result_count > 0 && self.format == Format::Table && self.reports != Reports::Everything {
                    out.put(b"\n")?;
                }
                self.result_count += 1;
                match self.terminal.filter(|_| self.format == Format::Table) {
                    Some(terminal) => terminal.show(rows, running, out)?,
                    None => {
                        let schema = rows.schema();
                        let batches = until_rows(rows, running, out.is_stdout());
                        let written = write_result(self.format, &schema, batches, out);
                        // What was written before an error is no part of the next result.
                        let handed_on = out.hand_on();
                        let row_count = written?;
                        handed_on?;
                        self.written_rows += row_count;
                        format!("({})", show_rows(row_count))
                    }
                }
            }
            Answer::Done { verb, row_count } => {
                drop(running);
                self.changes.statement_count += 1;
                self.changes.row_count += row_count.unwrap_or(0);
                match row_count {
                    Some(count) => format!("{verb} {count}"),
                    None => verb.to_owned(),
                }
            }
        };
        if self.reports == Reports::Everything || (is_change && self.reports == Reports::Changes) {
            inform!("{acknowledgement}");
        }
        if self.timing {
            inform!("{}", time_line(started.elapsed()));
        }
        Ok(())
    }
}

/// The batches; the line of the running statement ends before the first one if they go to the terminal, and otherwise
/// with them.
fn until_rows(
    rows: AnswerRows,
    running: RunningStatement,
    is_stdout: bool,
) -> impl Iterator<Item = Result<RecordBatch>> {
    let mut running = Some(running);
    rows.inspect(move |_| {
        if is_stdout {
            drop(running.take());
        }
    })
}

/// `Time: 12.345 ms`.
fn time_line(elapsed: Duration) -> String {
    format!("Time: {:.3} ms", elapsed.as_secs_f64() * 1_000.0)
}

/// Refuses a COPY to the standard output if the results go to a file, which would not have its rows.
fn refuse_two_outputs(statement: &str, out: &Destination) -> Result<()> {
    let is_copy_to_stdout = || {
        verb_of(statement) == "COPY"
            && CopyStatement::parse(statement).is_ok_and(|copy| !copy.is_in && copy.target == CopyTarget::Client)
    };
    if !out.is_stdout() && is_copy_to_stdout() {
        let message = format!("COPY TO STDOUT writes to the standard output, not to {}", out.name());
        return Err(Error::usage(message).with_hint("name the file in the statement: COPY ... TO 'FILE', without -o"));
    }
    Ok(())
}

/// Explains how a file is named, if the name of an unknown table is that of a file.
fn with_file_hint(error: Error) -> Error {
    let name = error.message().strip_prefix("no table named ").filter(|name| Path::new(name).is_file());
    match name.map(|name| format!("a query reads a file by its name in quotes: FROM '{}'", name.replace('\'', "''"))) {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

/// Explains how a parameter gets its value, unless the error already names one that was given.
fn with_parameter_hint(error: Error) -> Error {
    let name = error.message().strip_prefix("no value is given for the parameter $").filter(|_| error.hint().is_none());
    match name.map(|name| format!("give it one: atsdb sql -p {name}=VALUE URL '...'")) {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

/// Adds the place in the script to an error of a statement of `text`, which begins at `start`, a line and a column. A
/// line that was counted from the start of the text becomes the script's line, and is added if the message does not
/// have one.
fn placed(error: Error, text: &str, start: (usize, usize), first_line: usize, source: Option<&str>) -> Error {
    if error.kind() == ErrorKind::Interrupted {
        return error;
    }
    const MARK: &str = "syntax error at line ";
    let (message, has_line) = match error.message().strip_prefix(MARK).and_then(|rest| rest.split_once(", ")) {
        Some((number, rest)) => match number.parse::<usize>() {
            Ok(number) => (format!("{MARK}{}, {rest}", number + first_line - 1), true),
            Err(_) => (error.message().to_owned(), false),
        },
        None => (error.message().to_owned(), false),
    };
    let script_line = start.0 + first_line - 1;
    let message = match (source, has_line) {
        (Some(source), true) => format!("{source}: {message}"),
        (Some(source), false) => format!("{source}, line {script_line}: {message}"),
        (None, false) if script_line > 1 => format!("line {script_line}: {message}"),
        (None, _) => message,
    };
    let placed = Error::new(kind_in_script(error.kind()), message);
    let placed = match error.hint() {
        Some(hint) => placed.with_hint(hint),
        None => placed,
    };
    Excerpt::attach(placed, error, text, start)
}

/// An error caused by the statement itself, by its text or its values, becomes an SQL error with exit code 3. An error
/// of the store stays unchanged.
fn kind_in_script(kind: ErrorKind) -> ErrorKind {
    match kind {
        ErrorKind::NotFound
        | ErrorKind::Exists
        | ErrorKind::InvalidValue
        | ErrorKind::Limit
        | ErrorKind::DuplicateKey
        | ErrorKind::CheckViolation
        | ErrorKind::ForeignKeyViolation => ErrorKind::Sql,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statements_time_has_three_digits_of_a_millisecond() {
        assert_eq!(time_line(Duration::from_micros(12_345)), "Time: 12.345 ms");
    }

    #[test]
    fn an_error_is_placed_in_the_whole_script() {
        let error = Error::new(ErrorKind::Sql, "syntax error at line 2, column 5: no");
        let placed = |error: Error, line: usize, first_line: usize, source: Option<&str>| {
            super::placed(error, "", (line, 1), first_line, source)
        };
        assert_eq!(placed(error, 1, 10, Some("a.sql")).message(), "a.sql: syntax error at line 11, column 5: no");
        let error = Error::new(ErrorKind::Sql, "no table named x").with_hint("did you mean y?");
        let error = placed(error, 3, 10, None);
        assert_eq!((error.message(), error.hint()), ("line 12: no table named x", Some("did you mean y?")));
        assert_eq!(placed(Error::new(ErrorKind::Sql, "no"), 1, 1, None).message(), "no");
        assert_eq!(placed(Error::invalid("row 1: the time is NULL"), 1, 1, None).kind(), ErrorKind::Sql);
        assert_eq!(placed(Error::corrupt("a page"), 1, 1, None).kind(), ErrorKind::Corrupt);
    }
}
