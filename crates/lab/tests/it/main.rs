//! The lab's promises: the same data for the same seed, checked answers, reports of a known format.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "what is skipped has to be said; children speak by pipes"
)]
#![expect(clippy::disallowed_methods, reason = "tests wait, and time what they test")]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

mod advise;
mod clickhouse;
mod pages;
mod pinger;
mod questions;
mod run;
mod series;
mod servers;
mod tiers;
mod timeseries;

/// A temporary folder that other users can traverse, because servers run as users of their own.
struct Folder(tempfile::TempDir);

impl Folder {
    fn path(&self) -> &Path {
        self.0.path()
    }
}

/// Contestants with which the tests take many minutes longer.
const SLOW: [&str; 4] = ["clickhouse", "questdb", "influxdb", "victoriametrics"];

/// Returns whether a contestant is tested where it is installed. With `ATSDB_TEST_CONTESTANTS=all`, all are.
fn is_tested(name: &str) -> bool {
    let is_tested = !SLOW.contains(&name) || std::env::var_os("ATSDB_TEST_CONTESTANTS").is_some_and(|all| all == "all");
    if !is_tested {
        eprintln!("{name} is not tested: set ATSDB_TEST_CONTESTANTS=all");
    }
    is_tested
}

fn folder() -> Folder {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o711)).expect("its permissions");
    Folder(folder)
}
