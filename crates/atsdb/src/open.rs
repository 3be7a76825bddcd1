//! Opening a store by its URL.

use crate::database::Database;
use crate::page_cache::{Choice, PageCacheFolder};
use crate::password;
use atsdb_core::{Durability, Error, Result, Store};
use atsdb_engine::{Engine, EngineOptions, Environment, SystemEnvironment};
use atsdb_memory::MemoryStore;
use atsdb_mysql::MysqlStore;
use atsdb_postgres::PostgresStore;
use atsdb_sqlite::{SplitLayout, SqliteOptions, SqliteStore};
use atsdb_sqlstore::{CACHE_OPTIONS, OnNotice, Secret, ServerOptions, take_options};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Opens the store that a URL names, as [`OpenOptions::new`] does: created where there is none, full durability.
///
/// A plain path is a SQLite file; `sqlite:PATH` the same, and with `?split=slice` or `?shards=N` a folder of many files;
/// `memory:` is a store in this process.
/// `postgresql://user@host/database` and `mariadb://user@host/database` (or `mysql://`) are stores in a database of a
/// server; what follows the database is in `docs/reference/stores.md`.
pub fn open(url: &str) -> Result<Database> {
    OpenOptions::new().open(url)
}

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    durability: Durability,
    create: bool,
    read_only: bool,
    maintenance: bool,
    cache_bytes: usize,
    resident_bytes: usize,
    busy_timeout: Duration,
    password: Option<Secret>,
    page_cache: Choice,
    preload_bytes: usize,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl OpenOptions {
    /// Created where there is none, full durability, maintenance in the background, 64 MiB of cache, a minute's
    /// patience with other writers.
    pub fn new() -> Self {
        Self {
            durability: Durability::Full,
            create: true,
            read_only: false,
            maintenance: true,
            cache_bytes: EngineOptions::default().cache_bytes,
            resident_bytes: EngineOptions::default().resident_bytes,
            busy_timeout: Duration::from_secs(60),
            password: None,
            page_cache: Choice::default(),
            preload_bytes: EngineOptions::default().preload_bytes,
        }
    }

    /// The password for a server, where the URL has none. Without either it is what the environment variable
    /// `ATSDB_PASSWORD` holds, or the file that `ATSDB_PASSWORD_FILE` names.
    pub fn password(mut self, password: impl Into<String>) -> Self {
        self.password = Some(Secret::new(password));
        self
    }

    /// What an acknowledged commit survives.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Whether a store is created where there is none.
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Whether writing is refused. Also works where the file cannot be written.
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// Whether a thread in the background seals slices, drops expired ones and gives space back.
    pub fn maintenance(mut self, maintenance: bool) -> Self {
        self.maintenance = maintenance;
        self
    }

    /// The most bytes of decoded columns kept for the next reader.
    pub fn cache_bytes(mut self, cache_bytes: usize) -> Self {
        self.cache_bytes = cache_bytes;
        self
    }

    /// The most bytes that are held of what tables declare by `preload`; 256 MiB unless this says otherwise. 0 is for a
    /// process that asks once and ends.
    pub fn preload_bytes(mut self, preload_bytes: usize) -> Self {
        self.preload_bytes = preload_bytes;
        self
    }

    /// In which folder pages of stores on servers are kept on this machine. What the URL says (`cache`) goes before it;
    /// without either it is what `ATSDB_CACHE_DIR` names, else `atsdb` in `XDG_CACHE_HOME` or `~/.cache`.
    pub fn page_cache(mut self, folder: PageCacheFolder) -> Self {
        self.page_cache.folder = Some(folder);
        self
    }

    /// The most bytes on the disk of all that lies in the folder of pages. What the URL says (`cache_bytes`) goes before
    /// it; without either it is what `ATSDB_CACHE_BYTES` says, else 1 GiB.
    pub fn page_cache_bytes(mut self, bytes_max: u64) -> Self {
        self.page_cache.bytes_max = Some(bytes_max);
        self
    }

    /// Who is told, in sentences, of what the caches on this machine cannot do: a folder that cannot be written, a disk
    /// that is full, a page that is damaged. Everything works without them. Also, while a store is opened, that its server is
    /// waited for, or that a standby answers.
    pub fn on_warning(mut self, tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.page_cache.on_warning = Some(Arc::new(tell));
        self
    }

    /// The most bytes that tables in memory take together; half of the machine's memory unless this says otherwise.
    pub fn resident_bytes(mut self, resident_bytes: usize) -> Self {
        self.resident_bytes = resident_bytes;
        self
    }

    /// How long a writer waits for another process's commit.
    pub fn busy_timeout(mut self, busy_timeout: Duration) -> Self {
        self.busy_timeout = busy_timeout;
        self
    }

    /// Opens the store.
    pub fn open(&self, url: &str) -> Result<Database> {
        let environment = Arc::new(SystemEnvironment);
        let (mut warnings, mut page_cache) = (Vec::new(), None);
        let store: Arc<dyn Store> = match Place::parse(url)? {
            Place::Memory => Arc::new(MemoryStore::new(environment.random()?)),
            Place::Sqlite(path, layout) => {
                let options = SqliteOptions {
                    durability: self.durability,
                    create: self.create && !self.read_only,
                    read_only: self.read_only,
                    busy_timeout: self.busy_timeout,
                };
                Arc::new(match layout {
                    None => SqliteStore::open(Path::new(path), &options)?,
                    Some(layout) => SqliteStore::open_split(Path::new(path), &options, layout)?,
                })
            }
            Place::Server(server) => {
                let options = ServerOptions {
                    durability: self.durability,
                    create: self.create && !self.read_only,
                    read_only: self.read_only,
                    busy_timeout: self.busy_timeout,
                    on_notice: self.page_cache.on_warning.clone().map(OnNotice),
                    ..ServerOptions::default()
                };
                let password =
                    self.password.clone().map_or_else(password::from_environment, |given| Ok(Some(given)))?;
                let (url, of_cache) = take_options(url, &CACHE_OPTIONS)?;
                let (store, told) = match server {
                    Server::Mysql => MysqlStore::open(&url, password.as_ref(), &options)?,
                    Server::Postgres => PostgresStore::open(&url, password.as_ref(), &options)?,
                };
                warnings = told;
                page_cache = self.page_cache.open(&store, &of_cache)?;
                Arc::new(store)
            }
        };
        let maintenance = self.maintenance && !self.read_only;
        let Self { cache_bytes, preload_bytes, resident_bytes, .. } = *self;
        let options = EngineOptions {
            cache_bytes,
            page_cache,
            preload_bytes,
            resident_bytes,
            maintenance,
            environment,
            ..EngineOptions::default()
        };
        Ok(Database::new(Engine::new(store, options)?, warnings))
    }
}

/// Where a URL says the store is.
#[derive(Debug, PartialEq)]
enum Place<'a> {
    Memory,
    Sqlite(&'a str, Option<SplitLayout>),
    Server(Server),
}

/// The kinds of servers.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Server {
    Mysql,
    Postgres,
}

const HINT: &str = "use a path, sqlite:PATH, sqlite:DIR?split=slice, postgresql://USER@HOST/DATABASE, mariadb://USER@HOST/DATABASE or memory:";

impl<'a> Place<'a> {
    fn parse(url: &'a str) -> Result<Self> {
        let scheme = url.split_once(':').map(|(scheme, rest)| (scheme.to_ascii_lowercase(), rest));
        let is_scheme = |text: &str| text.len() > 1 && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        match scheme {
            Some((scheme, "")) if scheme == "memory" => Ok(Self::Memory),
            Some((scheme, rest)) if scheme == "memory" => {
                Err(Error::usage(format!("memory: takes nothing after it, not {rest}")))
            }
            Some((scheme, rest)) if scheme == "sqlite" => Self::sqlite(rest.strip_prefix("//").unwrap_or(rest)),
            Some((scheme, _)) if ["mysql", "mariadb"].contains(&scheme.as_str()) => Ok(Self::Server(Server::Mysql)),
            Some((scheme, _)) if ["postgresql", "postgres"].contains(&scheme.as_str()) => {
                Ok(Self::Server(Server::Postgres))
            }
            Some((scheme, rest)) if is_scheme(&scheme) && rest.starts_with("//") => {
                Err(Error::usage(format!("unknown kind of store {scheme}:")).with_hint(HINT))
            }
            _ => Self::sqlite(url),
        }
    }

    fn sqlite(path: &'a str) -> Result<Self> {
        if path.is_empty() {
            return Err(Error::usage("the URL names no file").with_hint(HINT));
        }
        match path.split_once('?') {
            None => Ok(Self::Sqlite(path, None)),
            Some(("", _)) => Err(Error::usage("the URL names no directory").with_hint(HINT)),
            Some((path, options)) => Ok(Self::Sqlite(path, Some(SplitLayout::parse(options)?))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_a_path_or_names_its_kind() {
        assert_eq!(Place::parse("air.db").unwrap(), Place::Sqlite("air.db", None));
        assert_eq!(Place::parse("./a:b.db").unwrap(), Place::Sqlite("./a:b.db", None));
        assert_eq!(Place::parse("sqlite:/tmp/air.db").unwrap(), Place::Sqlite("/tmp/air.db", None));
        assert_eq!(Place::parse("sqlite:///tmp/air.db").unwrap(), Place::Sqlite("/tmp/air.db", None));
        let split = |options| Place::Sqlite("air", Some(SplitLayout::parse(options).unwrap()));
        assert_eq!(Place::parse("sqlite:air?split=slice").unwrap(), split("split=slice"));
        assert_eq!(Place::parse("air?shards=4").unwrap(), split("shards=4"));
        assert_eq!(Place::parse("MEMORY:").unwrap(), Place::Memory);
        assert_eq!(Place::parse("MariaDB://h/d").unwrap(), Place::Server(Server::Mysql));
        assert_eq!(Place::parse("postgresql://h/d").unwrap(), Place::Server(Server::Postgres));
        for bad in ["", "sqlite:", "memory:x", "oracle://h", "sqlite:a?b=c", "a?", "sqlite:?shards=2", "a?shards=0"] {
            assert!(Place::parse(bad).is_err(), "{bad}");
        }
    }
}
