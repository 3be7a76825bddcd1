//! What the tests have in common: opening the store.

use atsdb_core::{Result, Store};
use atsdb_mysql::MysqlStore;
use atsdb_sqlstore::ServerOptions;
use atsdb_testkit::on_server::Subject;
use atsdb_testkit::server::Kind;
use std::time::Duration;

/// The store on MariaDB.
pub(crate) const MARIADB: Subject = Subject { kind: Kind::Mariadb, open, open_for_reading };
/// The store on MySQL.
pub(crate) const MYSQL: Subject = Subject { kind: Kind::Mysql, ..MARIADB };

/// Opens the store of a URL, and creates it where there is none. It waits for a server that starts again.
pub(crate) fn open(url: &str) -> Result<Box<dyn Store>> {
    open_as(url, false)
}

fn open_for_reading(url: &str) -> Result<Box<dyn Store>> {
    open_as(url, true)
}

fn open_as(url: &str, read_only: bool) -> Result<Box<dyn Store>> {
    let busy_timeout = Duration::from_secs(30);
    let options = ServerOptions { read_only, busy_timeout, ..ServerOptions::default() };
    Ok(Box::new(MysqlStore::open(url, None, &options)?.0))
}
