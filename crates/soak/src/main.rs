//! `make soak SECONDS=7200 SEED=1`: hours of mixed load on one SQLite store, from several processes, some of which are
//! killed at random moments and restarted. At the end everything that was acknowledged must exist exactly once, and
//! memory, open files, file sizes and latencies must be the same as an hour before.
//!
//! Owned here: the driver, which starts this program again for each worker ([`driver`]), the workers ([`workers`]),
//! measuring ([`sample`]), comparing ([`trend`]), checking ([`check`]) and drawing ([`plot`]). Not owned: the
//! correctness of single operations, which the tests of each crate check.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for developers")]

mod check;
mod driver;
mod journal;
mod plot;
mod sample;
mod store;
mod trend;
mod workers;

use std::path::PathBuf;
use std::process::ExitCode;

const USE: &str = "use: atsdb-soak [SECONDS [SEED [FOLDER]]] | atsdb-soak --compare FOLDER";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let ["--worker", name, folder, begun_ms, seed] = words.as_slice()
        && let (Ok(begun_ms), Ok(seed)) = (begun_ms.parse(), seed.parse())
    {
        return workers::run(name, folder.as_ref(), begun_ms, seed);
    }
    if let ["--compare", folder] = words.as_slice() {
        return driver::compare(folder.as_ref());
    }
    let number = |position: usize, default: u64| words.get(position).map_or(Some(default), |text| text.parse().ok());
    let (Some(seconds), Some(seed)) = (number(0, 7_200), number(1, std::process::id().into())) else {
        eprintln!("{USE}");
        return ExitCode::from(1);
    };
    let folder = words.get(2).map_or_else(|| PathBuf::from("target/soak"), PathBuf::from);
    driver::run(&folder, seconds, seed)
}
