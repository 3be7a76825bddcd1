//! Support for the line editor: completion, colours, suggestions from the history; and `.edit`.

use super::highlight::highlight;
use super::words::Words;
use atsdb::{Error, ErrorKind, Result};
use rustyline::completion::Completer;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::{Hinter, HistoryHinter};
use rustyline::validate::Validator;
use rustyline::{Context, Helper};
use std::borrow::Cow;
use std::io::{Read, Write};
use std::process::Command;
use std::sync::OnceLock;

/// Helps to edit a line.
#[derive(Default)]
pub(super) struct LineHelper {
    /// The names of the open store.
    pub(super) words: Words,
    /// The lines of the statement before the current one.
    pub(super) typed: String,
    /// Whether there are colours.
    is_coloured: bool,
    history: HistoryHinter,
}

impl LineHelper {
    /// Creates a helper with colours, or without.
    pub(super) fn new(is_coloured: bool) -> Self {
        Self { is_coloured, ..Self::default() }
    }
}

/// The names of all functions, computed on first use.
fn functions() -> &'static [String] {
    static FUNCTIONS: OnceLock<Vec<String>> = OnceLock::new();
    FUNCTIONS.get_or_init(|| atsdb::sql::function_names().unwrap_or_default())
}

impl Helper for LineHelper {}

impl Validator for LineHelper {}

impl Completer for LineHelper {
    type Candidate = String;

    fn complete(&self, line: &str, position: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        if let Some(found) = super::file_names::complete(&line[..position]) {
            return Ok(found);
        }
        let whole = format!("{}\n{line}", self.typed);
        Ok(self.words.complete(&line[..position], &whole, functions))
    }
}

impl Hinter for LineHelper {
    type Hint = String;

    fn hint(&self, line: &str, position: usize, context: &Context<'_>) -> Option<String> {
        // Only if it can be distinguished from the typed text.
        if self.is_coloured { self.history.hint(line, position, context) } else { None }
    }
}

impl Highlighter for LineHelper {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        if self.is_coloured { Cow::Owned(highlight(line)) } else { Cow::Borrowed(line) }
    }

    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        Cow::Owned(format!("\x1b[90m{hint}\x1b[0m"))
    }

    fn highlight_char(&self, _: &str, _: usize, _: CmdKind) -> bool {
        self.is_coloured
    }
}

/// Lets the user edit a text with the program in `VISUAL` or `EDITOR`, or else with `vi`.
pub(super) fn edit(text: &str) -> Result<String> {
    let variable = |name: &str| std::env::var(name).ok().filter(|program| !program.trim().is_empty());
    let program = variable("VISUAL").or_else(|| variable("EDITOR")).unwrap_or_else(|| "vi".to_owned());
    let failed = |error: std::io::Error| {
        Error::new(ErrorKind::Unavailable, format!("cannot edit with {program}: {error}")).with_source(error)
    };
    let mut file = tempfile::Builder::new().prefix("atsdb-").suffix(".sql").tempfile().map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    // Ctrl-C is left to the editor.
    let _watch = crate::console::interrupt::Watch::new(|| ());
    let script = format!("{program} \"$1\"");
    let status = Command::new("sh").args(["-c", &script, "sh"]).arg(file.path()).status().map_err(failed)?;
    if !status.success() {
        return Err(Error::new(ErrorKind::Unavailable, format!("{program} ended with {status}")));
    }
    let mut edited = String::new();
    // The editor may have replaced the file, so it is opened again.
    std::fs::File::open(file.path()).and_then(|mut file| file.read_to_string(&mut edited)).map_err(failed)?;
    Ok(edited)
}
