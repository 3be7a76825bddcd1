//! The store in a PostgreSQL database, version 14 or later.
//!
//! Owned here: connections (`connection`, `tls`), the tables' types (`schema`), the server's settings that matter
//! (`settings`), its error codes (`error`) and its dialect (`server`); and reading tables of other databases (`table`).
//! Not owned: the SQL behind each method of [`atsdb_core::Store`], which stores on servers share (`atsdb_sqlstore`).
//! The tables are described in `docs/format/postgres.md`.

mod connection;
mod error;
mod schema;
mod server;
mod settings;
mod store;
mod table;
mod tls;

pub use store::{PostgresStore, client_config};
pub use table::read_table;
