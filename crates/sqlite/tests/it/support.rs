//! Shared helpers: a temporary folder, and runs of this test program as another process.

use atsdb_core::{Change, ChunkEntry, Durability, Store, TableId, TimeRange};
use atsdb_sqlite::{SplitBy, SplitLayout, SqliteOptions, SqliteStore};
use atsdb_testkit::sample::{Plan, series_table};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

pub(crate) const NOW_MS: i64 = 1_709_294_400_000;

/// The layouts: one file, and split stores with all pages in page files, or with those of small chunks in the
/// catalogue.
pub(crate) const LAYOUTS: [Option<SplitLayout>; 4] = [
    None,
    Some(SplitLayout { split: SplitBy::Slice, small_chunk_bytes: 0 }),
    Some(SplitLayout { split: SplitBy::Shards(3), small_chunk_bytes: 0 }),
    Some(SplitLayout { split: SplitBy::Slice, small_chunk_bytes: 50_000 }),
];

/// Opens the store with this layout, or creates it.
pub(crate) fn open(path: &Path, layout: Option<SplitLayout>, durability: Durability) -> SqliteStore {
    let options = SqliteOptions { durability, ..SqliteOptions::default() };
    match layout {
        None => SqliteStore::open(path, &options).unwrap(),
        Some(layout) => SqliteStore::open_split(path, &options, layout).unwrap(),
    }
}

/// A temporary folder for one test.
pub(crate) struct Scratch {
    folder: TempDir,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn open(&self, name: &str) -> SqliteStore {
        self.open_as(name, Durability::Full)
    }

    pub(crate) fn open_as(&self, name: &str, durability: Durability) -> SqliteStore {
        SqliteStore::open(&self.path(name), &SqliteOptions { durability, ..SqliteOptions::default() }).unwrap()
    }
}

/// Opens an existing store.
pub(crate) fn reopen(path: &Path) -> SqliteStore {
    SqliteStore::open(path, &SqliteOptions { create: false, ..SqliteOptions::default() }).unwrap()
}

pub(crate) fn create(store: &dyn Store, name: &str) -> TableId {
    store.create_table(&series_table(name), None).unwrap().id
}

/// Commits one chunk.
pub(crate) fn append(store: &dyn Store, table: TableId, plan: &Plan) {
    let change = Change { add: vec![plan.chunk(table)], ..Change::default() };
    store.commit(&[change], NOW_MS).unwrap().remove(0).unwrap();
}

pub(crate) fn visible(store: &dyn Store, table: TableId) -> Vec<ChunkEntry> {
    store.snapshot().unwrap().chunks(table, TimeRange::ALL).unwrap()
}

pub(crate) fn reclaim_all(store: &dyn Store) {
    while store.reclaim(1 << 20, NOW_MS).unwrap().more {}
}

pub(crate) fn file_bytes(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Returns a command that runs one test of this program, with `path` in the environment.
pub(crate) fn other_process(test: &str, path: &Path, number: u32) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
    command.env("ATSDB_TEST_STORE", path).env("ATSDB_TEST_NUMBER", number.to_string());
    command.stdout(std::process::Stdio::null());
    command
}

/// Returns the store's path and the process's number, if this is such a process.
pub(crate) fn as_other_process() -> Option<(PathBuf, u64)> {
    let path = std::env::var_os("ATSDB_TEST_STORE")?;
    let number = std::env::var("ATSDB_TEST_NUMBER").ok()?.parse().ok()?;
    Some((PathBuf::from(path), number))
}
