//! Opening a store by its URL.

use crate::database::Database;
use crate::page_cache::{Choice, PageCacheFolder};
use crate::password;
use atsdb_core::{Durability, Error, Result, Store};
use atsdb_engine::{Engine, EngineOptions, Environment, SystemEnvironment};
use atsdb_memory::MemoryStore;
use atsdb_mysql::MysqlStore;
use atsdb_postgres::PostgresStore;
use atsdb_sqlite::{SplitLayout, SqliteOptions, SqliteStore, check_place, remove_unused};
use atsdb_sqlstore::{CACHE_OPTIONS, OnNotice, Secret, ServerOptions, take_options};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Opens the store at a URL with the defaults of [`OpenOptions::new`]: it is created if it does not exist, with full
/// durability.
///
/// A plain path is an SQLite file. `sqlite:PATH` is the same, and with `?split=slice` or `?shards=N` it is a folder of
/// many files. `memory:` is a store in the memory of this process. `postgresql://user@host/database` and
/// `mariadb://user@host/database` (or `mysql://`) are stores in a database of a server; `docs/reference/stores.md`
/// describes their options.
///
/// Errors: [`Usage`](crate::ErrorKind::Usage) if the URL is wrong, [`NotFound`](crate::ErrorKind::NotFound) if the
/// directory of the file does not exist, [`NotAStore`](crate::ErrorKind::NotAStore) if the URL names something else,
/// [`NewerFormat`](crate::ErrorKind::NewerFormat) if a newer version wrote the store, and
/// [`Unavailable`](crate::ErrorKind::Unavailable) if the file or the server cannot be used.
pub fn open(url: &str) -> Result<Database> {
    OpenOptions::new().open(url)
}

/// A store in one SQLite file that did not exist yet when this value was made. Dropping it removes the store if it then
/// has no table, and no other process has it open. Drop every handle of the store first.
///
/// A program that creates the store for its first statement uses it to leave no file behind if that statement fails.
#[derive(Debug)]
pub struct NewStore {
    path: Option<PathBuf>,
}

impl NewStore {
    /// Checks whether there is a store at the URL. Does nothing for other kinds of stores.
    pub fn at(url: &str) -> Self {
        let path = match StoreLocation::parse(url) {
            Ok(StoreLocation::Sqlite(path, None)) => std::path::absolute(path).ok().filter(|path| !path.exists()),
            _ => None,
        };
        Self { path }
    }

    /// Refuses a URL at which no store can be created, and creates none. Only files are checked, not servers.
    ///
    /// Errors: [`Usage`](crate::ErrorKind::Usage) if the URL is wrong, [`NotFound`](crate::ErrorKind::NotFound) if the
    /// directory does not exist, and [`Unavailable`](crate::ErrorKind::Unavailable) if it takes no new files.
    pub fn check_place(url: &str) -> Result<()> {
        match StoreLocation::parse(url)? {
            StoreLocation::Sqlite(path, _) => check_place(Path::new(path)),
            StoreLocation::Memory | StoreLocation::Server(_) => Ok(()),
        }
    }
}

impl Drop for NewStore {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // An empty store that cannot be removed harms nobody.
            let _ = remove_unused(path);
        }
    }
}

/// The options for opening a store.
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
    /// The defaults: the store is created if it does not exist, full durability, background maintenance, a busy timeout
    /// of one minute.
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

    /// The password for a server, if the URL has none. Without either it is read from the environment variable
    /// `ATSDB_PASSWORD`, or from the file named by `ATSDB_PASSWORD_FILE`.
    pub fn password(mut self, password: impl Into<String>) -> Self {
        self.password = Some(Secret::new(password));
        self
    }

    /// Sets what an acknowledged commit survives.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Sets whether the store is created if it does not exist.
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Sets whether writing is refused. This also allows opening a file without write permission.
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// Sets whether a background thread seals slices, drops expired ones and returns free space.
    pub fn maintenance(mut self, maintenance: bool) -> Self {
        self.maintenance = maintenance;
        self
    }

    /// Size of the cache of decoded columns, in bytes. The default is a sixteenth of the machine's memory, but at least
    /// 64 MiB and at most 512 MiB.
    pub fn cache_bytes(mut self, cache_bytes: usize) -> Self {
        self.cache_bytes = cache_bytes;
        self
    }

    /// Maximum size in bytes of the columns that tables preload. The default is 256 MiB. 0 switches preloading off,
    /// which suits a process that runs one query.
    pub fn preload_bytes(mut self, preload_bytes: usize) -> Self {
        self.preload_bytes = preload_bytes;
        self
    }

    /// The folder for the page cache of stores on servers. The URL's option `cache` takes precedence. The default is
    /// `ATSDB_CACHE_DIR`, or else `atsdb` in `XDG_CACHE_HOME` or `~/.cache`.
    pub fn page_cache(mut self, folder: PageCacheFolder) -> Self {
        self.page_cache.folder = Some(folder);
        self
    }

    /// Maximum size in bytes of the folder of the page cache. The URL's option `cache_bytes` takes precedence. The
    /// default is `ATSDB_CACHE_BYTES`, or else 1 GiB.
    pub fn page_cache_bytes(mut self, bytes_max: u64) -> Self {
        self.page_cache.bytes_max = Some(bytes_max);
        self
    }

    /// A function that is called with warnings, which are full sentences. They concern caches on this machine (a folder
    /// cannot be written, the disk is full, a page is damaged), without which everything still works, and about opening
    /// a store (it waits for its server, or a standby answers).
    pub fn on_warning(mut self, callback: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.page_cache.on_warning = Some(Arc::new(callback));
        self
    }

    /// Maximum size in bytes of all tables in memory together. The default is half of the machine's memory.
    pub fn resident_bytes(mut self, resident_bytes: usize) -> Self {
        self.resident_bytes = resident_bytes;
        self
    }

    /// Sets the time for which a writer waits for the commit of another process. After that the call fails with
    /// [`Busy`](crate::ErrorKind::Busy).
    pub fn busy_timeout(mut self, busy_timeout: Duration) -> Self {
        self.busy_timeout = busy_timeout;
        self
    }

    /// Opens the store at a URL, which has the forms that [`open()`] describes.
    ///
    /// Errors: those of [`open()`], and [`NotFound`](crate::ErrorKind::NotFound) if the store does not exist and
    /// [`create`](Self::create) is off.
    pub fn open(&self, url: &str) -> Result<Database> {
        let environment = Arc::new(SystemEnvironment);
        let (mut warnings, mut page_cache) = (Vec::new(), None);
        let store: Arc<dyn Store> = match StoreLocation::parse(url)? {
            StoreLocation::Memory => Arc::new(MemoryStore::new(environment.random()?)),
            StoreLocation::Sqlite(path, layout) => {
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
            StoreLocation::Server(server) => {
                let options = ServerOptions {
                    durability: self.durability,
                    create: self.create && !self.read_only,
                    read_only: self.read_only,
                    busy_timeout: self.busy_timeout,
                    on_notice: self.page_cache.on_warning.clone().map(OnNotice),
                    ..ServerOptions::default()
                };
                let password =
                    self.password.clone().map_or_else(password::from_environment, |password| Ok(Some(password)))?;
                let (url, of_cache) = take_options(url, &CACHE_OPTIONS)?;
                let (store, of_server) = match server {
                    Server::Mysql => MysqlStore::open(&url, password.as_ref(), &options)?,
                    Server::Postgres => PostgresStore::open(&url, password.as_ref(), &options)?,
                };
                warnings = of_server;
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

/// The location of a store, parsed from its URL.
#[derive(Debug, PartialEq)]
enum StoreLocation<'a> {
    Memory,
    Sqlite(&'a str, Option<SplitLayout>),
    Server(Server),
}

/// The kinds of servers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Server {
    Mysql,
    Postgres,
}

/// The kind of server that a URL names, if it names one.
pub(crate) fn server_of(url: &str) -> Option<Server> {
    match StoreLocation::parse(url) {
        Ok(StoreLocation::Server(server)) => Some(server),
        _ => None,
    }
}

const HINT: &str = "use a path, sqlite:PATH, sqlite:DIR?split=slice, postgresql://USER@HOST/DATABASE, mariadb://USER@HOST/DATABASE or memory:";

impl<'a> StoreLocation<'a> {
    fn parse(url: &'a str) -> Result<Self> {
        let scheme = url.split_once(':').map(|(scheme, rest)| (scheme.to_ascii_lowercase(), rest));
        let is_scheme = |text: &str| text.len() > 1 && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        match scheme {
            // SQLite's name for it would otherwise be that of a file.
            _ if url.eq_ignore_ascii_case(":memory:") => Err(Error::usage("a store in memory is named memory:")
                .with_hint("write memory: without the first colon; ./:memory: is a file of that name")),
            Some((scheme, "")) if scheme == "memory" => Ok(Self::Memory),
            Some((scheme, rest)) if scheme == "memory" => {
                Err(Error::usage(format!("nothing may follow memory:, but the URL has {rest}")))
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
        assert_eq!(StoreLocation::parse("air.db").unwrap(), StoreLocation::Sqlite("air.db", None));
        assert_eq!(StoreLocation::parse("./a:b.db").unwrap(), StoreLocation::Sqlite("./a:b.db", None));
        assert_eq!(StoreLocation::parse("sqlite:/tmp/air.db").unwrap(), StoreLocation::Sqlite("/tmp/air.db", None));
        assert_eq!(StoreLocation::parse("sqlite:///tmp/air.db").unwrap(), StoreLocation::Sqlite("/tmp/air.db", None));
        let split = |options| StoreLocation::Sqlite("air", Some(SplitLayout::parse(options).unwrap()));
        assert_eq!(StoreLocation::parse("sqlite:air?split=slice").unwrap(), split("split=slice"));
        assert_eq!(StoreLocation::parse("air?shards=4").unwrap(), split("shards=4"));
        assert_eq!(StoreLocation::parse("MEMORY:").unwrap(), StoreLocation::Memory);
        assert_eq!(StoreLocation::parse("MariaDB://h/d").unwrap(), StoreLocation::Server(Server::Mysql));
        assert_eq!(StoreLocation::parse("postgresql://h/d").unwrap(), StoreLocation::Server(Server::Postgres));
        for bad in [
            "",
            "sqlite:",
            "memory:x",
            ":memory:",
            "oracle://h",
            "sqlite:a?b=c",
            "a?",
            "sqlite:?shards=2",
            "a?shards=0",
        ] {
            assert!(StoreLocation::parse(bad).is_err(), "{bad}");
        }
    }
}
