//! HTTP: connections, and paths about the server itself.
//!
//! Owned here: reading requests within limits, ending connections when the server drains, /health, /ready, /metrics and
//! the list of databases, which database a request names, the running statements, logging errors, refusing requests
//! from foreign pages, the layers that authenticate a request and check the rights for its path, and answers that all
//! protocols share. Not owned: the paths of other rooms, which have their own routers.

pub(crate) mod connections;
pub(crate) mod credentials;
pub(crate) mod dispatch;
pub(crate) mod draining;
pub(crate) mod errors;
pub(crate) mod guard;
pub(crate) mod operation;
pub(crate) mod origin;
pub(crate) mod refusal;
pub(crate) mod required_role;
pub(crate) mod selection;
pub(crate) mod statements;
pub(crate) mod unrouted;
