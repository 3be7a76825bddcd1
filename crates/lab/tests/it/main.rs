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

fn folder() -> Folder {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o711)).expect("its permissions");
    Folder(folder)
}
