//! What the tests have in common: a server, and stores on it.

use atsdb_core::Durability;
use atsdb_mysql::MysqlStore;
use atsdb_sqlstore::{ServerOptions, ServerStore};
use atsdb_testkit::server::{self, Kind, TestServer};

/// The server that all tests share, if there is one.
pub(crate) fn server() -> Option<&'static TestServer> {
    server::shared(Kind::Mariadb)
}

/// Opens the store of a URL, and creates it where there is none.
pub(crate) fn open(url: &str) -> ServerStore {
    let options = ServerOptions { durability: Durability::Normal, ..ServerOptions::default() };
    MysqlStore::open(url, None, &options).unwrap().0
}
