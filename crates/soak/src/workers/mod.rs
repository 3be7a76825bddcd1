//! The workers: processes of this program. Each works until the folder has a file `stop`, and reports on its standard
//! output how long its operations took.

mod archivist;
pub(crate) mod changer;
mod importer;
mod keeper;
mod reader;
mod worker;
pub(crate) mod writer;

use self::worker::Worker;
use crate::store::{self, Clock};
use atsdb_core::Result;
use atsdb_testkit::sample::Random;
use std::path::Path;
use std::process::ExitCode;

/// The names of all workers. Writer, changer and reader 0 are never killed, so that leaks show in them.
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

/// Returns whether a worker may be killed at any moment. The importer requests its kills.
pub(crate) fn is_killed(name: &str) -> bool {
    !["writer-0", "changer-0", "reader-0", "importer-0"].contains(&name)
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
