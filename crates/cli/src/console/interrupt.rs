//! Ctrl-C: the first one stops the work at its next safe point, the second one ends the process. SIGTERM and SIGHUP do
//! the same. If the work has no safe point, the first one ends the process. For the store this is like a crash: the
//! unfinished work has no effect.
//!
//! SIGXFSZ does not end the process, so that a file beyond the limit of `ulimit -f` is an error like a full disk.

use crate::console::stderr::inform;
use atsdb::{Error, ErrorKind, Result};
use parking_lot::Mutex;
use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::path::PathBuf;
#[cfg(unix)]
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

static ASKED: AtomicBool = AtomicBool::new(false);
static WATCHED: Mutex<Vec<StopWork>> = Mutex::new(Vec::new());
static HANGUP: Mutex<Option<StopWork>> = Mutex::new(None);
static REMOVE_AT_EXIT: Mutex<Option<PathBuf>> = Mutex::new(None);

type StopWork = Box<dyn Fn() + Send>;

/// Exit code of a program that Ctrl-C ended.
pub(crate) const EXIT_CODE: i32 = 130;

/// Installs the signal handlers. Without them, Ctrl-C ends the process at once. Signals that the process inherited as
/// ignored stay ignored: SIGHUP under `nohup`, and SIGINT in the background of a script.
pub(crate) fn listen() {
    survive_large_files();
    let (ready, is_ready) = mpsc::channel();
    let listen = move || {
        // Registered in the thread: if the thread cannot be started, the default handlers stay in place.
        let signals = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal));
        let Ok(mut signals) = Signals::new(signals) else { return };
        drop(ready);
        for signal in signals.forever() {
            if signal == SIGHUP && reload() {
                continue;
            }
            let watched = WATCHED.lock();
            match watched.last() {
                Some(stop) if !ASKED.swap(true, Ordering::SeqCst) => stop(),
                _ => end(),
            }
        }
    };
    if std::thread::Builder::new().name("atsdb-signals".into()).spawn(listen).is_ok() {
        // Until the thread drops the sender.
        let _: Result<(), _> = is_ready.recv();
    }
}

/// Handles SIGXFSZ by doing nothing: the write then fails. Unlike an ignored signal, programs that this one starts do
/// not inherit this.
#[cfg(unix)]
fn survive_large_files() {
    let _ = signal_hook::flag::register(signal_hook::consts::signal::SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

#[cfg(not(unix))]
fn survive_large_files() {}

/// Calls the function that is registered for SIGHUP. Returns false if there is none.
fn reload() -> bool {
    let hangup = HANGUP.lock();
    match hangup.as_ref() {
        Some(reload) => {
            reload();
            true
        }
        None => false,
    }
}

/// Returns true if this process ignores a signal.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0) >> (signal - 1) & 1 == 1
}

fn end() -> ! {
    if let Some(path) = REMOVE_AT_EXIT.lock().take() {
        let _ = std::fs::remove_file(path);
    }
    crate::console::progress::clear();
    inform!("interrupted");
    std::process::exit(EXIT_CODE);
}

/// While this exists, the first Ctrl-C calls its function and makes [`check`] fail. Work inside other work has its own
/// watch, whose function is called instead; [`check`] then fails for both.
pub(crate) struct Watch(());

impl Watch {
    /// Starts watching. Watches end in the opposite order.
    pub(crate) fn new(stop: impl Fn() + Send + 'static) -> Self {
        let mut watched = WATCHED.lock();
        if watched.is_empty() {
            ASKED.store(false, Ordering::SeqCst);
        }
        watched.push(Box::new(stop));
        Self(())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        WATCHED.lock().pop();
    }
}

/// While this exists, SIGHUP calls its function and does not stop the work.
pub(crate) struct OnHangup(());

impl OnHangup {
    /// Registers the function. There may be only one at a time.
    pub(crate) fn new(reload: impl Fn() + Send + 'static) -> Self {
        *HANGUP.lock() = Some(Box::new(reload));
        // Under `nohup` SIGHUP is ignored, so no thread handles it.
        if is_ignored(SIGHUP)
            && let Ok(mut signals) = Signals::new([SIGHUP])
        {
            let listen = move || {
                for _ in signals.forever() {
                    self::reload();
                }
            };
            let _ = std::thread::Builder::new().name("atsdb-hangup".into()).spawn(listen);
        }
        Self(())
    }
}

impl Drop for OnHangup {
    fn drop(&mut self) {
        *HANGUP.lock() = None;
    }
}

/// Fails with [`ErrorKind::Interrupted`] if Ctrl-C was pressed during the latest [`Watch`], or around it.
pub(crate) fn check() -> Result<()> {
    match ASKED.load(Ordering::Relaxed) {
        true => Err(Error::new(ErrorKind::Interrupted, "interrupted")),
        false => Ok(()),
    }
}

/// Sets the unfinished file to remove if Ctrl-C ends the process.
pub(crate) fn remove_at_exit(path: Option<PathBuf>) {
    *REMOVE_AT_EXIT.lock() = path;
}
