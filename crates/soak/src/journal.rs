//! What a worker tried and what was acknowledged to it, in a file beside the store: it does not depend on the store.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

/// A line of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    /// This is done next: the number, and what is needed to do the same again.
    Try(u64, String),
    /// It was acknowledged.
    Done(u64),
}

/// A worker's journal, to be continued.
pub(crate) struct Journal(File);

impl Journal {
    pub(crate) fn open(folder: &Path, worker: &str) -> std::io::Result<Self> {
        Ok(Self(OpenOptions::new().create(true).append(true).open(path(folder, worker))?))
    }

    /// One write each: a kill leaves the whole line or nothing.
    pub(crate) fn note(&mut self, entry: &Entry) -> std::io::Result<()> {
        let line = match entry {
            Entry::Try(number, what) => format!("try {number} {what}\n"),
            Entry::Done(number) => format!("done {number}\n"),
        };
        self.0.write_all(line.as_bytes())
    }
}

/// What a journal says, in order; none is an empty one.
pub(crate) fn read(folder: &Path, worker: &str) -> Vec<Entry> {
    let text = std::fs::read_to_string(path(folder, worker)).unwrap_or_default();
    let entry = |line: &str| {
        let (verb, rest) = line.split_once(' ')?;
        let (number, what) = rest.split_once(' ').unwrap_or((rest, ""));
        let number = number.parse().ok()?;
        Some(if verb == "done" { Entry::Done(number) } else { Entry::Try(number, what.to_owned()) })
    };
    text.lines().filter_map(entry).collect()
}

/// What a worker begins with after a kill: what it had tried last where that was not acknowledged, and the next number.
pub(crate) fn unfinished(entries: &[Entry]) -> (Option<(u64, String)>, u64) {
    match entries.last() {
        Some(Entry::Try(number, what)) => (Some((*number, what.clone())), number + 1),
        Some(Entry::Done(number)) => (None, number + 1),
        None => (None, 0),
    }
}

fn path(folder: &Path, worker: &str) -> std::path::PathBuf {
    folder.join(format!("{worker}.journal"))
}
