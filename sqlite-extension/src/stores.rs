//! The stores that a connection has open, and their snapshots.
//!
//! All tables of one store that are read at the same time share a snapshot, as tables of one database do in SQLite. It
//! lasts as long as any scan is open, and in a transaction until its end.

use crate::connection::HostConnection;
use crate::error::of_store;
use atsdb_core::Error as StoreError;
use atsdb_engine::{Engine, EngineOptions, ReadSnapshot};
use atsdb_sqlite::{SqliteOptions, SqliteStore};
use parking_lot::Mutex;
use rusqlite::Result;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The cache of decoded columns of each store, in bytes.
const CACHE_BYTES: usize = 32 << 20;
/// The maximum wait for another process when a store is opened.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// The stores of one connection of the host.
#[derive(Debug)]
pub(crate) struct Stores {
    pub(crate) connection: HostConnection,
    stores: Mutex<BTreeMap<PathBuf, Weak<StoreFile>>>,
    /// The snapshots of the open transaction.
    held: Mutex<Vec<Arc<ReadSnapshot>>>,
    chunks_read: AtomicI64,
}

impl Stores {
    pub(crate) fn new(connection: HostConnection) -> Self {
        Self { connection, stores: Mutex::default(), held: Mutex::default(), chunks_read: AtomicI64::new(0) }
    }

    /// The store at a path, which is opened if no table of it is in use.
    pub(crate) fn open(self: &Arc<Self>, path: &str) -> Result<Arc<StoreFile>> {
        let path = std::path::absolute(path).map_err(|error| of_store(StoreError::usage(error.to_string())))?;
        let mut stores = self.stores.lock();
        stores.retain(|_, store| store.strong_count() > 0);
        if let Some(store) = stores.get(&path).and_then(Weak::upgrade) {
            return Ok(store);
        }
        let opened = Opened::open(&path).map_err(of_store)?;
        let current = Mutex::new(Current { opened, snapshot: Weak::new() });
        let store = Arc::new(StoreFile { path: path.clone(), owner: Arc::downgrade(self), current });
        stores.insert(path, Arc::downgrade(&store));
        Ok(store)
    }

    /// Holds a snapshot until the open transaction ends.
    fn hold(&self, snapshot: &Arc<ReadSnapshot>) -> Result<()> {
        if !self.held.lock().iter().any(|held| Arc::ptr_eq(held, snapshot)) {
            self.connection.follow_transaction()?;
            self.held.lock().push(Arc::clone(snapshot));
        }
        Ok(())
    }

    /// Drops the snapshots of the transaction that has ended.
    pub(crate) fn end_transaction(&self) {
        self.held.lock().clear();
    }

    /// Counts a chunk that was read.
    pub(crate) fn count_chunk(&self) {
        self.chunks_read.fetch_add(1, Ordering::Relaxed);
    }

    /// How many chunks were read by this connection.
    pub(crate) fn chunks_read(&self) -> i64 {
        self.chunks_read.load(Ordering::Relaxed)
    }
}

/// A store.
#[derive(Debug)]
pub(crate) struct StoreFile {
    path: PathBuf,
    owner: Weak<Stores>,
    current: Mutex<Current>,
}

#[derive(Debug)]
struct Current {
    opened: Opened,
    /// The snapshot that scans use now.
    snapshot: Weak<ReadSnapshot>,
}

impl StoreFile {
    /// The snapshot that is in use, or a new one. A transaction of the host holds it until it ends.
    pub(crate) fn snapshot(&self) -> Result<Arc<ReadSnapshot>> {
        let snapshot = {
            let mut current = self.current.lock();
            match current.snapshot.upgrade() {
                Some(snapshot) => snapshot,
                None => {
                    let snapshot = Arc::new(current.take(&self.path).map_err(of_store)?);
                    current.snapshot = Arc::downgrade(&snapshot);
                    snapshot
                }
            }
        };
        if let Some(owner) = self.owner.upgrade().filter(|owner| !owner.connection.is_autocommit()) {
            owner.hold(&snapshot)?;
        }
        Ok(snapshot)
    }

    /// The snapshot that is in use, or a temporary one, for estimates.
    pub(crate) fn glance(&self) -> Result<Arc<ReadSnapshot>> {
        let mut current = self.current.lock();
        match current.snapshot.upgrade() {
            Some(snapshot) => Ok(snapshot),
            None => Ok(Arc::new(current.take(&self.path).map_err(of_store)?)),
        }
    }
}

impl Current {
    /// Takes a snapshot. If the path now leads to another file, that file is opened.
    fn take(&mut self, path: &Path) -> atsdb_core::Result<ReadSnapshot> {
        if self.opened.identity != identity(path) {
            self.opened = Opened::open(path)?;
        }
        self.opened.engine.snapshot()
    }
}

/// The device and the number of a file or folder.
type Identity = Option<(u64, u64)>;

#[derive(Debug)]
struct Opened {
    engine: Engine,
    identity: Identity,
}

impl Opened {
    fn open(path: &Path) -> atsdb_core::Result<Self> {
        // The identity is read first: if the file is replaced in the meantime, it is opened again later.
        let identity = identity(path);
        let options =
            SqliteOptions { create: false, read_only: true, busy_timeout: BUSY_TIMEOUT, ..SqliteOptions::default() };
        let store = Arc::new(SqliteStore::open(path, &options)?);
        let options = EngineOptions {
            cache_bytes: CACHE_BYTES,
            preload_bytes: 0,
            maintenance: false,
            threads: 1,
            ..EngineOptions::default()
        };
        Ok(Self { engine: Engine::new(store, options)?, identity })
    }
}

fn identity(path: &Path) -> Identity {
    std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}
