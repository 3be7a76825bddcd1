//! PostgreSQL's protocol, version 3.
//!
//! Owned here: frames and messages, types on the wire, sessions with their settings, prepared statements, portals and
//! cursors, COPY, cancel requests. Not owned: SQL, which `atsdb::sql` executes.
//!
//! From the top: `connection` speaks, `copy` and `rows` move rows, `store` executes, `statement` reads what a statement
//! is about, `types` and `wire` know the bytes.

pub(crate) mod cancel;
mod catalogue;
mod connection;
mod copy;
mod error;
mod rows;
pub(crate) mod server;
mod settings;
mod shared;
mod statement;
mod store;
mod types;
mod wire;
