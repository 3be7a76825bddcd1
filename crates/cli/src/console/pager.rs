//! Shows text that is longer than the terminal page by page.

use crate::console::interrupt::Watch;
use std::io::Write;
use std::process::{Command, Stdio};

/// The exit codes of a shell whose program cannot be executed, or does not exist.
const NOT_EXECUTABLE: i32 = 126;
const NOT_FOUND: i32 = 127;

/// The size of the terminal on stdout, in columns and lines.
pub(crate) fn terminal_size() -> Option<(usize, usize)> {
    let (width, height) = terminal_size::terminal_size_of(std::io::stdout())?;
    Some((usize::from(width.0), usize::from(height.0)))
}

/// Shows a text with the program in the variable `PAGER`, or else with `less`. Returns `false` if neither could be
/// started.
pub(crate) fn show(text: &str) -> bool {
    let program = std::env::var("PAGER").ok().filter(|program| !program.trim().is_empty());
    show_with(program.as_deref(), text)
}

fn show_with(program: Option<&str>, text: &str) -> bool {
    // Ctrl-C is left to the pager.
    let _watch = Watch::new(|| ());
    let mut command = match program {
        Some(program) => {
            let mut command = Command::new("sh");
            command.args(["-c", program]);
            command
        }
        None => {
            let mut command = Command::new("less");
            command.args(["-F", "-R", "-S", "-X"]);
            command
        }
    };
    let Ok(mut child) = command.stdin(Stdio::piped()).spawn() else { return false };
    if let Some(mut stdin) = child.stdin.take() {
        // An error means that the user has left the pager early.
        let _ = stdin.write_all(text.as_bytes());
    }
    child.wait().is_ok_and(|status| !matches!(status.code(), Some(NOT_EXECUTABLE | NOT_FOUND)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pager_that_does_not_exist_shows_nothing() {
        assert!(!show_with(Some("no-such-pager-anywhere"), "text"));
        assert!(show_with(Some("cat > /dev/null"), "text"));
        assert!(show_with(Some("false"), "text"), "a pager may end with any other code");
    }
}
