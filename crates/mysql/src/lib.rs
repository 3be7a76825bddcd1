//! The store in a MariaDB (10.11 or later) or MySQL (8.0 or later) database.
//!
//! Owned here: connections (`connection`, `tls`), the tables' types (`schema`), the server's settings that matter
//! (`settings`), its error codes (`error`) and its dialect (`server`); and reading tables of other databases (`table`).
//! Not owned: the SQL behind each method of [`atsdb_core::Store`], which stores on servers share (`atsdb_sqlstore`).
//! The tables are described in `docs/format/mysql.md`.

mod connection;
mod error;
mod schema;
mod server;
mod settings;
mod store;
mod table;
mod tls;

pub use store::{MysqlStore, connect};
pub use table::read_table;
