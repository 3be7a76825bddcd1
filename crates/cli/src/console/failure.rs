//! Reports errors: messages on stderr, `error:`, `hint:`, then the line of the script with a mark, and the exit code
//! for the error's kind.

use crate::console::excerpt::Excerpt;
use crate::console::stderr::inform;
use crate::console::stdout::is_closed;
use atsdb::{Error, ErrorKind};
use std::io::IsTerminal;

/// Prints an error for people and returns its exit code.
pub(crate) fn report(error: &Error) -> u8 {
    if is_closed() {
        return 0;
    }
    print(error);
    error.kind().exit_code()
}

/// The exit code of an incomplete check: the state of the store is unknown.
const UNCHECKED: u8 = 4;

/// Like [`report`], for `verify`, which has a separate exit code if the store could not be checked because a resource
/// was unavailable.
pub(crate) fn report_check(error: &Error) -> u8 {
    let code = report(error);
    match error.kind() {
        ErrorKind::Interrupted => code,
        kind if kind.is_shortage() && !is_closed() => UNCHECKED,
        _ => code,
    }
}

/// Writes an error for people.
pub(crate) fn print(error: &Error) {
    let (red, bold, plain) = match is_coloured() {
        true => ("\x1b[1;31m", "\x1b[1m", "\x1b[0m"),
        false => ("", "", ""),
    };
    if error.kind() == ErrorKind::Interrupted {
        inform!("{}", error.message());
        return;
    }
    inform!("{red}error:{plain} {}", error.message());
    if let Some(hint) = error.hint() {
        inform!("{bold}hint:{plain} {hint}");
    }
    if let Some(excerpt) = Excerpt::of(error) {
        inform!("{excerpt}");
    }
}

/// Prints a warning.
pub(crate) fn warn(text: &str) {
    let (bold, plain) = if is_coloured() { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
    inform!("{bold}warning:{plain} {text}");
}

/// Prints what a person should know about something that was done.
pub(crate) fn note(text: &str) {
    let (bold, plain) = if is_coloured() { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
    inform!("{bold}note:{plain} {text}");
}

/// Returns whether messages may have colours: stderr is a terminal, and `NO_COLOR` is not set.
pub(crate) fn is_coloured() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
