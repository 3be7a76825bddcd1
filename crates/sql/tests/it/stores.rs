//! The stores and states that every script runs on.

use atsdb_core::{Durability, Result, Store};
use atsdb_engine::{Engine, EngineOptions, Environment, SystemEnvironment};
use atsdb_memory::MemoryStore;
use atsdb_mysql::MysqlStore;
use atsdb_postgres::PostgresStore;
use atsdb_sql::{Session, SessionOptions};
use atsdb_sqlite::{SplitBy, SplitLayout, SqliteOptions, SqliteStore};
use atsdb_sqlstore::{ServerOptions, ServerStore};
use atsdb_testkit::server::{self, ServerKind};
use std::sync::{Arc, LazyLock};
use tempfile::TempDir;

const DAY_US: i64 = 86_400_000_000;

/// The system's clock, set to noon when the first test begins: no script runs over the end of a day.
struct FromNoon;

impl Environment for FromNoon {
    fn now_ms(&self) -> i64 {
        self.now_us() / 1_000
    }

    fn now_us(&self) -> i64 {
        static AHEAD_US: LazyLock<i64> = LazyLock::new(|| DAY_US / 2 - SystemEnvironment.now_us().rem_euclid(DAY_US));
        SystemEnvironment.now_us() + *AHEAD_US
    }

    fn random(&self) -> Result<[u8; 16]> {
        SystemEnvironment.random()
    }
}

/// When the script's rows are sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SealState {
    /// Never.
    Fresh,
    /// After every second statement that inserts.
    HalfSealed,
    /// After every statement that inserts.
    Sealed,
}

pub(crate) const STATES: [SealState; 3] = [SealState::Fresh, SealState::HalfSealed, SealState::Sealed];
/// The stores that need no server.
pub(crate) const STORES: [&str; 4] = ["memory", "sqlite", "sqlite split by slice", "sqlite in shards"];

/// A store on a server of that kind, if one is installed.
fn on_server(kind: ServerKind) -> Option<ServerStore> {
    let url = server::shared(kind)?.database();
    let options = ServerOptions { durability: Durability::Off, ..ServerOptions::default() };
    let opened = match kind {
        ServerKind::Postgres => PostgresStore::open(&url, None, &options),
        ServerKind::Mariadb | ServerKind::Mysql => MysqlStore::open(&url, None, &options),
    };
    Some(opened.unwrap().0)
}

/// A session on an empty store on a server of that kind, if one is installed.
pub(crate) fn server_session(kind: ServerKind) -> Option<Session> {
    Some(session_over(Arc::new(on_server(kind)?)))
}

/// A session on an empty store, and the directory, which must live as long.
pub(crate) fn session(store: &str) -> (Session, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = match store {
        "memory" => Arc::new(MemoryStore::new([7; 16])),
        other => {
            let options = SqliteOptions { durability: Durability::Off, ..SqliteOptions::default() };
            let path = directory.path().join("test.db");
            let split =
                |split| SqliteStore::open_split(&path, &options, SplitLayout { split, small_chunk_bytes: 0 }).unwrap();
            Arc::new(match other {
                "sqlite split by slice" => split(SplitBy::Slice),
                "sqlite in shards" => split(SplitBy::Shards(2)),
                _ => SqliteStore::open(&path, &options).unwrap(),
            })
        }
    };
    (session_over(store), directory)
}

pub(crate) fn session_over(store: Arc<dyn Store>) -> Session {
    let options = EngineOptions { maintenance: false, environment: Arc::new(FromNoon), ..EngineOptions::default() };
    let engine = Engine::new(store, options).unwrap();
    let options = SessionOptions { threads: 2, memory_bytes: 64 << 20, ..SessionOptions::default() };
    Session::new(engine, options).unwrap()
}
