//! The workers: processes that this program starts of itself. Each works until there is a file `stop` in the folder, and
//! says on its standard output how long its operations took.

mod archivist;
pub(crate) mod changer;
mod importer;
mod keeper;
mod reader;
pub(crate) mod writer;

use crate::store::{self, Clock};
use atsdb_core::Result;
use atsdb_engine::Engine;
use atsdb_sql::Session;
use atsdb_testkit::sample::Random;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// All of them. Those of number 0 that write, change and read are never killed: what grows shows in them.
pub(crate) const NAMES: [&str; 10] = [
    "writer-0",
    "writer-1",
    "writer-2",
    "changer-0",
    "changer-1",
    "reader-0",
    "reader-1",
    "keeper-0",
    "archivist-0",
    "importer-0",
];

/// Whether a worker may be killed at any moment. The importer says itself when.
pub(crate) fn is_killed(name: &str) -> bool {
    !["writer-0", "changer-0", "reader-0", "importer-0"].contains(&name)
}

/// What a worker works with.
pub(crate) struct Worker {
    name: String,
    folder: PathBuf,
    clock: Clock,
    random: Random,
    engine: Engine,
    session: Session,
}

impl Worker {
    /// The number in its name.
    fn number(&self) -> u64 {
        self.name.bytes().last().map_or(0, |digit| u64::from(digit - b'0'))
    }

    fn is_over(&self) -> bool {
        self.folder.join("stop").exists()
    }

    /// Waits for about so long.
    fn rest(&mut self, milliseconds: u64) {
        let pause = Duration::from_millis(milliseconds / 2 + self.random.below(milliseconds.max(1)));
        let until = Instant::now() + pause;
        while Instant::now() < until && !self.is_over() {
            std::thread::sleep(pause.min(Duration::from_millis(200)));
        }
    }

    /// Does something and reports how long it took.
    fn timed<T>(&mut self, what: &str, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let begun = Instant::now();
        let done = work(self)?;
        report(what, begun.elapsed().as_micros() as u64);
        Ok(done)
    }
}

/// A line for the driver. Without a driver there is nothing left to do.
fn report(what: &str, number: u64) {
    let mut out = std::io::stdout();
    if writeln!(out, "{what} {number}").and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}

/// Runs the worker of a name.
pub(crate) fn run(name: &str, folder: &Path, begun_ms: i64, seed: u64) -> ExitCode {
    match work(name, folder, begun_ms, seed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name}: {error}; {}", error.hint().unwrap_or("no hint"));
            ExitCode::from(2)
        }
    }
}

fn work(name: &str, folder: &Path, begun_ms: i64, seed: u64) -> Result<()> {
    let clock = Clock::new(begun_ms);
    let engine = store::open(&store::path(folder), clock, true)?;
    let session = store::session(&engine)?;
    let (name, folder, random) = (name.to_owned(), folder.to_owned(), Random::new(seed));
    let mut worker = Worker { name, folder, clock, random, engine, session };
    match worker.name.split('-').next() {
        Some("writer") => writer::work(&mut worker),
        Some("changer") => changer::work(&mut worker),
        Some("reader") => reader::work(&mut worker),
        Some("keeper") => keeper::work(&mut worker),
        Some("archivist") => archivist::work(&mut worker),
        Some("importer") => importer::work(&mut worker),
        _ => Err(atsdb_core::Error::usage("no such worker")),
    }
}

/// An error of the journal: the run cannot go on.
fn of_journal(error: std::io::Error) -> atsdb_core::Error {
    atsdb_core::Error::internal(format!("the journal: {error}"))
}
