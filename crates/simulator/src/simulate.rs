//! Runs many histories, and reports the first that fails.

#![expect(clippy::disallowed_methods, reason = "the time limit of a run; histories have a clock of their own")]

use crate::action::Step;
use crate::generate::history;
use crate::minimise::minimised;
use crate::run::run_history;
use crate::setting::Setting;
use std::fmt;
use std::time::{Duration, Instant};

/// When to stop.
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
    /// Where it happened.
    pub setting: Setting,
    /// The broken guarantee, in the minimised history.
    pub message: String,
    /// The steps that it needs.
    pub history: Vec<Step>,
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
    let mut count = 0;
    while !is_over(count) {
        let seed = seed.wrapping_add(count);
        let steps = history(seed, setting.language);
        if let Err(message) = run_history(setting, &steps) {
            let (history, message) = minimised(setting, steps, message);
            return Err(Box::new(Failure { seed, setting, message, history }));
        }
        count += 1;
    }
    Ok(count)
}
