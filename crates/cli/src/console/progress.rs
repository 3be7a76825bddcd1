//! A progress line on stderr for work that takes more than two seconds, only if stderr is a terminal.

use crate::console::clock;
use crate::console::quantity::{show_bytes, show_rows};
use std::cell::Cell;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const QUIET: Duration = Duration::from_secs(2);
const INTERVAL: Duration = Duration::from_millis(100);
const TICK: Duration = Duration::from_millis(500);
const BAR_WIDTH: usize = 24;

/// True while a progress line is shown on the terminal.
static IS_SHOWN: AtomicBool = AtomicBool::new(false);

fn show(line: &str) {
    IS_SHOWN.store(true, Ordering::SeqCst);
    eprint!("\r\x1b[K{line}");
    // If the terminal is closed, the progress is not needed.
    let _ = std::io::stderr().flush();
}

/// Removes the line, if there is one, so that a message can replace it.
pub(crate) fn clear() {
    if IS_SHOWN.swap(false, Ordering::SeqCst) {
        eprint!("\r\x1b[K");
    }
}

/// The progress of one piece of work. Dropping this removes the line.
pub(crate) struct Progress {
    is_terminal: bool,
    started: Instant,
    shown: Cell<Option<Instant>>,
}

impl Progress {
    /// Starts measuring. Nothing is shown during the first two seconds.
    pub(crate) fn new() -> Self {
        Self { is_terminal: std::io::stderr().is_terminal(), started: clock::now(), shown: Cell::new(None) }
    }

    /// Shows the progress: bytes of all bytes, and rows.
    pub(crate) fn update(&self, done: u64, total: u64, rows: u64) {
        let now = clock::now();
        let is_due = self.shown.get().is_none_or(|shown| now - shown >= INTERVAL);
        if !self.is_terminal || !is_due || now - self.started < QUIET {
            return;
        }
        self.shown.set(Some(now));
        let seconds = (now - self.started).as_secs();
        let (bar, done, total) = (bar(done, total), show_bytes(done), show_bytes(total));
        show(&format!("{bar} {done} of {total}, {}, {seconds} s", show_rows(rows)));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        clear();
    }
}

/// The progress of work that does not report it. Dropping this removes the line.
pub(crate) struct Ticker {
    /// Dropped to stop the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    /// Starts. After two seconds it shows the text of `describe`, and the time.
    pub(crate) fn new(describe: impl Fn() -> String + Send + 'static) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self { stop: None, thread: None };
        }
        let (stop, stopped) = channel::<()>();
        let started = clock::now();
        let thread = std::thread::spawn(move || {
            let mut wait = QUIET;
            while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                show(&format!("{}, {} s", describe(), started.elapsed().as_secs()));
                wait = TICK;
            }
            clear();
        });
        Self { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// `[=====     ]  50 %`.
pub(crate) fn bar(done: u64, total: u64) -> String {
    let share = if total == 0 { 0.0 } else { (done as f64 / total as f64).min(1.0) };
    let filled = (share * BAR_WIDTH as f64) as usize;
    format!("[{}{}] {:3.0} %", "=".repeat(filled), " ".repeat(BAR_WIDTH - filled), share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_never_wider_than_it_is() {
        assert_eq!(bar(0, 0), format!("[{}]   0 %", " ".repeat(BAR_WIDTH)));
        assert_eq!(bar(5, 4), format!("[{}] 100 %", "=".repeat(BAR_WIDTH)));
    }
}
