//! `atsdb sql`: statements from the command line, a file or stdin; results to stdout or a file.

use super::export::{open_output, report_written};
use crate::args::sql_text::is_sql;
use crate::args::{Cli, ShellArgs, SqlArgs};
use crate::console::running::RunningLine;
use crate::console::stderr::inform;
use crate::output::destination::Compression;
use crate::output::{Format, format_of};
use crate::session::script::{Changes, PieceReader, Reports, Runner};
use crate::session::settings::{self, Access};
use crate::session::statement_kind::may_write;
use atsdb::{Error, NewStore, Result};
use atsdb_import::cannot_open;
use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal};
use std::path::Path;

/// The store for statements that need none.
const NO_STORE: &str = "memory:";

/// Arguments that were typed without a verb.
pub(crate) enum Typed {
    /// Statements, with a store or without.
    Statements(Box<SqlArgs>),
    /// The shell, the store to open, and a command of the shell to run in place of what comes on stdin.
    Shell(Option<String>, Option<String>, Box<ShellArgs>),
}

/// `atsdb air.db "SELECT 1"` and `atsdb "SELECT 1"` run statements; `atsdb air.db` is the shell, and
/// `atsdb air.db .tables` a command of it.
pub(crate) fn typed_without_verb(cli: Cli) -> Typed {
    let Cli { url, sql, shell, .. } = cli;
    let (url, sql) = match (url, sql) {
        // The statements stand where a store would; `run` sees that.
        (Some(statements), None) if is_sql(&statements) => (statements, None),
        (url, Some(command)) if is_shell_command(&command) => {
            return Typed::Shell(url, Some(command), Box::new(shell));
        }
        (Some(url), Some(sql)) => (url, Some(sql)),
        (url, _) => return Typed::Shell(url, None, Box::new(shell)),
    };
    let ShellArgs { format, statements } = shell;
    let url = Some(url);
    let format = Some(format);
    let (file, output, overwrite, param) = (None, None, false, Vec::new());
    Typed::Statements(Box::new(SqlArgs { url, sql, file, format, output, overwrite, param, statements }))
}

/// Returns whether a text is a command of the shell, such as `.tables` or `\dt`, and not the path of a file.
fn is_shell_command(text: &str) -> bool {
    let is_named = |rest: &str| rest.starts_with(|first: char| first.is_ascii_alphabetic());
    text.starts_with('\\') || text.strip_prefix('.').is_some_and(is_named)
}

/// The store, and whether it was named. Without a store, the statements of the command line stand in its place.
fn take_store(args: &mut SqlArgs) -> Result<(String, bool)> {
    let has_file = args.file.is_some();
    let Some(url) = args.url.take() else {
        if !has_file && std::io::stdin().is_terminal() {
            return Err(no_statements());
        }
        return Ok((NO_STORE.to_owned(), false));
    };
    match &args.sql {
        None if is_sql(&url) && !has_file => {
            args.sql = Some(url);
            Ok((NO_STORE.to_owned(), false))
        }
        Some(other) if is_sql(&url) && !is_sql(other) => {
            Err(Error::usage("the store comes first, then the statements")
                .with_hint(format!("atsdb sql {other} \"{url}\"")))
        }
        _ => Ok((url, true)),
    }
}

/// The error for neither a store nor statements.
fn no_statements() -> Error {
    Error::usage("there are no statements")
        .with_hint("write atsdb sql URL \"SELECT ...\", or -f FILE; atsdb alone opens the shell")
}

/// Runs the statements.
pub(crate) fn run(mut args: SqlArgs) -> Result<()> {
    let (url, is_store_named) = take_store(&mut args)?;
    let path = args.output.as_deref().filter(|path| *path != Path::new("-"));
    let (format, compression) = output_format(path, args.format)?;
    // A missing input is reported before the store is created.
    let mut script = match (&args.sql, args.file.as_deref()) {
        (Some(_), _) => None,
        (None, Some(path)) if path != Path::new("-") => Some((open(path)?, path.display().to_string())),
        (None, _) => Some((Box::new(std::io::stdin().lock()) as Box<dyn BufRead>, "stdin".to_owned())),
    }
    .map(|(input, name)| (PieceReader::new(input, &name), name));
    let mut piece = script.as_mut().map(|(pieces, _)| pieces.next_piece()).transpose()?.flatten();
    if !is_store_named && args.sql.is_none() && piece.is_none() {
        return Err(no_statements());
    }
    let text = args.sql.as_deref().or(piece.as_ref().map(|piece| piece.text.as_str())).unwrap_or("");
    let access = match () {
        () if args.statements.read_only => Access::Read,
        () if may_write(text) || url.starts_with("memory:") => Access::Create,
        () => Access::Use,
    };
    let _new_store = NewStore::at(&url);
    let database = settings::open(&url, access, &args.statements.store, Some(&args.statements.write))?;
    let mut runner = Runner {
        session: settings::session(&database, access, &args.statements.store, &args.statements.query_limits)?,
        params: args.param,
        format,
        timing: args.statements.timing,
        reports: if args.sql.is_some() { Reports::Changes } else { Reports::Total },
        terminal: None,
        result_count: 0,
        written_rows: 0,
        running: RunningLine::default(),
        changes: Changes::default(),
    };
    let mut out = open_output(path, compression, args.overwrite)?;
    match (args.sql, script) {
        (Some(sql), _) => runner.run(&sql, 1, None, &mut out)?,
        (None, Some((mut pieces, name))) => {
            while let Some(next) = piece {
                runner.run(&next.text, next.first_line, Some(&name), &mut out)?;
                piece = pieces.next_piece()?;
            }
        }
        (None, None) => {}
    }
    runner.report_end();
    let row_count = runner.written_rows;
    out.complete()?;
    report_written(path, row_count);
    if !is_store_named && !database.engine().tables()?.is_empty() {
        inform!(
            "note: no store was named, so nothing of this is kept; name one first to keep it: atsdb sql air.db \"...\""
        );
    }
    Ok(())
}

/// The format and the compression of the output. A file without an extension is written as a table, like output to the
/// terminal.
fn output_format(path: Option<&Path>, requested: Option<Format>) -> Result<(Format, Compression)> {
    let has_ending = path.is_some_and(|path| path.extension().is_some() && !is_special(path));
    match path.filter(|_| has_ending) {
        Some(path) => format_of(Some(path), requested),
        None => Ok((requested.unwrap_or(Format::Table), Compression::None)),
    }
}

/// Returns whether a path is a pipe, a device or another special file.
fn is_special(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| !metadata.is_file())
}

fn open(path: &Path) -> Result<Box<dyn BufRead>> {
    let file = File::open(path).map_err(|error| cannot_open(path, error))?;
    Ok(Box::new(BufReader::new(file)))
}
