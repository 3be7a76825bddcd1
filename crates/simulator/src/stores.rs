//! The store of a world, which each process opens, or which the processes share.

use crate::setting::StoreKind;
use atsdb_core::{Durability, Error, ErrorKind, Result, Store};
use atsdb_memory::MemoryStore;
use atsdb_mysql::MysqlStore;
use atsdb_postgres::PostgresStore;
use atsdb_sqlite::{SplitBy, SplitLayout, SqliteOptions, SqliteStore};
use atsdb_sqlstore::ServerOptions;
use atsdb_testkit::server::{ServerKind, TestServer, shared};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// The longest time that a process waits for another.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// The store of a world.
pub(crate) enum WorldStore {
    Memory(Arc<MemoryStore>),
    File(TempDir),
    Split(TempDir),
    OnServer(Database),
}

/// A database on a server, which is dropped with the world.
pub(crate) struct Database {
    kind: StoreKind,
    server: &'static TestServer,
    url: String,
}

/// Returns whether stores of a kind can be created here: the programs of a server may not be installed.
pub fn are_there(kind: StoreKind) -> bool {
    match kind {
        StoreKind::Memory | StoreKind::Sqlite | StoreKind::Split => true,
        StoreKind::Postgres | StoreKind::Mariadb => server_of(kind).is_some(),
    }
}

/// Returns the server of a kind of store; `None` if it needs none, or if its programs are not installed.
fn server_of(kind: StoreKind) -> Option<&'static TestServer> {
    match kind {
        StoreKind::Postgres => shared(ServerKind::Postgres),
        StoreKind::Mariadb => shared(ServerKind::Mariadb),
        StoreKind::Memory | StoreKind::Sqlite | StoreKind::Split => None,
    }
}

impl WorldStore {
    pub(crate) fn new(kind: StoreKind) -> Result<Self> {
        match kind {
            StoreKind::Memory => Ok(Self::Memory(Arc::new(MemoryStore::new([7; 16])))),
            StoreKind::Sqlite => Ok(Self::File(temporary_folder()?)),
            StoreKind::Split => Ok(Self::Split(temporary_folder()?)),
            StoreKind::Postgres | StoreKind::Mariadb => {
                let missing = || Error::new(ErrorKind::Unavailable, "the programs of the server are not installed");
                let server = server_of(kind).ok_or_else(missing)?;
                Ok(Self::OnServer(Database { kind, server, url: server.database() }))
            }
        }
    }

    /// Opens the store for another process.
    pub(crate) fn open(&self) -> Result<Arc<dyn Store>> {
        Ok(match self {
            Self::Memory(store) => Arc::clone(store) as Arc<dyn Store>,
            Self::File(folder) => Arc::new(SqliteStore::open(&folder.path().join("store.db"), &options())?),
            Self::Split(folder) => {
                let layout = SplitLayout { split: SplitBy::Slice, small_chunk_bytes: 0 };
                Arc::new(SqliteStore::open_split(&folder.path().join("store"), &options(), layout)?)
            }
            Self::OnServer(database) => database.open()?,
        })
    }
}

impl Database {
    fn open(&self) -> Result<Arc<dyn Store>> {
        let options =
            ServerOptions { durability: Durability::Off, busy_timeout: BUSY_TIMEOUT, ..ServerOptions::default() };
        match self.kind {
            StoreKind::Mariadb => Ok(Arc::new(MysqlStore::open(&self.url, None, &options)?.0)),
            _ => Ok(Arc::new(PostgresStore::open(&self.url, None, &options)?.0)),
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let name = self.url.rsplit('/').next().unwrap_or_default();
        let force = if self.kind == StoreKind::Postgres { " WITH (FORCE)" } else { "" };
        self.server.administer(&format!("DROP DATABASE {name}{force}"));
    }
}

fn options() -> SqliteOptions {
    SqliteOptions { durability: Durability::Off, create: true, read_only: false, busy_timeout: BUSY_TIMEOUT }
}

/// A temporary folder in memory, if the system has one.
pub(crate) fn temporary_folder() -> Result<TempDir> {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.map_err(|error| Error::new(ErrorKind::Unavailable, "no temporary folder").with_source(error))
}
