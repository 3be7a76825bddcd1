//! The command that starts this program, if it is not its own executable.

use std::sync::OnceLock;

static COMMAND: OnceLock<Vec<String>> = OnceLock::new();

/// Sets the command that starts this program. Call this before anything else.
pub(crate) fn set_command(command: Vec<String>) {
    COMMAND.get_or_init(|| command);
}

/// The command that starts this program with an argument; `None` if that is its own file.
pub(crate) fn command_with(argument: &str) -> Option<Vec<String>> {
    COMMAND.get().map(|command| command.iter().cloned().chain([argument.to_owned()]).collect())
}
