//! The shell with a person: prompt, line editing, history, Ctrl-C.

use super::dot::StatementEnd;
use super::editor::{self, LineHelper};
use super::interpreter::{AfterLine, Shell};
use super::words::Words;
use super::{dot, history};
use crate::console::stderr::inform;
use crate::console::{failure, pager};
use atsdb::{Error, ErrorKind, Result};
use rustyline::Editor;
use rustyline::config::{Builder, CompletionType};
use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;

const PROMPT: &str = "atsdb> ";
const CONTINUATION: &str = "   ...> ";
const HISTORY_LINES_MAX: usize = 5_000;

/// Reads and runs until `.quit` or the end of input. Errors of statements are shown, and the shell continues.
pub(super) fn run(shell: &mut Shell) -> Result<()> {
    let config = Builder::new()
        .auto_add_history(false)
        .completion_type(CompletionType::List)
        .max_history_size(HISTORY_LINES_MAX)
        .map_err(broken)?
        .build();
    let mut editor: Editor<LineHelper, DefaultHistory> = Editor::with_config(config).map_err(broken)?;
    editor.set_helper(Some(LineHelper::new(failure::is_coloured())));
    let history = history::file();
    if let Some(path) = &history {
        // The file does not exist at the first start.
        let _ = editor.load_history(path);
    }
    // The store reports its URL without a password.
    let url = shell.database.engine().store().url();
    inform!("atsdb {}, {url}; .help lists the commands", crate::console::version::text());
    let mut typed = String::new();
    loop {
        refresh(shell, &mut editor, &typed);
        match editor.readline(if typed.is_empty() { PROMPT } else { CONTINUATION }) {
            Ok(line) => typed.push_str(&line),
            Err(ReadlineError::Interrupted) => {
                typed.clear();
                continue;
            }
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(broken(error)),
        }
        if typed.trim().is_empty() {
            typed.clear();
            continue;
        }
        // A dot command is one line, and cannot occur within a statement.
        let command = if typed.contains('\n') { None } else { dot::as_command(&typed) };
        let is_whole = command.is_some() || dot::ended_statement(&typed).is_some() || atsdb::sql::is_complete(&typed);
        if !is_whole {
            typed.push('\n');
            continue;
        }
        // A history that cannot be written does not stop the shell.
        let _ = editor.add_history_entry(typed.trim_end());
        if let Some(path) = &history {
            let _ = editor.append_history(path);
        }
        let mut text = std::mem::take(&mut typed);
        let next = match &command {
            Some(command) if command.as_str() == ".edit" => match edited(shell) {
                Ok(Some(edited)) => {
                    text = edited;
                    let _ = editor.add_history_entry(text.trim_end());
                    shell.sql(&text, 1, None)
                }
                Ok(None) => continue,
                Err(error) => Err(error),
            },
            Some(command) => shell.command(command, 0),
            None => match dot::ended_statement(&text) {
                Some((sql, StatementEnd::Expanded)) => shell.sql_expanded(sql),
                Some((sql, StatementEnd::Plain)) => shell.sql(sql, 1, None),
                None => shell.sql(&text, 1, None),
            },
        };
        match next {
            Ok(AfterLine::Line) => {}
            Ok(AfterLine::Quit) => break,
            Err(error) => failure::print(&error),
        }
    }
    shell.runner.report_end();
    Ok(())
}

/// Updates the size of the terminal and the names of the store, which may have changed since the last line.
fn refresh(shell: &mut Shell, editor: &mut Editor<LineHelper, DefaultHistory>, typed: &str) {
    if let (Some(terminal), Some((width, height))) = (&mut shell.runner.terminal, pager::terminal_size()) {
        (terminal.screen.width, terminal.height) = (width, height);
    }
    if let Some(helper) = editor.helper_mut() {
        typed.clone_into(&mut helper.typed);
        // If the store cannot be read now, fewer names are completed.
        if typed.is_empty()
            && let Ok(tables) = shell.database.engine().tables()
        {
            helper.words = Words::of(&tables);
        }
    }
}

/// Lets the user edit the last statement, shows the result, and returns it. Returns `None` if the result is empty.
fn edited(shell: &Shell) -> Result<Option<String>> {
    let text = editor::edit(shell.last_query.as_deref().unwrap_or(""))?;
    if text.trim().is_empty() {
        return Ok(None);
    }
    inform!("{}", text.trim_end());
    Ok(Some(text))
}

fn broken(error: ReadlineError) -> Error {
    Error::new(ErrorKind::Unavailable, format!("cannot read the terminal: {error}")).with_source(error)
}
