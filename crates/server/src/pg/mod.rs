//! PostgreSQL's protocol, version 3.
//!
//! Owned here: frames and messages, types on the wire, sessions with their settings, prepared statements, portals and
//! cursors, COPY, cancel requests. Not owned: SQL, which `atsdb::sql` executes. From the top: `connection` handles
//! clients, `answer` describes the columns of an answer, `copy` and `rows` transfer rows, `store` executes, `statement`
//! classifies statements, `types` and `wire` encode and decode bytes.

mod answer;
mod catalogue;
mod connection;
pub(crate) mod copy;
mod error;
pub(crate) mod fuzz;
mod kept_rows;
mod rows;
pub(crate) mod server;
mod session_calls;
mod sessions;
mod setting_list;
mod setting_values;
mod settings;
mod shared;
mod shared_snapshots;
mod statement;
mod store;
mod types;
mod violation;
mod wire;
