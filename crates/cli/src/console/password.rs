//! A password typed on the terminal, which shows stars.

use atsdb::{Error, ErrorKind, Result};
use rustyline::completion::Completer;
use rustyline::config::Builder;
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::Validator;
use rustyline::{ColorMode, Editor, Helper};
use std::borrow::Cow;
use unicode_width::UnicodeWidthStr;

/// Terminals on which typed text cannot be hidden, according to the line editor.
const PLAIN_TERMINALS: [&str; 3] = ["dumb", "cons25", "emacs"];

/// Shows stars instead of the typed text.
struct Stars;

impl Completer for Stars {
    type Candidate = String;
}

impl Hinter for Stars {
    type Hint = String;
}

impl Validator for Stars {}

impl Helper for Stars {}

impl Highlighter for Stars {
    fn highlight<'l>(&self, line: &'l str, _pos: usize) -> Cow<'l, str> {
        Cow::Owned("*".repeat(line.width()))
    }

    fn highlight_char(&self, _line: &str, _pos: usize, _kind: CmdKind) -> bool {
        true
    }
}

/// Prompts for a password.
pub(crate) fn ask(prompt: &str) -> Result<String> {
    let terminal = std::env::var("TERM").unwrap_or_default();
    if PLAIN_TERMINALS.iter().any(|plain| plain.eq_ignore_ascii_case(&terminal)) {
        return Err(Error::usage("this terminal would show the password").with_hint("use --password-file"));
    }
    let config = Builder::new().auto_add_history(false).color_mode(ColorMode::Forced).build();
    let mut editor: Editor<Stars, DefaultHistory> = Editor::with_config(config).map_err(broken)?;
    editor.set_helper(Some(Stars));
    editor.readline(prompt).map_err(broken)
}

fn broken(error: ReadlineError) -> Error {
    match error {
        ReadlineError::Interrupted | ReadlineError::Eof => Error::new(ErrorKind::Interrupted, "interrupted"),
        error => Error::new(ErrorKind::Unavailable, format!("cannot read the terminal: {error}")).with_source(error),
    }
}
