//! The kinds of servers, and the address of one. Passwords are never printed.

use crate::measure::Tuning;
use atsdb::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use strum::{IntoStaticStr, VariantArray};

/// A kind of server.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "kebab-case")]
pub enum ServerKind {
    /// MariaDB, which the lab starts itself.
    Mariadb,
    /// MariaDB with the RocksDB engine loaded, apart from the other so that neither pays for its memory.
    MariadbRocksdb,
    /// MySQL, by URL only.
    Mysql,
    /// PostgreSQL, which the lab starts itself.
    Postgres,
}

impl ServerKind {
    /// All of them.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Its name on the command line, and the name of its folder.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The environment variable that may hold its URL.
    pub fn variable(self) -> &'static str {
        match self {
            Self::Mariadb => "ATSDB_LAB_MARIADB_URL",
            Self::MariadbRocksdb => "ATSDB_LAB_MARIADB_ROCKSDB_URL",
            Self::Mysql => "ATSDB_LAB_MYSQL_URL",
            Self::Postgres => "ATSDB_LAB_POSTGRES_URL",
        }
    }

    /// The kind with this name.
    ///
    /// # Errors
    /// There is no such kind; the message suggests the nearest name.
    pub fn parse(name: &str) -> Result<Self> {
        let found = Self::ALL.iter().copied().find(|kind| kind.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| {
            let unknown = atsdb::name::unknown_name("server", name, Self::ALL.iter().map(|kind| kind.name()));
            Error::usage(unknown.message()).with_hint(unknown.hint().unwrap_or("mariadb, mysql, postgres").to_owned())
        })
    }
}

/// The URLs of servers that run already.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ServerUrls {
    urls: BTreeMap<ServerKind, String>,
}

impl ServerUrls {
    /// The URLs in the environment.
    pub fn from_environment() -> Self {
        let url = |kind: ServerKind| std::env::var(kind.variable()).ok().filter(|url| !url.is_empty());
        Self { urls: ServerKind::ALL.iter().copied().filter_map(|kind| Some((kind, url(kind)?))).collect() }
    }

    /// Parses `SERVER=URL`.
    ///
    /// # Errors
    /// The text does not have this form, or the kind of server does not exist.
    pub fn add(&mut self, text: &str) -> Result<()> {
        let form =
            || Error::usage("a server's URL is given as SERVER=URL").with_hint("mysql=mysql://user@host/database");
        let (name, url) =
            text.split_once('=').filter(|(name, url)| !name.contains(':') && !url.is_empty()).ok_or_else(form)?;
        self.urls.insert(ServerKind::parse(name)?, url.to_owned());
        Ok(())
    }

    /// The URL of a server.
    pub fn get(&self, kind: ServerKind) -> Option<&str> {
        self.urls.get(&kind).map(String::as_str)
    }
}

impl fmt::Debug for ServerUrls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.urls.keys()).finish()
    }
}

/// The address of a server, and its properties.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerAddress {
    /// The kind of server.
    pub kind: ServerKind,
    /// The URL, which may contain a password.
    pub(crate) url: String,
    /// The server's process, if the lab started it.
    pub process: Option<u32>,
    /// The folder of its data, when the lab started it.
    pub data: Option<PathBuf>,
    /// Tuned or default settings, if the lab started it.
    pub tuning: Option<Tuning>,
    /// The settings that it was started with, as `name = value`.
    pub settings: Vec<String>,
}

impl ServerAddress {
    /// A server that runs already.
    pub(crate) fn of_url(kind: ServerKind, url: &str) -> Self {
        let url = url.to_owned();
        Self { kind, url, process: None, data: None, tuning: None, settings: Vec::new() }
    }

    /// The URL of another database of the server.
    pub fn url_of(&self, database: &str) -> String {
        let (base, query) =
            self.url.split_once('?').map_or((self.url.as_str(), None), |(base, query)| (base, Some(query)));
        let authority = base.find("://").map_or(0, |at| at + 3);
        let base = base[authority..].find('/').map_or(base, |at| &base[..authority + at]);
        let query = query.map(|query| format!("?{query}")).unwrap_or_default();
        format!("{base}/{database}{query}")
    }

    /// The database that its URL names.
    pub(crate) fn database(&self) -> Option<&str> {
        let base = self.url.split_once('?').map_or(self.url.as_str(), |(base, _)| base);
        let rest = &base[base.find("://")? + 3..];
        rest.split_once('/').map(|(_, database)| database).filter(|database| !database.is_empty())
    }

    /// The URL without user and password.
    pub fn shown(&self) -> String {
        let base = self.url.split_once('?').map_or(self.url.as_str(), |(base, _)| base);
        let (scheme, rest) = base.split_once("://").unwrap_or(("", base));
        format!("{scheme}://{}", rest.rsplit_once('@').map_or(rest, |(_, host)| host))
    }
}

impl fmt::Debug for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerAddress")
            .field("url", &self.shown())
            .field("process", &self.process)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        let url = "mysql://root:secret@db.example:3306/lab?ssl=1";
        let address = ServerAddress::of_url(ServerKind::Mysql, url);
        let mut urls = ServerUrls::default();
        urls.add(&format!("mysql={url}")).expect("a URL");
        assert_eq!(urls.get(ServerKind::Mysql), Some(url));
        assert!(!format!("{address:?} {} {urls:?}", address.shown()).contains("secret"));
        assert_eq!(address.shown(), "mysql://db.example:3306/lab");
        assert_eq!(address.database(), Some("lab"));
        assert_eq!(address.url_of("lab_1"), "mysql://root:secret@db.example:3306/lab_1?ssl=1");
    }

    #[test]
    fn unknown_servers_get_the_nearest() {
        let error = ServerUrls::default().add("postgre=postgresql://x/y").expect_err("no such server");
        assert!(error.to_string().contains("did you mean postgres"), "{error}");
        assert!(
            ServerUrls::default()
                .add("mysql://root:secret@x/y")
                .is_err_and(|error| !error.to_string().contains("secret"))
        );
    }
}
