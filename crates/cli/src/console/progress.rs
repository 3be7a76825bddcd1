//! A progress line on stderr for work that takes more than two seconds, only if stderr is a terminal.
//! A single line needs no library.

use crate::console::clock;
use crate::console::quantity::{show_bytes, show_count, show_duration, show_rows};
use crate::console::stderr::inform_partly;
use std::cell::Cell;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const QUIET: Duration = Duration::from_secs(2);
const INTERVAL: Duration = Duration::from_millis(100);
const TICK: Duration = Duration::from_millis(500);
const BAR_WIDTH: usize = 24;
/// The longest remaining time that is shown, in seconds.
const LEFT_SECONDS_MAX: f64 = 1e7;

/// Whether a progress line is shown on the terminal.
static IS_SHOWN: AtomicBool = AtomicBool::new(false);

/// The number of pieces of work that show their progress.
static BUSY: AtomicUsize = AtomicUsize::new(0);

fn show(line: &str) {
    IS_SHOWN.store(true, Ordering::SeqCst);
    inform_partly!("\r\x1b[K{line}");
}

/// Shows a line, unless work shows its progress there.
pub(crate) fn show_unless_busy(line: &str) {
    if BUSY.load(Ordering::SeqCst) == 0 {
        show(line);
    }
}

/// Removes the line, if there is one, so that a message can replace it.
pub(crate) fn clear() {
    if IS_SHOWN.swap(false, Ordering::SeqCst) {
        inform_partly!("\r\x1b[K");
    }
}

/// The progress of one piece of work. Dropping this removes the line.
pub(crate) struct Progress {
    is_terminal: bool,
    started: Instant,
    shown: Cell<Option<Instant>>,
    pass: Cell<Option<Pass>>,
}

/// One pass over an input. An import copies a stream before it reads it, and may read files twice; each pass has its
/// own pace.
#[derive(Debug, Clone, Copy)]
struct Pass {
    began: Instant,
    /// The time at which it last advanced.
    seen: Instant,
    done: u64,
    total: u64,
}

impl Pass {
    fn starting(at: Instant, total: u64) -> Self {
        Self { began: at, seen: at, done: 0, total }
    }

    /// The pass once so much is done. Another total, or less than before, is of a new pass.
    fn advanced(self, now: Instant, done: u64, total: u64) -> Self {
        let is_new = total != self.total || done < self.done;
        Self { began: if is_new { self.seen } else { self.began }, seen: now, done, total }
    }
}

impl Progress {
    /// Starts measuring. Nothing is shown during the first two seconds.
    pub(crate) fn new() -> Self {
        BUSY.fetch_add(1, Ordering::SeqCst);
        Self {
            is_terminal: std::io::stderr().is_terminal(),
            started: clock::now(),
            shown: Cell::new(None),
            pass: Cell::new(None),
        }
    }

    /// Shows the progress: bytes of all bytes, and rows.
    pub(crate) fn update(&self, done: u64, total: u64, rows: u64) {
        self.show_if_due(|elapsed| line(done, total, rows, elapsed));
    }

    /// Shows how far an import is.
    pub(crate) fn update_import(&self, now: atsdb_import::Progress) {
        let done = if now.bytes_read == 0 { now.row_count } else { now.bytes_read };
        let pass = self.pass.get().unwrap_or_else(|| Pass::starting(self.started, now.bytes_total));
        self.pass.set(Some(pass.advanced(clock::now(), done, now.bytes_total)));
        match (now.bytes_total, now.row_count) {
            (0, 0) => self.update_bytes(now.bytes_read, None),
            (0, rows) => self.update_rows(rows, None),
            (total, rows) => self.update(now.bytes_read, total, rows),
        }
    }

    /// Shows how many bytes arrived, of how many if that is known.
    pub(crate) fn update_bytes(&self, done: u64, total: Option<u64>) {
        self.show_if_due(|elapsed| byte_line(done, total, elapsed));
    }

    /// Shows how many rows are done, of how many if that is known.
    pub(crate) fn update_rows(&self, done: u64, total: Option<u64>) {
        self.show_if_due(|elapsed| row_line(done, total, elapsed));
    }

    fn show_if_due(&self, line: impl FnOnce(Duration) -> String) {
        let now = clock::now();
        let is_due = self.shown.get().is_none_or(|shown| now - shown >= INTERVAL);
        if !self.is_terminal || !is_due || now - self.started < QUIET {
            return;
        }
        self.shown.set(Some(now));
        let began = self.pass.get().map_or(self.started, |pass| pass.began);
        show(&line(now - began));
    }
}

/// `[=====     ]  50 % 1.00 MB of 2.00 MB, 10,000 rows, 5,000 rows/s, 2.00 s left`; with bytes a second while there are
/// no rows yet.
fn line(done: u64, total: u64, rows: u64, elapsed: Duration) -> String {
    let (bar, bytes, all) = (bar(done, total), show_bytes(done), show_bytes(total));
    if rows == 0 {
        let rate = show_bytes((done as f64 / elapsed.as_secs_f64().max(1e-9)) as u64);
        return format!("{bar} {bytes} of {all}, {rate}/s, {}", rest(elapsed, share(done, total)));
    }
    format!("{bar} {bytes} of {all}, {}, {}", show_rows(rows), pace(rows, elapsed, share(done, total)))
}

/// `[=====     ]  50 % 1.00 MB of 2.00 MB arrived, 500 kB/s`.
fn byte_line(done: u64, total: Option<u64>, elapsed: Duration) -> String {
    let rate = show_bytes((done as f64 / elapsed.as_secs_f64().max(1e-9)) as u64);
    let bytes = show_bytes(done);
    match total {
        Some(total) => format!("{} {bytes} of {} arrived, {rate}/s", bar(done, total), show_bytes(total)),
        None => format!("{bytes} arrived, {rate}/s"),
    }
}

/// `[=====     ]  50 % 5,000 of 10,000 rows, 500 rows/s, 10.00 s left`.
pub(crate) fn row_line(done: u64, total: Option<u64>, elapsed: Duration) -> String {
    match total {
        Some(total) => {
            let (bar, rows, all) = (bar(done, total), show_count(done), show_rows(total));
            format!("{bar} {rows} of {all}, {}", pace(done, elapsed, share(done, total)))
        }
        None => format!("{}, {}", show_rows(done), pace(done, elapsed, 0.0)),
    }
}

/// The rows of a second, and how long the rest takes.
fn pace(rows: u64, elapsed: Duration, share: f64) -> String {
    let rate = show_count((rows as f64 / elapsed.as_secs_f64().max(1e-9)) as u64);
    format!("{rate} rows/s, {}", rest(elapsed, share))
}

/// Returns the text for the remaining time at the pace so far; for the elapsed time if the pace is unknown.
fn rest(elapsed: Duration, share: f64) -> String {
    let left = elapsed.as_secs_f64().max(1e-9) * (1.0 - share) / share;
    if share > 0.0 && left < LEFT_SECONDS_MAX {
        return format!("{} left", show_duration(Duration::from_secs(left.ceil() as u64)));
    }
    format!("{} so far", show_duration(Duration::from_secs(elapsed.as_secs())))
}

fn share(done: u64, total: u64) -> f64 {
    if total == 0 { 0.0 } else { (done as f64 / total as f64).min(1.0) }
}

impl Drop for Progress {
    fn drop(&mut self) {
        BUSY.fetch_sub(1, Ordering::SeqCst);
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
        Self::with_line(move |elapsed| waiting_line(&describe(), elapsed))
    }

    /// Starts. After two seconds it shows the line for the time so far, again and again.
    pub(crate) fn with_line(line: impl Fn(Duration) -> String + Send + 'static) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self { stop: None, thread: None };
        }
        let (stop, stopped) = channel::<()>();
        let started = clock::now();
        let tick = move || {
            let mut wait = QUIET;
            while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                show(&line(started.elapsed()));
                wait = TICK;
            }
            clear();
        };
        // Without a thread there is no line.
        Self { stop: Some(stop), thread: std::thread::Builder::new().spawn(tick).ok() }
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

/// `reading everything, 3 s`.
fn waiting_line(what: &str, elapsed: Duration) -> String {
    format!("{what}, {} s", elapsed.as_secs())
}

/// The rows of work that counts them itself, from any thread.
#[derive(Debug, Clone, Default)]
pub(crate) struct RowCount {
    done: Arc<AtomicU64>,
    total: Arc<AtomicU64>,
}

impl RowCount {
    /// Sets how many rows are done, of how many.
    pub(crate) fn set(&self, done: u64, total: u64) {
        self.done.store(done, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }

    /// Shows how far the work is. Until it has rows, the line says what is done.
    pub(crate) fn ticker(&self, what: &'static str) -> Ticker {
        let (count, waited) = (self.clone(), Cell::new(Duration::ZERO));
        Ticker::with_line(move |elapsed| count.line(what, elapsed, &waited))
    }

    /// The line after this time. `waited` is the time until there were rows.
    fn line(&self, what: &str, elapsed: Duration, waited: &Cell<Duration>) -> String {
        let (done, total) = (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed));
        if total == 0 {
            waited.set(elapsed);
            return waiting_line(what, elapsed);
        }
        row_line(done, Some(total), elapsed.saturating_sub(waited.get()))
    }
}

/// `[=====     ]  50 %`.
fn bar(done: u64, total: u64) -> String {
    let share = share(done, total);
    let filled = (share * BAR_WIDTH as f64) as usize;
    format!("[{}{}] {:3.0} %", "=".repeat(filled), " ".repeat(BAR_WIDTH - filled), share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_pace_and_the_rest() {
        let ten = Duration::from_secs(10);
        let shown = line(1_000_000, 4_000_000, 5_000, ten);
        assert!(shown.ends_with("25 % 1.00 MB of 4.00 MB, 5,000 rows, 500 rows/s, 30.00 s left"), "{shown}");
        assert_eq!(row_line(5_000, None, ten), "5,000 rows, 500 rows/s, 10.00 s so far");
        assert!(row_line(5_000, Some(10_000), ten).ends_with("50 % 5,000 of 10,000 rows, 500 rows/s, 10.00 s left"));
        assert!(line(0, 0, 0, ten).ends_with("0 B/s, 10.00 s so far"));
        let shown = line(1_000_000, 4_000_000, 0, ten);
        assert!(shown.ends_with("25 % 1.00 MB of 4.00 MB, 100 kB/s, 30.00 s left"), "{shown}");
    }

    #[test]
    fn each_pass_has_its_own_pace() {
        let start = clock::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let copied = Pass::starting(start, 0).advanced(at(1), 5, 0).advanced(at(9), 9, 0);
        assert_eq!(copied.began, start);
        let read = copied.advanced(at(10), 4, 9);
        assert_eq!((read.began, read.advanced(at(11), 8, 9).began), (at(9), at(9)));
        assert_eq!(read.advanced(at(11), 8, 9).advanced(at(12), 2, 9).began, at(11));
    }

    #[test]
    fn rows_that_are_counted_have_the_pace_since_they_began() {
        let (count, waited) = (RowCount::default(), Cell::new(Duration::ZERO));
        let line = |seconds: u64| count.line("reading everything", Duration::from_secs(seconds), &waited);
        assert_eq!(line(3), "reading everything, 3 s");
        count.set(5_000, 10_000);
        assert!(line(13).ends_with("50 % 5,000 of 10,000 rows, 500 rows/s, 10.00 s left"), "{}", line(13));
        count.set(10_000, 10_000);
        assert!(line(23).ends_with("100 % 10,000 of 10,000 rows, 500 rows/s, 0.000 s left"), "{}", line(23));
    }

    #[test]
    fn a_bar_is_never_wider_than_it_is() {
        assert_eq!(bar(0, 0), format!("[{}]   0 %", " ".repeat(BAR_WIDTH)));
        assert_eq!(bar(5, 4), format!("[{}] 100 %", "=".repeat(BAR_WIDTH)));
    }
}
