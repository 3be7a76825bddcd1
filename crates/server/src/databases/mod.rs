//! The databases of a server, and which of them a client means.
//!
//! Each database is a store with an engine, users and statements of its own. What they share is in
//! [`ServerState`](crate::shared::state::ServerState): threads, memory, limits, addresses. A request is answered by
//! what was made for its database alone ([`per_database`]), so it cannot reach another one. A database whose store
//! cannot be opened is tried again; the others are not affected.
//!
//! Not owned: how each protocol names a database (`http::selection`, `pg`).

pub(crate) mod known_caller;
pub(crate) mod list;
pub(crate) mod per_database;
pub(crate) mod source;
