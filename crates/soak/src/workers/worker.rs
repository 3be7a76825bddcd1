//! The state that every worker has: the store, a session, a seed, and a channel to the driver.

use crate::store::Clock;
use atsdb_core::Result;
use atsdb_engine::Engine;
use atsdb_sql::Session;
use atsdb_testkit::clock;
use atsdb_testkit::sample::Random;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// The state of a worker.
pub(crate) struct Worker {
    pub(super) name: String,
    pub(super) folder: PathBuf,
    pub(super) clock: Clock,
    pub(super) random: Random,
    pub(super) engine: Engine,
    pub(super) session: Session,
}

impl Worker {
    /// The number in its name.
    pub(super) fn number(&self) -> u64 {
        self.name.bytes().last().map_or(0, |digit| u64::from(digit - b'0'))
    }

    /// Returns whether the driver has asked all workers to stop.
    pub(super) fn is_over(&self) -> bool {
        self.folder.join("stop").exists()
    }

    /// Waits for about this long.
    pub(super) fn rest(&mut self, milliseconds: u64) {
        let pause = Duration::from_millis(milliseconds / 2 + self.random.below(milliseconds.max(1)));
        let until = clock::now() + pause;
        while clock::now() < until && !self.is_over() {
            clock::sleep(pause.min(Duration::from_millis(200)));
        }
    }

    /// Runs a function and reports how long it took.
    pub(super) fn timed<T>(&mut self, what: &str, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let begun = clock::now();
        let done = work(self)?;
        report(what, begun.elapsed().as_micros() as u64);
        Ok(done)
    }
}

/// Writes a line for the driver. Without a driver the worker ends.
pub(super) fn report(what: &str, number: u64) {
    let mut out = std::io::stdout();
    if writeln!(out, "{what} {number}").and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}

/// Converts an error of the journal, after which the run cannot continue.
pub(super) fn of_journal(error: std::io::Error) -> atsdb_core::Error {
    atsdb_core::Error::internal(format!("the journal: {error}"))
}
