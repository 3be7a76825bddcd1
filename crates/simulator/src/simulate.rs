//! Runs many histories, and reports the first that fails. Its seed is printed before it is reduced, and so is the seed
//! of a history that does not end.

#![expect(clippy::disallowed_methods, reason = "the time limit of a run; histories have a clock of their own")]

use crate::action::HistoryStep;
use crate::generate::history;
use crate::minimise::minimised;
use crate::run::run_history;
use crate::setting::Setting;
use std::fmt;
use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// The longest time that the reduction of a failing history takes.
const REDUCTION_MAX: Duration = Duration::from_secs(60);
/// A history that takes longer is reported. A usual one takes less than a second.
const PATIENCE: Duration = Duration::from_secs(60);

/// The limit after which a run stops.
#[derive(Debug, Clone, Copy)]
pub enum Limit {
    /// After this many histories.
    Count(u64),
    /// After this time.
    Time(Duration),
}

/// A history in which a promise was broken.
#[derive(Debug)]
pub struct Failure {
    /// The history's seed.
    pub seed: u64,
    /// The setting in which it happened.
    pub setting: Setting,
    /// The broken guarantee, in the minimised history.
    pub message: String,
    /// The steps that it needs.
    pub history: Vec<HistoryStep>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, setting, message, history } = self;
        writeln!(f, "seed {seed} on {setting}: {message}\nthe steps that it needs:")?;
        for (number, step) in history.iter().enumerate() {
            writeln!(f, "  {number}: {step:?},")?;
        }
        write!(f, "again: make simulate STORE={setting} SEED={seed} COUNT=1")
    }
}

/// Runs the histories of the seeds from `seed` on, and returns their number.
///
/// # Errors
/// The first failure.
pub fn simulate(setting: Setting, seed: u64, limit: Limit) -> Result<u64, Box<Failure>> {
    let begun = Instant::now();
    let is_over = |count: u64| match limit {
        Limit::Count(most) => count >= most,
        Limit::Time(time) => begun.elapsed() >= time,
    };
    let watch = watch(setting);
    let mut count = 0;
    while !is_over(count) {
        let seed = seed.wrapping_add(count);
        // If the watch is gone, a history that does not end is not reported.
        let _ = watch.send(seed);
        let steps = history(seed, setting.language);
        if let Err(message) = run_history(setting, &steps) {
            note(&format!("seed {seed} on {setting} fails: {}", message.lines().next().unwrap_or_default()));
            let reduced = Instant::now();
            let (history, message) = minimised(setting, steps, message, || reduced.elapsed() >= REDUCTION_MAX);
            return Err(Box::new(Failure { seed, setting, message, history }));
        }
        count += 1;
    }
    Ok(count)
}

/// Starts a thread that receives the seed of each history when it begins, and prints those that do not end soon.
fn watch(setting: Setting) -> Sender<u64> {
    let (sender, seeds) = channel();
    std::thread::spawn(move || {
        let mut running = None;
        loop {
            match (seeds.recv_timeout(PATIENCE), running) {
                (Ok(seed), _) => running = Some(seed),
                (Err(RecvTimeoutError::Timeout), Some(seed)) => {
                    note(&format!("seed {seed} on {setting} has been running for more than {} s", PATIENCE.as_secs()));
                }
                (Err(RecvTimeoutError::Timeout), None) => {}
                (Err(RecvTimeoutError::Disconnected), _) => return,
            }
        }
    });
    sender
}

/// Prints a line at once, also in a test, whose output is otherwise kept until it ends.
fn note(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
