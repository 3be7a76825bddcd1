//! A store on an SQL server: everything except the dialect.
//!
//! Owned here: the SQL behind each method of [`atsdb_core::Store`], transactions that survive a lost connection
//! ([`pool`](self)), the location of a chunk's pages, and the URL of a server. Not owned: the client, the types of
//! columns, the server's error codes and settings, which each server's crate provides through [`Server`] and
//! [`Connection`]; and the meaning of pages and descriptors, which are bytes here.
//!
//! The statements are written once, with `$1`, `$2`, ... for values. Visible rows have stage 0, so that one unique
//! index serves visible and staged names. Every change of what is visible is made under one lock, the row `chunk` of
//! `atsdb_number`: chunk numbers grow in the order of commits, and a guard that holds under the lock holds when the
//! change is applied. Pages are sent before the lock is taken.

mod amend;
mod chunk_write;
mod commit;
mod connection;
mod counter;
mod definition;
mod directory;
mod drop_table;
mod error;
mod expiry;
mod fault;
mod insert;
mod lease;
mod list_rows;
mod mapping;
mod number_allocation;
mod options;
mod pages;
mod pool;
mod reclaim;
mod redefine;
mod retry;
mod routing;
mod size;
mod snapshot;
mod stage;
mod store;
mod table;
mod tls_mode;
mod url;
mod verify;

pub use connection::{Cell, ClusterDialect, Connection, Row, Server, Value, statement_bytes};
pub use definition::{FORMAT, TABLES, check_format};
pub use error::{Attempt, Failure, statement_too_large};
pub use fault::Fault;
pub use options::{OnNotice, ServerOptions};
pub use routing::{CheckStore, CreateStore, prepare};
pub use store::ServerStore;
pub use tls_mode::TlsMode;
pub use url::{Address, CACHE_OPTIONS, Secret, ServerUrl, take_options};
