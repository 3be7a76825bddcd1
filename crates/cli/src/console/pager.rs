//! Text that is longer than the terminal, shown page by page.

use crate::console::interrupt::Watch;
use std::io::Write;
use std::process::{Command, Stdio};

/// The size of the terminal on stdout, in columns and lines.
pub(crate) fn terminal_size() -> Option<(usize, usize)> {
    let (width, height) = terminal_size::terminal_size_of(std::io::stdout())?;
    Some((usize::from(width.0), usize::from(height.0)))
}

/// Shows a text by the program of the variable `PAGER`, else by `less`. `false` if neither runs: nothing was shown.
pub(crate) fn show(text: &str) -> bool {
    // Ctrl-C is the pager's.
    let _watch = Watch::new(|| ());
    let program = std::env::var("PAGER").ok().filter(|program| !program.trim().is_empty());
    let mut command = match &program {
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
        // A pager that is left early reads no further.
        let _ = stdin.write_all(text.as_bytes());
    }
    child.wait().is_ok()
}
