//! Access control: users, their passwords and tokens, the rights of their roles, and protection against guessing.
//!
//! Users are kept in the store that is served, in a table that statements cannot name: docs/access.md, and
//! docs/format/access.md for its rows. A server keeps them in memory and checks for changes every
//! [`RELOAD_EVERY`](state::RELOAD_EVERY).
//!
//! Owned here: that table, verifiers of passwords, SCRAM-SHA-256 without the frames of its messages, tokens, and delays
//! after failed attempts. Not owned: how each protocol carries credentials (`pg`, `http`).

pub(crate) mod authenticate;
pub(crate) mod caller;
mod crypto;
pub(crate) mod fuzz;
mod password;
pub(crate) mod role;
pub(crate) mod scram;
mod session_token;
pub(crate) mod state;
mod table;
mod throttle;
pub(crate) mod user_store;
mod users;
mod verifier;
