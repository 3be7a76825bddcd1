//! The shell with a person: prompt, line editing, history, Ctrl-C.

use super::history;
use super::interpreter::{AfterLine, Shell};
use crate::console::failure;
use atsdb::{Error, ErrorKind, Result};
use rustyline::config::Builder;
use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::{DefaultEditor, Editor};

const PROMPT: &str = "atsdb> ";
const CONTINUATION: &str = "   ...> ";
const HISTORY_LINES_MAX: usize = 5_000;

/// Reads and runs until `.quit` or the end of input. Errors of statements are shown, and the shell continues.
pub(super) fn run(shell: &mut Shell) -> Result<()> {
    let config = Builder::new().auto_add_history(false).max_history_size(HISTORY_LINES_MAX).map_err(broken)?.build();
    let mut editor: DefaultEditor = Editor::<(), DefaultHistory>::with_config(config).map_err(broken)?;
    let history = history::file();
    if let Some(path) = &history {
        // The first start has none yet.
        let _ = editor.load_history(path);
    }
    // As the store reports it: without a password.
    let url = shell.database.engine().store().url();
    eprintln!("atsdb {}, {url}; .help lists the commands", crate::console::version::text());
    let mut typed = String::new();
    loop {
        match editor.readline(if typed.is_empty() { PROMPT } else { CONTINUATION }) {
            Ok(line) => typed.push_str(&line),
            Err(ReadlineError::Interrupted) => {
                typed.clear();
                continue;
            }
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(broken(error)),
        }
        let is_command = typed.trim_start().starts_with('.');
        if typed.trim().is_empty() {
            typed.clear();
            continue;
        }
        if !is_command && !atsdb::sql::is_complete(&typed) {
            typed.push('\n');
            continue;
        }
        // A history that cannot be written does not stop the shell.
        let _ = editor.add_history_entry(typed.trim_end());
        if let Some(path) = &history {
            let _ = editor.append_history(path);
        }
        let text = std::mem::take(&mut typed);
        let next = if is_command { shell.command(&text, 0) } else { shell.sql(&text, 1, None) };
        match next {
            Ok(AfterLine::Line) => {}
            Ok(AfterLine::Quit) => break,
            Err(error) => failure::print(&error),
        }
    }
    Ok(())
}

fn broken(error: ReadlineError) -> Error {
    Error::new(ErrorKind::Unavailable, format!("cannot read the terminal: {error}")).with_source(error)
}
