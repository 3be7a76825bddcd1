//! Shared helpers: runs of this program as another process, and the warnings of a store.

use parking_lot::Mutex;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// Returns a path next to the store, for files that do not belong to it.
pub(crate) fn beside(store: &Path, ending: &str) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

pub(crate) fn open(store: &Path) -> atsdb::Database {
    atsdb::open(store.to_str().unwrap()).unwrap()
}

/// Opens a store without a thread in the background, so that only the caller changes it.
pub(crate) fn open_quiet(store: &Path) -> atsdb::Result<atsdb::Database> {
    atsdb::OpenOptions::new().maintenance(false).open(store.to_str().unwrap())
}

/// Returns a command that runs one test of this program, with the store and the task in the environment. Its stderr
/// goes to a file next to the store.
pub(crate) fn other_process(test: &str, store: &Path, task: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
    command.env("ATSDB_TEST_STORE", store).env("ATSDB_TEST_TASK", task);
    command.stdout(Stdio::null()).stderr(append_to(&beside(store, ".complaints")));
    command
}

/// Returns the store's path and the task, if this is such a process.
pub(crate) fn as_other_process() -> Option<(PathBuf, String)> {
    Some((PathBuf::from(std::env::var_os("ATSDB_TEST_STORE")?), std::env::var("ATSDB_TEST_TASK").ok()?))
}

/// Fails if another process wrote to stderr.
pub(crate) fn assert_no_complaints(store: &Path) {
    let complaints = std::fs::read_to_string(beside(store, ".complaints")).unwrap_or_default();
    assert!(complaints.is_empty(), "{complaints}");
}

fn append_to(path: &Path) -> File {
    OpenOptions::new().create(true).append(true).open(path).unwrap()
}

/// The numbers of the batches that were acknowledged to a writer, in a file outside the store.
pub(crate) struct Acknowledged(File);

impl Acknowledged {
    pub(crate) fn open(store: &Path) -> Self {
        Self(append_to(&beside(store, ".acknowledged")))
    }

    /// Writes the number with a single call: after a kill the whole line is there or nothing.
    pub(crate) fn note(&mut self, number: u64) {
        self.0.write_all(format!("{number}\n").as_bytes()).unwrap();
    }

    pub(crate) fn read(store: &Path) -> Vec<u64> {
        let text = std::fs::read_to_string(beside(store, ".acknowledged")).unwrap_or_default();
        text.lines().map(|line| line.parse().unwrap()).collect()
    }
}

/// The warnings of a store.
#[derive(Clone, Default)]
pub(crate) struct Warnings(Arc<Mutex<Vec<String>>>);

impl Warnings {
    pub(crate) fn keep(&self) -> impl Fn(&str) + Send + Sync + 'static {
        let texts = Arc::clone(&self.0);
        move |text| texts.lock().push(text.to_owned())
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().clone()
    }
}

/// Returns the rows of a query's answer.
pub(crate) fn rows(db: &atsdb::Database, query: &str) -> atsdb::arrow::array::RecordBatch {
    let atsdb::sql::Answer::Rows(rows) = db.sql(query).unwrap_or_else(|error| panic!("{query}: {error}")) else {
        panic!("{query}: no rows")
    };
    let schema = rows.schema();
    let batches: Vec<_> = rows.collect::<atsdb::Result<_>>().unwrap_or_else(|error| panic!("{query}: {error}"));
    atsdb::arrow::compute::concat_batches(&schema, &batches).unwrap()
}
