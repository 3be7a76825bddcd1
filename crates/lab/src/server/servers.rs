//! The servers of a run: each is started once, for its first contestant, and stopped when this is dropped. A server
//! that died is restarted, so that the contestants after it can run.

use super::address::{ServerAddress, ServerKind, ServerUrls};
use super::launch::Running;
use super::{mariadb, postgres};
use crate::failure::Failure;
use crate::measure::Tuning;
use atsdb::{Durability, Error};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The servers of a run.
#[derive(Debug)]
pub struct Servers {
    folder: PathBuf,
    durability: Durability,
    tuning: Tuning,
    urls: ServerUrls,
    overwrite: bool,
    known: BTreeMap<ServerKind, Server>,
    started: u32,
}

#[derive(Debug)]
struct Server {
    address: ServerAddress,
    /// `None` for one that ran already.
    running: Option<Running>,
}

impl Servers {
    /// Creates an empty set. Servers that are started get folders below `folder`. For those that `urls` names, the
    /// database must be empty, unless `overwrite` is set.
    pub fn new(folder: &Path, durability: Durability, tuning: Tuning, urls: &ServerUrls, overwrite: bool) -> Self {
        let (folder, urls) = (folder.to_owned(), urls.clone());
        Self { folder, durability, tuning, urls, overwrite, known: BTreeMap::new(), started: 0 }
    }

    /// The address of a server, which is started if necessary.
    ///
    /// # Errors
    ///
    /// The server does not start, and the message has the last lines of its log; or the database of the URL may not be
    /// used.
    pub fn address(&mut self, kind: ServerKind) -> Result<ServerAddress, Failure> {
        let died = |server: &Server| server.running.as_ref().is_some_and(|running| !running.is_alive());
        if self.known.get(&kind).is_some_and(died) {
            self.known.remove(&kind);
        }
        if let Some(server) = self.known.get(&kind) {
            return Ok(server.address.clone());
        }
        let server = match self.urls.get(kind) {
            Some(url) => Server { address: self.checked(kind, url)?, running: None },
            None => self.start(kind)?,
        };
        let address = server.address.clone();
        self.known.insert(kind, server);
        Ok(address)
    }

    /// The name that databases of step `step` begin with.
    pub fn database_prefix(address: &ServerAddress, step: u32) -> String {
        let own = if address.process.is_some() { None } else { address.database() };
        own.map_or(format!("lab_{step}"), |database| format!("{database}_lab_{step}"))
    }

    /// Drops the databases of a finished step. If that fails, the error describes the state of the server.
    pub fn forget(&mut self, kind: ServerKind, step: u32) {
        let Some(server) = self.known.get(&kind) else { return };
        let prefix = format!("{}_", Self::database_prefix(&server.address, step));
        // A database that cannot be dropped is in a scratch folder, or the next run will refuse it by name.
        let _ = drop_all(&server.address, &prefix);
    }

    /// Like [`forget`](Self::forget), for a step whose client was stopped in the middle of a statement, which may
    /// keep the server busy for long. A server that the lab started is stopped, and the next contestant gets a new one.
    pub fn abandon(&mut self, kind: ServerKind, step: u32) {
        if self.known.get(&kind).is_some_and(|server| server.running.is_some()) {
            self.known.remove(&kind);
        }
        self.forget(kind, step);
    }

    /// A possible reason why a contestant on this server failed: the server died, with its last messages.
    pub fn last_words(&self, kind: ServerKind) -> Option<String> {
        let running = self.known.get(&kind)?.running.as_ref().filter(|running| !running.is_alive())?;
        Some(format!("{} ended meanwhile; its last lines:\n{}", kind.name(), running.log()))
    }

    fn start(&mut self, kind: ServerKind) -> Result<Server, Failure> {
        self.started += 1;
        let folder = self.folder.join(format!("{}-{}", kind.name(), self.started));
        std::fs::create_dir_all(&folder).map_err(Failure::broken)?;
        let (running, address) = match kind {
            ServerKind::Mariadb | ServerKind::MariadbRocksdb => {
                mariadb::start(kind, &folder, self.durability, self.tuning)?
            }
            ServerKind::Postgres => postgres::start(&folder, self.durability, self.tuning)?,
            ServerKind::Mysql => return Err(Failure::cannot(by_url_only())),
        };
        Ok(Server { address, running: Some(running) })
    }

    /// An already running server, after checking that none of its owner's data is touched.
    fn checked(&self, kind: ServerKind, url: &str) -> Result<ServerAddress, Failure> {
        let address = ServerAddress::of_url(kind, url);
        let usage = |message: String, hint: &str| Failure::Failed(Error::usage(message).with_hint(hint.to_owned()));
        let Some(database) = address.database() else {
            let message = format!("the URL of {} names no database", kind.name());
            return Err(usage(message, "end it with /NAME; the lab makes databases NAME_lab_... and drops them"));
        };
        let (names, tables) = match kind {
            ServerKind::Postgres => postgres::databases(&address, database)?,
            _ => mariadb::databases(&address, database)?,
        };
        let prefix = format!("{database}_lab_");
        let left: Vec<&str> = names.iter().map(String::as_str).filter(|name| name.starts_with(&prefix)).collect();
        let refused = match (tables, left.first()) {
            _ if self.overwrite => None,
            (0, None) => None,
            (0, Some(name)) => Some(format!("{} has a database {name} already", address.shown())),
            (tables, _) => Some(format!("the database {} is not empty: it has {tables} tables", address.shown())),
        };
        if let Some(message) = refused {
            let hint =
                format!("name an empty database, or let the lab drop what begins with {prefix}: --overwrite-databases");
            return Err(usage(message, &hint));
        }
        drop_all(&address, &prefix)?;
        Ok(address)
    }
}

/// The message if MySQL was not given by a URL.
pub(crate) fn by_url_only() -> String {
    format!("by URL only: set {} or use --url mysql=mysql://USER@HOST/DATABASE", ServerKind::Mysql.variable())
}

impl ServerKind {
    /// The version of a server of this kind: the one that `urls` names, or else the installed one.
    pub(crate) fn version(self, urls: &ServerUrls) -> Result<String, Failure> {
        match (self, urls.get(self)) {
            (Self::Mariadb, None) => mariadb::version(),
            (Self::MariadbRocksdb, None) => mariadb::rocksdb().and_then(|()| mariadb::version()),
            (Self::Postgres, None) => postgres::version(),
            (Self::Mysql, None) => Err(Failure::cannot(by_url_only())),
            (Self::Postgres, Some(url)) => postgres::running_version(&ServerAddress::of_url(self, url)),
            (_, Some(url)) => mariadb::running_version(&ServerAddress::of_url(self, url)),
        }
    }
}

fn drop_all(address: &ServerAddress, prefix: &str) -> Result<(), Failure> {
    let (names, _) = match address.kind {
        ServerKind::Postgres => postgres::databases(address, "")?,
        _ => mariadb::databases(address, "")?,
    };
    for name in names.iter().filter(|name| name.starts_with(prefix)) {
        match address.kind {
            ServerKind::Postgres => postgres::drop_database(address, name)?,
            _ => mariadb::drop_database(address, name)?,
        }
    }
    Ok(())
}
