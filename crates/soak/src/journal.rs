//! A journal of a worker's attempts and of the store's acknowledgements, in a file next to the store.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

/// A line of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum JournalEntry {
    /// The next attempt: its number, and the data needed to repeat it.
    Try(u64, String),
    /// It was acknowledged.
    Done(u64),
}

/// A worker's journal, opened to add entries.
pub(crate) struct Journal(File);

impl Journal {
    pub(crate) fn open(folder: &Path, worker: &str) -> std::io::Result<Self> {
        Ok(Self(OpenOptions::new().create(true).append(true).open(path(folder, worker))?))
    }

    /// Writes an entry with a single call: after a kill the whole line is there or nothing.
    pub(crate) fn note(&mut self, entry: &JournalEntry) -> std::io::Result<()> {
        let line = match entry {
            JournalEntry::Try(number, what) => format!("try {number} {what}\n"),
            JournalEntry::Done(number) => format!("done {number}\n"),
        };
        self.0.write_all(line.as_bytes())
    }
}

/// The entries of a journal in order. A missing journal is empty.
pub(crate) fn read(folder: &Path, worker: &str) -> Vec<JournalEntry> {
    let text = std::fs::read_to_string(path(folder, worker)).unwrap_or_default();
    let entry = |line: &str| {
        let (verb, rest) = line.split_once(' ')?;
        let (number, what) = rest.split_once(' ').unwrap_or((rest, ""));
        let number = number.parse().ok()?;
        Some(if verb == "done" { JournalEntry::Done(number) } else { JournalEntry::Try(number, what.to_owned()) })
    };
    text.lines().filter_map(entry).collect()
}

/// The state of a worker after a kill: its last attempt, if that was not acknowledged, and the next number.
pub(crate) fn unfinished(entries: &[JournalEntry]) -> (Option<(u64, String)>, u64) {
    match entries.last() {
        Some(JournalEntry::Try(number, what)) => (Some((*number, what.clone())), number + 1),
        Some(JournalEntry::Done(number)) => (None, number + 1),
        None => (None, 0),
    }
}

fn path(folder: &Path, worker: &str) -> std::path::PathBuf {
    folder.join(format!("{worker}.journal"))
}
