//! A line on stderr while a statement takes more than two seconds, only if stderr is a terminal.

use crate::console::clock;
use crate::console::progress;
use parking_lot::Mutex;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

const QUIET: Duration = Duration::from_secs(2);
const TICK: Duration = Duration::from_millis(500);

/// The time at which the running statement began; `None` if none runs.
type Since = Arc<Mutex<Option<Instant>>>;

/// Shows the line for one statement after another.
#[derive(Default)]
pub(crate) struct RunningLine {
    since: Since,
    /// Dropped to stop the thread, which exists from the first statement on.
    stop: Option<Sender<()>>,
}

impl RunningLine {
    /// Begins with a statement. It ends when the result is dropped.
    pub(crate) fn begin(&mut self) -> RunningStatement {
        if self.stop.is_none() && std::io::stderr().is_terminal() {
            let (stop, stopped) = channel::<()>();
            let since = Arc::clone(&self.since);
            let show = move || {
                while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                    // Held while the line is shown, so that the end of the statement removes it.
                    let since = since.lock();
                    if let Some(elapsed) = since.map(|since| since.elapsed()).filter(|elapsed| *elapsed >= QUIET) {
                        progress::show_unless_busy(&line(elapsed));
                    }
                }
            };
            // Without a thread there is no line.
            let _ = std::thread::Builder::new().spawn(show);
            self.stop = Some(stop);
        }
        *self.since.lock() = Some(clock::now());
        RunningStatement { since: Arc::clone(&self.since) }
    }
}

/// A statement that runs. Dropping this removes the line.
pub(crate) struct RunningStatement {
    since: Since,
}

impl Drop for RunningStatement {
    fn drop(&mut self) {
        let mut since = self.since.lock();
        *since = None;
        progress::clear();
    }
}

fn line(elapsed: Duration) -> String {
    format!("running for {} s; Ctrl-C stops it", elapsed.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_long_it_takes() {
        assert_eq!(line(Duration::from_millis(2_500)), "running for 2 s; Ctrl-C stops it");
    }
}
