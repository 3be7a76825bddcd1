//! The setting of a history: the kind of store, and the language of its sessions.

use std::fmt;

/// The number of processes that share the store.
pub const PROCESSES: usize = 3;
/// The number of sessions that have transactions. Session `n` is in process `n % PROCESSES`.
pub const SESSIONS: usize = 4;

/// The language of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// The calls of the engine.
    Calls,
    /// SQL.
    Sql,
}

/// The kind of a world's store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreKind {
    /// In memory; processes share the store itself.
    Memory,
    /// In one SQLite file, which each process opens.
    Sqlite,
    /// In a split store, which each process opens.
    Split,
    /// In a database on a PostgreSQL server.
    Postgres,
    /// In a database on a MariaDB server.
    Mariadb,
}

/// The setting of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// The kind of store.
    pub store: StoreKind,
    /// The language of sessions.
    pub language: Language,
}

impl Setting {
    /// All settings.
    pub fn all() -> Vec<Self> {
        let stores = [StoreKind::Memory, StoreKind::Sqlite, StoreKind::Split, StoreKind::Postgres, StoreKind::Mariadb];
        let of = |language| stores.map(|store| Self { store, language });
        [of(Language::Calls), of(Language::Sql)].concat()
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let language = if self.language == Language::Sql { "-sql" } else { "" };
        write!(f, "{}{language}", format!("{:?}", self.store).to_lowercase())
    }
}
