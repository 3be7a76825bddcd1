//! How this program is started, where that is not by its own file.

use std::sync::OnceLock;

static COMMAND: OnceLock<Vec<String>> = OnceLock::new();

/// Says which command starts this program, before it does anything.
pub(crate) fn set_command(command: Vec<String>) {
    COMMAND.get_or_init(|| command);
}

/// The command that starts this program with an argument; `None` if that is its own file.
pub(crate) fn command_with(argument: &str) -> Option<Vec<String>> {
    COMMAND.get().map(|command| command.iter().cloned().chain([argument.to_owned()]).collect())
}
